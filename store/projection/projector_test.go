package projection_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/projection"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

const (
	ownerA intent.OwnerID = "6f1c2a34-8a5e-4b0f-9a51-0d6f2f6a7e01"
	ownerB intent.OwnerID = "b3b0c7d2-51f5-4c1c-8a39-6a0c1c8f2e02"
)

func started(job intent.JobID, attempt int32, o intent.OwnerID) intent.Event {
	return intent.Event{
		JobID: job, EventID: intent.NewEventID(job, attempt, o, 1), Attempt: attempt, Step: 1,
		Type: intent.Started, EmittedAtMS: 1, Detail: `{"worker":"w"}`,
	}
}

func completed(job intent.JobID, attempt, step int32, o intent.OwnerID) intent.Event {
	return intent.Event{JobID: job, EventID: intent.NewEventID(job, attempt, o, step), Attempt: attempt, Step: step, Type: intent.Completed, EmittedAtMS: 2}
}

func fill(t *testing.T, st store.Store, events ...intent.Event) {
	t.Helper()
	for _, e := range events {
		_, err := st.Append(t.Context(), store.BucketFor(e.JobID, st.Buckets()), []intent.Event{e})
		require.NoError(t, err)
	}
}

// table is a sink in memory that can fail, and that watches what becomes of its rows.
type table struct {
	t      *testing.T
	rows   map[intent.EventID]intent.Event
	at     map[int]position
	puts   int
	failAt int  // the put, from 1, that fails; 0: none
	late   bool // it fails between rows and position
}

type position struct {
	next int64
	last intent.EventID
}

var errDied = errors.New("died")

func newTable(t *testing.T) *table {
	return &table{t: t, rows: map[intent.EventID]intent.Event{}, at: map[int]position{}}
}

func (s *table) Position(_ context.Context, bucket int) (int64, intent.EventID, error) {
	return s.at[bucket].next, s.at[bucket].last, nil
}

func (s *table) Put(_ context.Context, bucket int, rows []intent.Event, next int64, last intent.EventID) error {
	s.puts++
	if s.puts == s.failAt && !s.late {
		return errDied
	}
	for _, e := range rows {
		if old, ok := s.rows[e.EventID]; ok {
			require.Equal(s.t, old, e, "a row changed")
		}
		s.rows[e.EventID] = e
	}
	if s.puts == s.failAt {
		return errDied
	}
	s.at[bucket] = position{next, last}
	return nil
}

func TestAnImportSaysWhatBecameOfEachRecord(t *testing.T) {
	st := memstore.New(1)
	fill(
		t, st, started("a", 1, ownerA), started("a", 1, ownerB), // the second claim is void
		started("a", 1, ownerA), // and this a repetition
		intent.NewBarrier("6f1c2a34-8a5e-4b0f-9a51-0d6f2f6a7e02", 5),
		completed("a", 1, 2, ownerA), completed("a", 1, 2, ownerA),
		completed("a", 1, 2, ownerB), // after the end all is void
	)
	sink := newTable(t)
	p := projection.New(st, sink)
	got, err := p.Import(t.Context())
	require.NoError(t, err)
	require.Equal(t, projection.Report{Ends: []int64{7}, Events: 4, Void: 2, Duplicates: 2, Barriers: 1, Written: 4}, got)
	require.Len(t, sink.rows, 4)

	for range 2 { // by the same projector and by a fresh one
		again, err := p.Import(t.Context())
		require.NoError(t, err)
		require.Zero(t, again.Written)
		again.Written = got.Written
		require.Equal(t, got, again)
		p = projection.New(st, sink)
	}
}

func TestABrokenHistoryStopsTheImportBeforeAnyWrite(t *testing.T) {
	conflict := completed("a", 1, 2, ownerA)
	conflict.EmittedAtMS++
	for _, c := range []struct {
		name  string
		event intent.Event
		want  error
	}{
		{"event id reused", conflict, intent.ErrEventConflict},
		{"out of order", completed("b", 1, 2, ownerA), intent.ErrOutOfOrder},
		{"malformed", intent.Event{JobID: "b", EventID: "b", Attempt: 1, Step: 1, Type: intent.Started}, intent.ErrMalformed},
		{"malformed barrier", intent.Event{EventID: "b", Type: intent.Barrier}, intent.ErrMalformed},
		{"unknown type", intent.Event{JobID: "b", EventID: intent.NewEventID("b", 1, ownerA, 1), Attempt: 1, Step: 1, Type: "LATER"}, intent.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := memstore.New(1)
			fill(t, st, started("a", 1, ownerA), completed("a", 1, 2, ownerA))
			sink := newTable(t)
			p := projection.New(st, sink)
			_, err := p.Import(t.Context())
			require.NoError(t, err)
			puts := sink.puts
			fill(t, st, started("c", 1, ownerA), c.event, started("d", 1, ownerA))
			for range 2 { // the projector that knows the beginning, and a fresh one
				for range 2 {
					var broken *intent.HistoryError
					_, err = p.Import(t.Context())
					require.ErrorIs(t, err, c.want)
					require.ErrorAs(t, err, &broken)
					require.EqualValues(t, 3, broken.Offset)
				}
				p = projection.New(st, sink)
			}
			require.Equal(t, puts, sink.puts)
			require.Len(t, sink.rows, 2)
		})
	}
}

