package sqlitestore_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

var ctx = context.Background()

// open opens a log that the test closes.
func open(t *testing.T, path string, opts *sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	st, err := sqlitestore.Open(path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { st.Close() })
	return st
}

// add appends n events, one by one.
func add(t *testing.T, st store.Store, bucket, n int) {
	t.Helper()
	for i := range n {
		_, err := st.Append(ctx, bucket, []intent.Event{benchEvent(int64(i))})
		require.NoError(t, err)
	}
}

// all reads a bucket up to its bound.
func all(st store.Store, bucket int) ([]intent.Event, error) {
	b, err := st.Bound(ctx, bucket)
	if err != nil {
		return nil, err
	}
	var events []intent.Event
	err = st.Read(ctx, bucket, 0, b.End, func(r *store.Record) error {
		events = append(events, r.Event)
		return nil
	})
	return events, err
}

func TestOpenCreatesOnlyWhereNothingIs(t *testing.T) {
	for _, c := range []struct {
		name  string
		there func(path string) error
		want  error
	}{
		{"an empty file", func(p string) error { return os.WriteFile(p, nil, 0o600) }, store.ErrForeign},
		{"another file", func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("hello "), 999), 0o600) }, store.ErrForeign},
		{"a directory", func(p string) error { return os.Mkdir(p, 0o700) }, store.ErrForeign},
		{"a symbolic link", func(p string) error { return os.Symlink(filepath.Join(filepath.Dir(p), "elsewhere"), p) }, store.ErrForeign},
		{"a write-ahead log alone", func(p string) error { return os.WriteFile(p+"-wal", []byte("x"), 0o600) }, store.ErrNotFound},
		{"another database", func(p string) error { return shell(p, "CREATE TABLE t (x); INSERT INTO t VALUES (1)") }, store.ErrForeign},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.db")
			require.NoError(t, c.there(path))
			for _, opts := range []*sqlitestore.Options{nil, {MustExist: true}, {ReadOnly: true}} {
				_, err := sqlitestore.Open(path, opts)
				if opts != nil && c.want == store.ErrNotFound {
					require.ErrorIs(t, err, store.ErrNotFound)
					continue
				}
				require.ErrorIs(t, err, c.want)
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(path), "elsewhere"))
			require.ErrorIs(t, err, fs.ErrNotExist)
		})
	}
	t.Run("nothing, and it must exist", func(t *testing.T) {
		dir := t.TempDir()
		for _, opts := range []*sqlitestore.Options{{MustExist: true}, {ReadOnly: true}} {
			_, err := sqlitestore.Open(filepath.Join(dir, "log.db"), opts)
			require.ErrorIs(t, err, store.ErrNotFound)
		}
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	t.Run("traces of a log that is gone", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log.db")
		require.NoError(t, open(t, path, nil).Close())
		require.NoError(t, os.Remove(path))
		_, err := sqlitestore.Open(path, nil)
		require.ErrorIs(t, err, store.ErrNotFound)
	})
	t.Run("what a creation that died left", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log.db")
		require.NoError(t, os.WriteFile(path+"-new", []byte("half"), 0o600))
		add(t, open(t, path, nil), 0, 1)
	})
	t.Run("a directory that everybody can write", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o777))
		_, err := sqlitestore.Open(filepath.Join(dir, "log.db"), nil)
		require.ErrorContains(t, err, "everybody")
	})
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	st := open(t, path, nil)
	add(t, st, 0, 1)
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, files, 4, "log, wal, shm and lock")
	for _, f := range files {
		info, err := os.Lstat(f)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode(), f)
	}
}

func TestASecondWriterIsLockedOutAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	if other := os.Getenv("SQLITESTORE_TEST_OPEN"); other != "" {
		_, err := sqlitestore.Open(other, nil)
		require.ErrorIs(t, err, store.ErrLocked)
		return
	}
	st := open(t, path, nil)
	add(t, st, 0, 1)
	_, err := sqlitestore.Open(path, nil)
	require.ErrorIs(t, err, store.ErrLocked, "in this process")

	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run=^TestASecondWriterIsLockedOutAtOnce$")
	cmd.Env = append(os.Environ(), "SQLITESTORE_TEST_OPEN="+path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "in another process: %s", out)

	add(t, st, 0, 1)
	require.NoError(t, st.Close())
	open(t, path, nil)
}

func TestAnotherLogAndAnotherVersionAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	st := open(t, path, &sqlitestore.Options{Buckets: 3})
	add(t, st, 2, 2)
	id := st.LogID()
	require.NoError(t, st.Close())

	again := open(t, path, &sqlitestore.Options{LogID: id, Buckets: 3})
	require.Equal(t, id, again.LogID())
	require.NoError(t, again.Close())
	any := open(t, path, nil)
	require.Equal(t, 3, any.Buckets())
	require.NoError(t, any.Close())

	for _, opts := range []sqlitestore.Options{{LogID: strings.Repeat("0", 8) + "-0000-4000-8000-000000000000"}, {Buckets: 1}} {
		for _, opts.ReadOnly = range []bool{false, true} {
			_, err := sqlitestore.Open(path, &opts)
			require.ErrorIs(t, err, store.ErrForeign)
		}
	}
	for _, c := range []struct {
		damage string
		want   error
	}{
		{"PRAGMA user_version=2", store.ErrVersion},
		{"PRAGMA user_version=1; PRAGMA application_id=7", store.ErrForeign},
		{"PRAGMA application_id=1766616935; CREATE TRIGGER t AFTER INSERT ON job_events BEGIN DELETE FROM job_events; END", store.ErrForeign},
		{"DROP TRIGGER IF EXISTS t; UPDATE log SET buckets = 1", store.ErrCorrupt},
		{"DELETE FROM log", store.ErrCorrupt},
		{"DROP TABLE log", store.ErrForeign},
	} {
		require.NoError(t, shell(path, c.damage))
		for _, readOnly := range []bool{false, true} {
			_, err := sqlitestore.Open(path, &sqlitestore.Options{ReadOnly: readOnly})
			require.ErrorIs(t, err, c.want, c.damage)
		}
	}
}

// shell runs SQL on a file as any SQLite shell would.
func shell(path, text string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(text)
	return err
}

func TestAnySqliteShellCanAskForAJob(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	st := open(t, path, &sqlitestore.Options{Buckets: 2})
	add(t, st, 1, 3)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	var attempt, step int
	var typ, action string
	require.NoError(t, db.QueryRow(`SELECT attempt, step, event_type, action_id FROM job_events
		WHERE job_id = 'job-2' ORDER BY attempt, step`).Scan(&attempt, &step, &typ, &action))
	require.Equal(t, "1 4 ACTION_REQUESTED action-2", fmt.Sprint(attempt, step, " ", typ, " ", action))

	var bucket, offset int
	var commit int64
	names := strings.Join(intent.Columns[:], ", ")
	rows, err := db.Query(`SELECT bucket, log_offset, commit_ms, ` + names + ` FROM job_events WHERE job_id = 'job-2'`)
	require.NoError(t, err)
	defer rows.Close()
	require.True(t, rows.Next())
	got := benchEvent(0)
	require.NoError(t, rows.Scan(&bucket, &offset, &commit, &got.JobID, &got.EventID, &got.Attempt, &got.Step,
		&got.Type, &got.ActionID, &got.PayloadDigest, &got.EmittedAtMS, &got.Detail))
	require.Equal(t, benchEvent(2), got)
	require.Equal(t, []int{1, 2}, []int{bucket, offset})
	require.Positive(t, commit)
}

func TestReadersWorkBesideTheWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	st := open(t, path, nil)
	add(t, st, 0, 3)
	ro, err := sqlitestore.OpenReadOnly(path)
	require.NoError(t, err)
	defer ro.Close()
	for range 3 {
		want, err := all(st, 0)
		require.NoError(t, err)
		got, err := all(ro, 0)
		require.NoError(t, err)
		require.Equal(t, want, got)
		add(t, st, 0, 2)
	}
	_, err = ro.Append(ctx, 0, []intent.Event{benchEvent(1)})
	require.ErrorIs(t, err, store.ErrReadOnly)
	require.Equal(t, store.NotStored, store.OutcomeOf(err))
	require.NoError(t, st.Close())
	got, err := all(ro, 0)
	require.NoError(t, err)
	require.Len(t, got, 9, "and after it is gone")
}

func TestAReaderNeedsNoWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	st := open(t, path, nil)
	add(t, st, 0, 3)
	require.NoError(t, st.Close())
	ro, err := sqlitestore.OpenReadOnly(path)
	require.NoError(t, err)
	defer ro.Close()
	got, err := all(ro, 0)
	require.NoError(t, err)
	require.Len(t, got, 3)
}

func TestAReaderSeesThatTheLogWasCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	st := open(t, path, nil)
	add(t, st, 0, 3)
	require.NoError(t, st.Close())
	ro, err := sqlitestore.OpenReadOnly(path)
	require.NoError(t, err)
	defer ro.Close()
	require.NoError(t, shell(path, "DELETE FROM job_events WHERE log_offset = 2"))
	_, err = ro.Bound(ctx, 0)
	require.ErrorIs(t, err, store.ErrLogRegressed)
}

