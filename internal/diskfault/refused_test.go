//go:build linux && amd64

package diskfault

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intentlog/intentlog/internal/figure"
	"github.com/intentlog/intentlog/internal/needs"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

func TestAReadOnlyFileSystemIsAnErrorForTheWriterAndNoneForTheReader(t *testing.T) {
	needs.Feature(t, needs.Ptrace, traceable)
	needs.Feature(t, needs.Root, mountable)
	s := newStage(t)
	mountTmpfs(t, s.dir, 8<<20)
	s.life(t, 0, 3, pass)
	require.NoError(t, unix.Mount("", s.dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err := sqlitestore.Open(s.path, nil)
	require.ErrorIs(t, err, syscall.EROFS)
	_, err = sqlitestore.Open(filepath.Join(s.dir, "new.db"), nil)
	require.ErrorIs(t, err, syscall.EROFS)
	st, err := sqlitestore.OpenReadOnly(s.path)
	require.NoError(t, err)
	events, err := read(st)
	require.NoError(t, err)
	require.Len(t, events, 6)
	require.NoError(t, st.Close())
	require.NoError(t, unix.Mount("", s.dir, "", unix.MS_REMOUNT, ""))
	r, err := told(s.report)
	require.NoError(t, err)
	require.NoError(t, r.judge(s.path))
}

func TestAnotherUserIsRefused(t *testing.T) {
	needs.Feature(t, needs.Ptrace, traceable)
	needs.Feature(t, needs.Root, mountable)
	s := newStage(t)
	s.life(t, 0, 1, pass)
	for dir := s.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	refused := make(chan [2]error)
	go func() {
		// The thread stays locked, and so ends with this goroutine.
		runtime.LockOSThread()
		_, _ = unix.SetfsuidRetUid(65534)
		_, err := sqlitestore.Open(s.path, nil)
		_, create := sqlitestore.Open(filepath.Join(s.dir, "new.db"), nil)
		refused <- [2]error{err, create}
	}()
	errs := <-refused
	require.ErrorIs(t, errs[0], fs.ErrPermission)
	require.ErrorIs(t, errs[1], fs.ErrPermission)
	r, err := told(s.report)
	require.NoError(t, err)
	require.NoError(t, r.judge(s.path))
}

// TestASecondProcessIsRefusedAtEveryMoment tries to open the log for writing before
// every operation of the process that has it, and to read it.
func TestASecondProcessIsRefusedAtEveryMoment(t *testing.T) {
	needs.Feature(t, needs.Ptrace, traceable)
	s := newStage(t)
	refused, readers := 0, 0
	s.life(t, 0, 3, func(op Op) Fault {
		r, err := told(s.report)
		if err != nil || len(r.stored) == 0 || filepath.Base(op.Path) == "log.db-lock" && op.Call == "close" {
			return Fault{}
		}
		st, err := sqlitestore.Open(s.path, nil)
		if err == nil {
			_ = st.Close()
		}
		require.ErrorIs(t, err, store.ErrLocked, "before operation %d (%s of %s)", op.N, op.Call, op.Path)
		refused++
		if len(r.stored) == 3 {
			return Fault{} // it is about to close, and a reader would wait for that
		}
		st, err = sqlitestore.OpenReadOnly(s.path)
		require.NoError(t, err)
		defer st.Close()
		events, err := read(st)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(events), 2*len(r.stored))
		readers++
		return Fault{}
	})
	r, err := told(s.report)
	require.NoError(t, err)
	require.NoError(t, r.judge(s.path))
	require.Positive(t, readers)
	figure.Print(t, "disk/second-writers-refused", refused)
}
