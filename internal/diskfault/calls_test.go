//go:build linux && amd64

package diskfault

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/figure"
	"github.com/intentlog/intentlog/internal/needs"
)

var long = flag.Bool("long", false, "all faults at every operation of every life; minutes")

// faults are what is done at the n-th operation, and from there on with ever.
type fault struct {
	name string
	Fault
	ever bool
}

var faults = []fault{
	{"EIO", Fault{Errno: syscall.EIO}, false},
	{"EIO for ever", Fault{Errno: syscall.EIO}, true},
	{"done, then EIO", Fault{Errno: syscall.EIO, Done: true}, false},
	{"torn, then EIO", Fault{Errno: syscall.EIO, Torn: true}, false},
	{"ENOSPC", Fault{Errno: syscall.ENOSPC}, false},
	{"ENOSPC for ever", Fault{Errno: syscall.ENOSPC}, true},
	{"killed", Fault{Kill: true}, false},
}

// TestEveryOperationFails makes the first operation fail, then the second, and so on
// until a life of the writer ends before its turn: of a log that is created, and of
// one that a killed writer left behind with records in its write-ahead log. After
// each, all that was acknowledged is there, nothing that was said not to be stored
// is, and the log works again.
//
// The faults take turns; with -long each operation has them all.
func TestEveryOperationFails(t *testing.T) {
	needs.Feature(t, needs.Ptrace, traceable)
	lives := 0
	for _, left := range []bool{false, true} {
		for turn := range faults {
			if turn > 0 && !*long {
				break
			}
			count, unknown := 0, 0
			for n := 1; ; n++ {
				f := faults[(n+turn)%len(faults)]
				op, open, err := faultyLife(t, left, n, f)
				if op.N == 0 {
					break
				}
				count++
				unknown += open
				if err != nil {
					t.Errorf("%s at operation %d (%s of %s), left=%t: %v", f.name, n, op.Call, filepath.Base(op.Path), left, err)
				}
			}
			require.Positive(t, unknown, "faults hit appends too")
			lives += count
		}
	}
	name := "disk/faulty-system-calls"
	if *long {
		name = "disk/faulty-system-calls-long"
	}
	figure.Print(t, name, lives)
}

// faultyLife runs one life with a fault at its n-th operation and judges the log. It
// returns that operation, or the zero Op if the life ended before it.
func faultyLife(t *testing.T, left bool, n int, f fault) (at Op, open int, err error) {
	s := newStage(t)
	first := 0
	if left {
		s.leave(t)
		first = 2
	}
	s.life(t, first, 3, func(op Op) Fault {
		if op.N == n {
			at = op
		}
		if op.N == n || f.ever && op.N > n {
			return f.Fault
		}
		return Fault{}
	})
	r, err := told(s.report)
	if err == nil {
		err = r.judge(s.path)
	}
	if err != nil {
		text, _ := os.ReadFile(s.report)
		err = fmt.Errorf("%w; the writer was told:\n%s", err, text)
	}
	return at, len(r.open), errors.Join(err, os.RemoveAll(filepath.Dir(s.dir)))
}

// leave puts the log of a killed writer in place: two batches in the write-ahead log.
func (s *stage) leave(t *testing.T) {
	t.Helper()
	s.life(t, 0, 3, func(op Op) Fault {
		r, err := told(s.report)
		return Fault{Kill: err != nil || len(r.stored) == 2}
	})
}