func TestAJobInTheWrongBucketStopsTheImport(t *testing.T) {
	st := memstore.New(2)
	e := started("a", 1, ownerA)
	_, err := st.Append(t.Context(), 1-store.BucketFor(e.JobID, 2), []intent.Event{e})
	require.NoError(t, err)
	sink := newTable(t)
	_, err = projection.New(st, sink).Import(t.Context())
	require.ErrorIs(t, err, intent.ErrMalformed)
	require.Zero(t, sink.puts)
}

// many is enough for several puts in each bucket.
const many = 34_000

func large(t *testing.T, buckets int) store.Store {
	t.Helper()
	st := memstore.New(buckets)
	byBucket := make([][]intent.Event, buckets)
	for i := range many {
		e := started(intent.JobID(fmt.Sprint("job-", i)), 1, ownerA)
		b := store.BucketFor(e.JobID, buckets)
		byBucket[b] = append(byBucket[b], e)
		if i%1000 == 0 {
			byBucket[b] = append(byBucket[b], e)
		}
	}
	for b, events := range byBucket {
		_, err := st.Append(t.Context(), b, events)
		require.NoError(t, err)
	}
	return st
}

func TestAnImportGoesOnWhereTheLastOneDied(t *testing.T) {
	st := large(t, 2)
	whole := newTable(t)
	_, err := projection.New(st, whole).Import(t.Context())
	require.NoError(t, err)
	require.Greater(t, whole.puts, 4)
	for _, late := range []bool{false, true} {
		for failAt := 1; failAt <= whole.puts; failAt++ {
			sink := newTable(t)
			sink.failAt, sink.late = failAt, late
			p := projection.New(st, sink)
			died, err := p.Import(t.Context())
			require.ErrorIs(t, err, errDied)
			if late {
				p = projection.New(st, sink) // another process goes on
			}
			rest, err := p.Import(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, many, died.Written+rest.Written)
			require.EqualValues(t, many, rest.Events)
			require.True(t, maps.Equal(whole.rows, sink.rows))
			require.Equal(t, whole.at, sink.at)
		}
	}
}

func TestASinkOfAnotherLogIsRefused(t *testing.T) {
	st, other := memstore.New(1), memstore.New(1)
	fill(t, st, started("a", 1, ownerA), started("b", 1, ownerA))
	fill(t, other, started("a", 1, ownerB), started("b", 1, ownerB))
	sink := newTable(t)
	_, err := projection.New(st, sink).Import(t.Context())
	require.NoError(t, err)
	_, err = projection.New(other, sink).Import(t.Context())
	require.ErrorIs(t, err, projection.ErrOtherLog)
	_, err = projection.New(memstore.New(1), sink).Import(t.Context())
	require.ErrorIs(t, err, projection.ErrOtherLog)
	require.Len(t, sink.rows, 2)
}

func TestTheTableInSQLiteHoldsWhatTheLogHolds(t *testing.T) {
	st := large(t, 2)
	path := filepath.Join(t.TempDir(), "odd ?#%name.db")
	for i := range 2 {
		sink, err := projection.OpenSQLite(path)
		require.NoError(t, err)
		r, err := projection.New(st, sink).Import(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, many*(1-i), r.Written)
		// A crash cannot part rows and position here; another projector can repeat rows.
		next, last, err := sink.Position(t.Context(), 0)
		require.NoError(t, err)
		require.NoError(t, sink.Put(t.Context(), 0, []intent.Event{started("job-0", 1, ownerA)}, next, last))
		require.NoError(t, sink.Close())
	}
	want := map[intent.EventID]intent.Event{}
	for b := range st.Buckets() {
		bound, err := st.Bound(t.Context(), b)
		require.NoError(t, err)
		require.NoError(t, st.Read(t.Context(), b, 0, bound.End, func(r *store.Record) error {
			want[r.Event.EventID] = r.Event
			return nil
		}))
	}
	require.True(t, maps.Equal(want, rowsOf(t, path)))
}

// rowsOf reads the table as anybody would.
func rowsOf(t *testing.T, path string) map[intent.EventID]intent.Event {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro"}).String())
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.Query("SELECT job_id, event_id, attempt, step, event_type, action_id, payload_digest, emitted_at_ms, detail FROM events_by_id")
	require.NoError(t, err)
	defer rows.Close()
	got := map[intent.EventID]intent.Event{}
	for rows.Next() {
		var e intent.Event
		require.NoError(t, rows.Scan(&e.JobID, &e.EventID, &e.Attempt, &e.Step, &e.Type, &e.ActionID, &e.PayloadDigest, &e.EmittedAtMS, &e.Detail))
		got[e.EventID] = e
	}
	require.NoError(t, rows.Err())
	return got
}

func TestTheEmbeddedLogIsNoProjection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "intents.db")
	st, err := sqlitestore.Open(path, nil)
	require.NoError(t, err)
	require.NoError(t, st.Close())
	_, err = projection.OpenSQLite(path)
	require.ErrorIs(t, err, projection.ErrForeign)
}
