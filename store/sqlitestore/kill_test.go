//go:build unix

package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/figure"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// TestWhatWasAcknowledgedSurvivesSigkill kills a process that appends from several
// goroutines, at another moment each time, on the same log.
func TestWhatWasAcknowledgedSurvivesSigkill(t *testing.T) {
	if path := os.Getenv("SQLITESTORE_TEST_WRITE"); path != "" {
		writeUntilKilled(path)
	}
	lives := 100
	if testing.Short() {
		lives = 5
	}
	path := filepath.Join(t.TempDir(), "log.db")
	exe, err := os.Executable()
	require.NoError(t, err)
	acked := make(map[int64]intent.EventID)
	for life := range lives {
		cmd := exec.Command(exe, "-test.run=^TestWhatWasAcknowledgedSurvivesSigkill$")
		cmd.Env = append(os.Environ(), "SQLITESTORE_TEST_WRITE="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			var at int64
			var id intent.EventID
			if _, err := fmt.Sscan(lines.Text(), &at, &id); err != nil {
				break // the line that the kill cut
			}
			require.Empty(t, acked[at], "offset %d was acknowledged twice", at)
			acked[at] = id
			if n == 10+life*37%80 {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait())

		st := open(t, path, nil)
		events, err := all(st, 0)
		require.NoError(t, err)
		for at, id := range acked {
			require.Less(t, at, int64(len(events)))
			require.Equal(t, id, events[at].EventID)
		}
		require.NoError(t, st.Close())
	}
	figure.Print(t, "disk/killed-writers", lives)
	figure.Print(t, "disk/events-acknowledged-before-kills", len(acked))
}

// writeUntilKilled appends for ever and prints what was acknowledged.
func writeUntilKilled(path string) {
	st, err := sqlitestore.Open(path, nil)
	if err != nil {
		panic(err)
	}
	b, err := st.Bound(context.Background(), 0)
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for w := range int64(4) {
		wg.Go(func() {
			for i := b.End; ; i++ {
				e := benchEvent(i*4 + w)
				at, err := st.Append(context.Background(), 0, []intent.Event{e})
				if err != nil {
					panic(err)
				}
				fmt.Fprintf(os.Stdout, "%d %s\n", at, e.EventID)
			}
		})
	}
	wg.Wait()
}