func TestMissingAndAlteredRowsAreErrors(t *testing.T) {
	for _, c := range []struct {
		damage string
		want   error
	}{
		{"DELETE FROM job_events WHERE log_offset < 3", store.ErrPrefixMissing},
		{"DELETE FROM job_events WHERE log_offset = 5", store.ErrGap},
		{"DELETE FROM job_events WHERE log_offset = 9", store.ErrLogRegressed},
		{"DELETE FROM job_events", store.ErrLogRegressed},
		{"UPDATE job_events SET detail = detail || ' ' WHERE log_offset = 5", store.ErrCorrupt},
		{"UPDATE job_events SET event_id = action_id, action_id = event_id WHERE log_offset = 5", store.ErrCorrupt},
		{"UPDATE job_events SET log_offset = 6 WHERE log_offset = 5", store.ErrCorrupt},
		{"UPDATE job_events SET bucket = 1 WHERE log_offset = 5", store.ErrCorrupt},
		{"UPDATE job_events SET commit_ms = commit_ms + 1 WHERE log_offset = 9", store.ErrCorrupt},
		{"UPDATE job_events SET seq = 99 WHERE log_offset = 9", store.ErrCorrupt},
	} {
		t.Run(c.damage, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.db")
			st := open(t, path, nil)
			add(t, st, 0, 10)
			require.NoError(t, st.Close())
			require.NoError(t, shell(path, c.damage))
			st, err := sqlitestore.Open(path, nil)
			if err == nil {
				defer st.Close()
				_, err = all(st, 0)
			}
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestAnOlderCopyIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	st := open(t, path, nil)
	add(t, st, 0, 10)
	require.NoError(t, st.Close())
	old, err := os.ReadFile(path)
	require.NoError(t, err)
	st = open(t, path, nil)
	add(t, st, 0, 1)
	require.NoError(t, st.Close())
	require.NoError(t, os.WriteFile(path, old, 0o600))
	for _, readOnly := range []bool{false, true} {
		_, err = sqlitestore.Open(path, &sqlitestore.Options{ReadOnly: readOnly})
		require.ErrorIs(t, err, store.ErrLogRegressed)
	}
	require.NoError(t, os.Remove(path+"-lock"))
	got, err := all(open(t, path, nil), 0)
	require.NoError(t, err, "the way to put it back on purpose")
	require.Len(t, got, 10)
}

func TestABatchThatIsTooLargeIsNotStored(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "log.db"), &sqlitestore.Options{MaxBatch: 2000})
	_, err := st.Append(ctx, 0, []intent.Event{benchEvent(1), benchEvent(2), benchEvent(3)})
	require.ErrorIs(t, err, store.ErrTooLarge)
	require.Equal(t, store.NotStored, store.OutcomeOf(err))
	add(t, st, 0, 1)
}

func TestConcurrentAppendsShareTransactionsAndStayApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	st := open(t, path, &sqlitestore.Options{Buckets: 4})
	const writers, each = 32, 30
	var wg sync.WaitGroup
	var mu sync.Mutex
	at := make(map[intent.EventID]int64)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				n := int64(w*each+i) * 2
				batch := []intent.Event{benchEvent(n), benchEvent(n + 1)}
				first, err := st.Append(ctx, w%4, batch)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				at[batch[0].EventID], at[batch[1].EventID] = first, first+1
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.NoError(t, st.Close())
	st = open(t, path, nil)
	for bucket := range 4 {
		events, err := all(st, bucket)
		require.NoError(t, err)
		require.Len(t, events, writers/4*each*2)
		for i, e := range events {
			require.Equal(t, int64(i), at[e.EventID])
		}
	}
}

// A caller that leaves while its append commits learns from the next bound what became
// of it: nothing arrives behind that bound any more.
func TestABoundWaitsForWhatCommits(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "intents.db"), nil)
	left := 0
	for n := range 400 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(time.Millisecond))))
		_, err := st.Append(ctx, 0, []intent.Event{intent.NewBarrier(fmt.Sprint(n), 1)})
		cancel()
		outcome := store.OutcomeOf(err)
		bound, err := st.Bound(t.Context(), 0)
		require.NoError(t, err)
		found := false
		require.NoError(t, st.Read(t.Context(), 0, max(0, bound.End-1), bound.End, func(r *store.Record) error {
			found = r.Event.EventID == intent.NewBarrier(fmt.Sprint(n), 1).EventID
			return nil
		}))
		require.Equal(t, outcome != store.NotStored, found, "%s", outcome)
		if outcome == store.Unknown {
			left++
		}
	}
	require.Positive(t, left, "somebody left")
}
