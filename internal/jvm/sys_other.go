//go:build !linux

package jvm

import (
	"context"
	"net"
	"os"
	"os/exec"
)

// Nothing here binds a child's life to ours: see the package comment.
func startBound(cmd *exec.Cmd) error { return cmd.Start() }

func startFree(cmd *exec.Cmd) error { return cmd.Start() }

func killGroup(p *os.Process) error { return p.Kill() }

// terminate is abrupt, since not every system can ask a process to end.
func terminate(p *os.Process) error { return p.Kill() }

// lockFile does not lock: two fetches at once then do the work twice, and the rename decides.
func lockFile(context.Context, string) (unlock func(), err error) { return func() {}, nil }

// reservePort picks a port that was free a moment ago.
func reservePort() (port int, release func(), err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, func() {}, nil
}
