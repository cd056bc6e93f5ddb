package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/intentlog/intentlog/internal/jvm"
)

// startPostgres starts a PostgreSQL server with its data in dir and returns its URL.
// It is left as initdb configures it: fsync and synchronous_commit are on.
func startPostgres(ctx context.Context, dir string) (url string, stop func(), err error) {
	var exe [2]string
	for i, name := range []string{"initdb", "pg_ctl"} {
		if exe[i], err = exec.LookPath(name); err != nil {
			return "", nil, err
		}
	}
	// It refuses to run as root, so it gets a folder that another user may own.
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", nil, err
	}
	data := filepath.Join(dir, "postgres")
	if err := os.Mkdir(data, 0o700); err != nil {
		return "", nil, err
	}
	run := func(ctx context.Context, name string, args ...string) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		if err := unprivileged(cmd, data); err != nil {
			return err
		}
		log, err := os.Create(filepath.Join(dir, filepath.Base(name)+".log"))
		if err != nil {
			return err
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log // a file: the server inherits it, and a pipe would stay open
		if err := cmd.Run(); err != nil {
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s: %w: %s", name, err, text)
		}
		return nil
	}
	if err := run(ctx, exe[0], "-D", data, "-A", "trust", "-U", "bench"); err != nil {
		return "", nil, err
	}
	ports, release, err := jvm.Ports(1)
	if err != nil {
		return "", nil, err
	}
	port := strconv.Itoa(ports[0])
	options := "-p " + port + " -c listen_addresses=127.0.0.1 -c unix_socket_directories=" + data
	if err := run(ctx, exe[1], "-D", data, "-w", "-l", filepath.Join(data, "server.log"), "-o", options, "start"); err != nil {
		release()
		return "", nil, err
	}
	return "postgres://bench@127.0.0.1:" + port + "/postgres?sslmode=disable", func() {
		_ = run(context.WithoutCancel(ctx), exe[1], "-D", data, "-m", "immediate", "stop")
		release()
	}, nil
}
