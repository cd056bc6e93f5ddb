//go:build linux && amd64

package diskfault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intentlog/intentlog/internal/figure"
	"github.com/intentlog/intentlog/internal/needs"
)

// disk is an ext4 image that is mounted where a stage has its log.
type disk struct{ image, copied, after string }

func newDisk(t *testing.T, s *stage) *disk {
	t.Helper()
	base := filepath.Dir(s.dir)
	d := &disk{filepath.Join(base, "image"), filepath.Join(base, "copied"), filepath.Join(base, "after")}
	require.NoError(t, os.Mkdir(d.after, 0o700))
	require.NoError(t, os.WriteFile(d.image, nil, 0o600))
	require.NoError(t, os.Truncate(d.image, 8<<20))
	require.NoError(t, sh("mkfs.ext4", "-q", "-F", d.image))
	require.NoError(t, mountImage(d.image, s.dir))
	t.Cleanup(func() { unmount(t, s.dir) })
	return d
}

// cut copies the image while it is mounted and the writer stands still: the copy is
// what a disk has when the kernel's memory is gone. It mounts the copy, which replays
// the journal, and judges the log on it.
func (d *disk) cut(r report) error {
	if err := sh("cp", "--sparse=always", d.image, d.copied); err != nil {
		return err
	}
	if err := mountImage(d.copied, d.after); err != nil {
		return err
	}
	err := r.judge(filepath.Join(d.after, "log.db"))
	if again := unix.Unmount(d.after, 0); again != nil {
		err = errors.Join(err, again, unix.Unmount(d.after, unix.MNT_DETACH))
	}
	return err
}

// TestAPowerCutAtAnyOperationLosesNothingAcknowledged cuts the power before every
// operation of a writer's life.
func TestAPowerCutAtAnyOperationLosesNothingAcknowledged(t *testing.T) {
	needs.Feature(t, needs.Ptrace, traceable)
	needs.Feature(t, needs.Root, mountable)
	s := newStage(t)
	d := newDisk(t, s)
	cuts, acked := 0, 0
	s.life(t, 0, 4, func(op Op) Fault {
		r, err := told(s.report)
		if err == nil {
			err = d.cut(r)
		}
		if err != nil {
			t.Errorf("power cut before operation %d (%s of %s): %v", op.N, op.Call, filepath.Base(op.Path), err)
			return Fault{Kill: true}
		}
		cuts, acked = cuts+1, len(r.stored)
		return Fault{}
	})
	require.Equal(t, 4, acked)
	figure.Print(t, "disk/power-cuts", cuts)
}

// TestAPowerCutShowsADiskThatLies is about the test above: it would see if the log
// did not sync, or did it too late.
func TestAPowerCutShowsADiskThatLies(t *testing.T) {
	needs.Feature(t, needs.Ptrace, traceable)
	needs.Feature(t, needs.Root, mountable)
	s := newStage(t)
	d := newDisk(t, s)
	s.life(t, 0, 1, pass)
	var seen error
	s.life(t, 1, 3, func(op Op) Fault {
		r, err := told(s.report)
		if err == nil && seen == nil {
			seen = d.cut(r)
		}
		return Fault{Lie: op.Call == "fsync"}
	})
	require.Error(t, seen)
	t.Log(seen)
}

// TestAFullDiskLosesNothingAcknowledged fills file systems of many sizes, makes room
// and goes on.
func TestAFullDiskLosesNothingAcknowledged(t *testing.T) {
	needs.Feature(t, needs.Ptrace, traceable)
	needs.Feature(t, needs.Root, mountable)
	full := 0
	for size := 16 << 10; size <= 256<<10; size += 12 << 10 {
		t.Run(fmt.Sprintf("size=%dKiB", size>>10), func(t *testing.T) {
			s := newStage(t)
			mountTmpfs(t, s.dir, size)
			s.life(t, 0, 25, pass)
			r, err := told(s.report)
			require.NoError(t, err)
			require.Less(t, len(r.stored), 25, "the disk was full")
			s.life(t, 100, 2, pass) // while it still is: it may refuse to open, or to append
			require.NoError(t, unix.Mount("", s.dir, "", unix.MS_REMOUNT, "size=8m"))
			r, err = told(s.report)
			require.NoError(t, err)
			require.NoError(t, r.judge(s.path))
			full++
		})
	}
	figure.Print(t, "disk/full-disks", full)
}
