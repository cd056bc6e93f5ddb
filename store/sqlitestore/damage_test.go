package sqlitestore_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// wound is a log as files, with what was acknowledged in it.
type wound struct {
	dir   string
	files map[string][]byte // by the end of their name
	acked []intent.Event
}

// woundable returns a log of a few records: closed, or as it is after the process
// was killed, with its records in the write-ahead log.
func woundable(t *testing.T, killed bool) *wound {
	path := filepath.Join(t.TempDir(), "log.db")
	st := open(t, path, nil)
	for i := range 4 {
		e := benchEvent(int64(i))
		e.Detail = e.Detail[:60]
		_, err := st.Append(ctx, 0, []intent.Event{e})
		require.NoError(t, err)
	}
	w := &wound{dir: t.TempDir(), files: make(map[string][]byte)}
	var err error
	w.acked, err = all(st, 0)
	require.NoError(t, err)
	if !killed {
		require.NoError(t, st.Close())
	}
	for _, ext := range []string{"", "-wal", "-lock"} {
		b, err := os.ReadFile(path + ext)
		if err == nil {
			w.files[ext] = b
		}
	}
	require.Equal(t, killed, len(w.files["-wal"]) > 0)
	return w
}

// verdict puts the files in place, one of them damaged, opens the log and returns
// an error unless what happened is right: all acknowledged events are there, or a
// typed error says that they are not.
func (w *wound) verdict(ext string, damaged []byte) (told error, wrong error) {
	path := filepath.Join(w.dir, "log.db")
	for _, e := range []string{"", "-wal", "-shm", "-lock", "-journal", "-new"} {
		os.Remove(path + e)
		b, ok := w.files[e]
		if e == ext {
			b, ok = damaged, true
		}
		if !ok {
			continue
		}
		if err := os.WriteFile(path+e, b, 0o600); err != nil {
			return nil, err
		}
	}
	st, err := sqlitestore.Open(path, &sqlitestore.Options{MustExist: true})
	var got []intent.Event
	if err == nil {
		got, err = all(st, 0)
		st.Close()
	}
	switch {
	case err == nil && !slices.Equal(got, w.acked):
		return nil, fmt.Errorf("%d of %d acknowledged events, or altered ones, and no error", len(got), len(w.acked))
	case err == nil || typed(err):
		return err, nil
	}
	return err, fmt.Errorf("an error without a type: %w", err)
}

func typed(err error) bool {
	for _, known := range []error{
		store.ErrForeign, store.ErrVersion, store.ErrCorrupt, store.ErrLogRegressed, store.ErrGap,
		store.ErrPrefixMissing, store.ErrNotFound,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

var everyByte = flag.Bool("every-byte", false, "damage logs at every byte, not at every 37th")

// sweep calls damage for positions of a file: all with -every-byte, few with -short.
func sweep(t *testing.T, n int, damage func(at int)) {
	step := 37 // odd, so that all bits and all places in a word have their turn
	switch {
	case *everyByte:
		step = 1
	case testing.Short():
		step = max(37, n/100|1)
	}
	for at := 0; at < n; at += step {
		damage(at)
	}
}

func TestALogCutAnywhereIsWholeOrAnError(t *testing.T) {
	for _, killed := range []bool{false, true} {
		w := woundable(t, killed)
		for ext, whole := range w.files {
			t.Run(fmt.Sprintf("killed=%t/file=db%s", killed, ext), func(t *testing.T) {
				told := 0
				sweep(t, len(whole), func(n int) {
					err, wrong := w.verdict(ext, whole[:n])
					if wrong != nil {
						t.Errorf("cut to %d of %d bytes: %v", n, len(whole), wrong)
					}
					if err != nil {
						told++
					}
				})
				t.Logf("%d bytes, %d cuts told as errors", len(whole), told)
				if ext != "-lock" {
					require.Positive(t, told)
				}
			})
		}
	}
}

func TestALogWithAnyByteFlippedIsWholeOrAnError(t *testing.T) {
	for _, killed := range []bool{false, true} {
		w := woundable(t, killed)
		for ext, whole := range w.files {
			t.Run(fmt.Sprintf("killed=%t/file=db%s", killed, ext), func(t *testing.T) {
				told := 0
				damaged := slices.Clone(whole)
				sweep(t, len(whole), func(at int) {
					damaged[at] ^= 1 << (at % 8)
					err, wrong := w.verdict(ext, damaged)
					if wrong != nil {
						t.Errorf("bit %d of byte %d of %d flipped: %v", at%8, at, len(whole), wrong)
					}
					if err != nil {
						told++
					}
					damaged[at] = whole[at]
				})
				t.Logf("%d bytes, %d flips told as errors", len(whole), told)
				if ext != "-lock" {
					require.Positive(t, told)
				}
			})
		}
	}
}
