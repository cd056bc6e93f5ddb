package sqlitestore

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"github.com/intentlog/intentlog/store"
)

const openNoFollow = 0

// lockFile takes the lock at once or fails. It locks one byte far behind the marks,
// since Windows keeps others from reading what is locked.
func lockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return store.ErrLocked
	}
	if err != nil {
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// syncDir does nothing: Windows keeps names itself.
func syncDir(string) error { return nil }
