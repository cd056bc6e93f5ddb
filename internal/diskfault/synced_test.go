//go:build linux && amd64

package diskfault

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/needs"
)

// TestNothingIsAcknowledgedBeforeTheDiskHasIt watches a writer without any fault:
// when it reports an append as stored, the last thing that was done to the
// write-ahead log is a sync.
func TestNothingIsAcknowledgedBeforeTheDiskHasIt(t *testing.T) {
	needs.Feature(t, needs.Ptrace, traceable)
	s := newStage(t)
	var last Op // on the write-ahead log
	stored := 0
	s.life(t, 0, 10, func(op Op) Fault {
		r, err := told(s.report)
		if err != nil {
			t.Error(err)
		}
		if len(r.stored) > stored {
			stored = len(r.stored)
			if last.Call != "fdatasync" && last.Call != "fsync" {
				t.Errorf("append %d was acknowledged after %s of %s", stored, last.Call, last.Path)
			}
		}
		if strings.HasSuffix(op.Path, "-wal") {
			last = op
		}
		return Fault{}
	})
	require.Equal(t, 10, stored)
}
