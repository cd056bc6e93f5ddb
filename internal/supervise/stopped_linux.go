package supervise

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// awaitStopped waits until the child is stopped. It asks the kernel without taking
// the child's status away, which [Child.read] waits for. Stopping takes microseconds
// and cannot be refused, so that ctx need not end the wait.
func awaitStopped(_ context.Context, pid int) error {
	for {
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil); err {
		case nil:
		case unix.EINTR:
			continue
		default:
			return fmt.Errorf("wait for the stop of process %d: %w", pid, err)
		}
		const cldStopped = 5 // CLD_STOPPED of <signal.h>
		if info.Code != cldStopped {
			return fmt.Errorf("wait for the stop of process %d: %w", pid, ErrEnded)
		}
		return nil
	}
}
