package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// peers is the built program of the peers, a module of its own.
type peers struct{ exe string }

// buildPeers builds internal/bench/peers into dir.
func buildPeers(ctx context.Context, dir string) (*peers, error) {
	src, err := moduleFile(ctx, "internal", "bench", "peers")
	if err != nil {
		return nil, err
	}
	exe := filepath.Join(dir, "peers")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", exe, ".")
	cmd.Dir = src
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build the peers: %w", err)
	}
	return &peers{exe}, nil
}

// run measures one peer and returns its figure.
func (p *peers) run(ctx context.Context, what string, args ...string) (float64, error) {
	cmd := exec.CommandContext(ctx, p.exe, append([]string{what}, args...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("peer %s: %w: %s", what, err, errs.String())
	}
	lines := strings.Fields(string(out))
	if len(lines) == 0 {
		return 0, fmt.Errorf("peer %s printed nothing", what)
	}
	return strconv.ParseFloat(lines[len(lines)-1], 64)
}
