package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// contenders returns all of them, in the order of the table. Those that come from
// other people live in a module of their own, so that nobody who uses the library
// ever sees it, and are built here; missing tells why they could not be.
func contenders(ctx context.Context, dir string) (all []contender, missing, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	peers, missing := buildPeers(ctx, dir)
	for _, name := range []string{netHTTP, retryable, workflow, operator, intentLog} {
		c := contender{name: name, argv: []string{exe, name}}
		if own[name] == nil {
			c.argv[0] = peers
			if missing != nil {
				c.argv = nil
			}
		}
		all = append(all, c)
	}
	return all, missing, nil
}

// buildPeers builds the module beside this file.
func buildPeers(ctx context.Context, dir string) (exe string, err error) {
	_, file, _, _ := runtime.Caller(0)
	exe = filepath.Join(dir, "peers")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", exe, ".")
	cmd.Dir = filepath.Join(filepath.Dir(file), "peers")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("the contenders in examples/museum/peers cannot be built: %w: %s", err, lines[len(lines)-1])
	}
	return exe, nil
}
