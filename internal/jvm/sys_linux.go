package jvm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// spawner runs functions on one operating system thread that lives as long as the process.
//
// The kernel sends the parent-death signal when the *thread* that forked ends, and the Go runtime ends
// threads as it likes (at least when a goroutine ends while locked to one). A goroutine that is locked
// to its thread and never ends keeps that thread until the process is gone.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// startBound starts a command that the kernel kills when this process ends, in a group of its own, so
// that an interrupt typed at a terminal reaches us first and we end it in order.
func startBound(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error)
	spawner() <- func() { result <- cmd.Start() }
	return <-result
}

// startFree starts a command in a group of its own that outlives this process.
func startFree(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}

func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

func terminate(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

// lockFile takes an exclusive lock that the kernel releases when the process ends.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// reservePort picks a free loopback port and keeps the kernel from giving it to anybody who did not ask
// for exactly this one: a socket with SO_REUSEADDR that is bound and does not listen. A server that sets
// the same option, as every Java server socket does, can bind the port beside it. So a killed server
// finds its port free when it is started again.
func reservePort() (port int, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	release = sync.OnceFunc(func() { syscall.Close(fd) })
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		release()
		return 0, nil, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte(net.IPv4(127, 0, 0, 1).To4())}); err != nil {
		release()
		return 0, nil, os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		release()
		return 0, nil, os.NewSyscallError("getsockname", err)
	}
	return name.(*syscall.SockaddrInet4).Port, release, nil
}
