package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// pyfluss is the official Python client that is measured.
const pyfluss = "pyfluss==1.0.0"

// startPython starts pyfluss. The first time, pip puts it into a folder of its own
// under the user's cache.
func startPython(ctx context.Context, bootstrap, database string) (*answerer, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "intentlog", pyfluss)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := installPython(ctx, dir); err != nil {
			return nil, err
		}
	}
	script, err := moduleFile(ctx, "internal", "bench", "pyfluss_peer.py")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "python3", script, bootstrap, database)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	return startAnswerer(cmd)
}

// installPython leaves either all or nothing in dir.
func installPython(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	out, err := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", part, pyfluss).CombinedOutput()
	if err != nil {
		return fmt.Errorf("install %s: %w: %s", pyfluss, err, out)
	}
	return os.Rename(part, dir)
}
