//go:build unix && !linux

package supervise

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// awaitStopped waits until ps shows the child as stopped.
func awaitStopped(ctx context.Context, pid int) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := exec.CommandContext(ctx, "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		switch {
		case err != nil:
			return fmt.Errorf("wait for the stop of process %d: %w", pid, err)
		case strings.HasPrefix(strings.TrimSpace(string(out)), "T"):
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the stop of process %d: %w", pid, ctx.Err())
		}
	}
}
