//go:build unix

package supervise

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// killed reports whether the process was ended by SIGKILL, and by nothing else.
func killed(s *os.ProcessState) bool {
	ws, ok := s.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

// Stop sends SIGSTOP and returns once the process stands still.
func (c *Child) Stop(ctx context.Context) error {
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return awaitStopped(ctx, c.cmd.Process.Pid)
}

// Continue sends SIGCONT.
func (c *Child) Continue() error {
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("continue: %w", err)
	}
	return nil
}
