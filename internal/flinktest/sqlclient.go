package flinktest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/intentlog/intentlog/internal/jvm"
)

// SQLClient runs a script by Flink's own SQL client against the cluster's gateway and returns what it
// printed and its exit code. That code says nothing about the script: it is 0 after a statement that
// failed, and after one that was dropped unread. An error means that the client itself could not be run.
func (c *Cluster) SQLClient(ctx context.Context, script string) (output string, exitCode int, err error) {
	dir, err := os.MkdirTemp(c.dir, "sqlclient-")
	if err != nil {
		return "", 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		return "", 0, err
	}
	command := c.command("sqlclient", sqlClientClass, sqlClientHeap,
		"gateway", "-e", c.gateway, "-hist", filepath.Join(dir, "history"), "-f", file)
	out, err := jvm.Run(ctx, command)
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return string(out), exit.ExitCode(), nil
	}
	return string(out), 0, err
}
