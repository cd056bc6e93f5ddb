//go:build linux && amd64

package diskfault

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// mountable is the probe of a feature: whether file systems can be mounted here.
func mountable() error {
	if os.Getuid() != 0 {
		return fmt.Errorf("user %d is not root", os.Getuid())
	}
	dir, err := os.MkdirTemp("", "diskfault")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		return fmt.Errorf("mount a tmpfs: %w", err)
	}
	return unix.Unmount(dir, 0)
}

// mountTmpfs mounts a file system of the given size in bytes at dir, until the end
// of the test.
func mountTmpfs(t *testing.T, dir string, size int) {
	t.Helper()
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)))
	t.Cleanup(func() { unmount(t, dir) })
}

// mountImage mounts the ext4 image at dir. Nothing but a sync makes the file system
// write its journal.
func mountImage(image, dir string) error {
	return sh("mount", "-o", "loop,commit=1000", image, dir)
}

// unmount unmounts dir, even while somebody uses it.
func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Unmount(dir, 0); err != nil {
		t.Errorf("unmount %s: %v", dir, err)
		_ = unix.Unmount(dir, unix.MNT_DETACH)
	}
}

// sh runs a program. Its error has what the program wrote.
func sh(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
