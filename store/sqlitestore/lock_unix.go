//go:build unix

package sqlitestore

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/intentlog/intentlog/store"
)

const openNoFollow = syscall.O_NOFOLLOW

// lockFile takes the lock at once or fails. The lock belongs to the open file, not
// to the process, so that a second Open in this process meets it too.
func lockFile(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return store.ErrLocked
		case !errors.Is(err, unix.EINTR):
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
