package sqlitestore

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

var ctx = context.Background()

func events(id string) []intent.Event { return []intent.Event{intent.NewBarrier(id, 1)} }

// broken makes a statement fail when it is run.
func broken(t *testing.T, s *Store) *stmt {
	t.Helper()
	st, err := s.writer.prepare("SELECT abs(-9223372036854775807 - 1)")
	require.NoError(t, err)
	return st
}

func TestAnErrorOfAWriteEndsWritingUntilTheLogIsReopened(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, s *Store)
		want  store.Outcome
	}{
		{"before the transaction", func(t *testing.T, s *Store) { s.begin = broken(t, s) }, store.NotStored},
		{"inside the transaction", func(t *testing.T, s *Store) { s.insert = broken(t, s) }, store.NotStored},
		{"in the commit", func(t *testing.T, s *Store) { s.commit = broken(t, s) }, store.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.db")
			s, err := Open(path, nil)
			require.NoError(t, err)
			_, err = s.Append(ctx, 0, events("before"))
			require.NoError(t, err)

			c.spoil(t, s)
			_, err = s.Append(ctx, 0, events("broken"))
			require.Error(t, err)
			require.Equal(t, c.want, store.OutcomeOf(err))
			require.NotErrorIs(t, err, store.ErrPoisoned)

			_, err = s.Append(ctx, 0, events("after"))
			require.ErrorIs(t, err, store.ErrPoisoned)
			require.Equal(t, store.NotStored, store.OutcomeOf(err))
			_, err = s.Bound(ctx, 0)
			require.ErrorIs(t, err, store.ErrPoisoned, "its end is in doubt")
			require.NoError(t, s.Read(ctx, 0, 0, 1, func(*store.Record) error { return nil }))
			require.NoError(t, s.Close())

			s, err = Open(path, nil)
			require.NoError(t, err)
			defer s.Close()
			b, err := s.Bound(ctx, 0)
			require.NoError(t, err)
			require.Equal(t, int64(1), b.End, "what was not committed is not there")
			_, err = s.Append(ctx, 0, events("again"))
			require.NoError(t, err)
		})
	}
}

func TestACancelledAppendIsNotStoredOnlyWhileItWaitsForItsTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s, err := Open(path, nil)
	require.NoError(t, err)
	defer s.Close()
	other, err := connect(path, 2) // SQLITE_OPEN_READWRITE
	require.NoError(t, err)
	defer other.close()
	require.NoError(t, other.exec("BEGIN IMMEDIATE"), "hold up the committer")

	outcome := func(c context.Context, id string) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := s.Append(c, 0, events(id))
			done <- err
		}()
		return done
	}
	until := func(cond func() bool) {
		for ok := false; !ok; runtime.Gosched() {
			s.mu.Lock()
			ok = cond()
			s.mu.Unlock()
		}
	}
	c, cancel := context.WithCancel(ctx)
	taken := outcome(c, "taken")
	until(func() bool { return s.running && len(s.queue) == 0 })
	queued, stays := outcome(c, "queued"), outcome(ctx, "stays")
	until(func() bool { return len(s.queue) == 2 })
	cancel()
	err = <-queued
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, store.NotStored, store.OutcomeOf(err))
	err = <-taken
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, store.Unknown, store.OutcomeOf(err))

	require.NoError(t, other.exec("ROLLBACK"))
	require.NoError(t, <-stays)
	var ids []intent.EventID
	require.NoError(t, s.Read(ctx, 0, 0, 2, func(r *store.Record) error {
		ids = append(ids, r.Event.EventID)
		return nil
	}))
	require.Equal(t, []intent.EventID{"barrier/taken", "barrier/stays"}, ids)
}

func TestALogThatAnotherProgramHoldsLockedIsNotPoisoned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s, err := Open(path, nil)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.writer.exec("PRAGMA busy_timeout=1"))
	other, err := connect(path, 2) // SQLITE_OPEN_READWRITE
	require.NoError(t, err)
	defer other.close()
	require.NoError(t, other.exec("BEGIN IMMEDIATE"))
	_, err = s.Append(ctx, 0, events("busy"))
	require.Equal(t, store.NotStored, store.OutcomeOf(err))
	require.NotErrorIs(t, err, store.ErrPoisoned)
	require.NoError(t, other.exec("ROLLBACK"))
	_, err = s.Append(ctx, 0, events("free"))
	require.NoError(t, err)
}

func TestTheCommitTimeNeverFalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s, err := Open(path, nil)
	require.NoError(t, err)
	const future = int64(1) << 42
	s.clock[0] = future // as if the host's clock had been ahead, and was set back
	for range 2 {
		_, err = s.Append(ctx, 0, events("x"))
		require.NoError(t, err)
		require.NoError(t, s.Close())
		s, err = Open(path, nil)
		require.NoError(t, err)
	}
	defer s.Close()
	b, err := s.Bound(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, store.Bound{End: 2, NowMS: future}, b)
	require.NoError(t, s.Read(ctx, 0, 0, 2, func(r *store.Record) error {
		require.Equal(t, future, r.CommitMS)
		return nil
	}))
}
