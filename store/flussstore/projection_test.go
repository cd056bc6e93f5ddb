package flussstore_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
	"github.com/intentlog/intentlog/store/projection"
)

var _ projection.Sink = (*flussstore.Projection)(nil)

// openProjection opens a log and its projection in one database of the shared cluster.
func openProjection(t *testing.T, database string) (*flussstore.Store, *flussstore.Projection) {
	t.Helper()
	boot := flusstest.SharedCluster(t).Bootstrap()
	o := &flussstore.Options{Database: database, Create: true}
	st, err := flussstore.Open(t.Context(), boot, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	p, err := flussstore.OpenProjection(t.Context(), boot, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return st, p
}

const claimant intent.OwnerID = "6f1c2a34-8a5e-4b0f-9a51-0d6f2f6a7e01"

// request returns the first two events of a job.
func requested(job intent.JobID, payload string) []intent.Event {
	action := intent.ActionID(job + "/1")
	return []intent.Event{
		{JobID: job, EventID: intent.NewEventID(job, 1, claimant, 1), Attempt: 1, Step: 1, Type: intent.Started, EmittedAtMS: 1, Detail: `{"worker":"w"}`},
		{
			JobID: job, EventID: intent.NewEventID(job, 1, claimant, 2), Attempt: 1, Step: 2, Type: intent.ActionRequested,
			ActionID: action, PayloadDigest: intent.DigestOf([]byte(payload)), EmittedAtMS: 2, Detail: payload,
		},
	}
}

func TestAProjectionInFlussHoldsTheEventsOfTheLog(t *testing.T) {
	st, sink := openProjection(t, "projected")
	events := requested("job", "ä→\U0001F600 'quoted'")
	for range 2 { // two writers append the same
		_, err := st.Append(t.Context(), 0, events)
		require.NoError(t, err)
	}
	r, err := projection.New(st, sink).Import(t.Context())
	require.NoError(t, err)
	require.Equal(t, projection.Report{Ends: []int64{5}, Events: 2, Duplicates: 2, Barriers: 1, Written: 2}, r)

	more := requested("other", "x")
	_, err = st.Append(t.Context(), 0, more)
	require.NoError(t, err)
	r, err = projection.New(st, sink).Import(t.Context())
	require.NoError(t, err)
	require.Equal(t, projection.Report{Ends: []int64{8}, Events: 4, Duplicates: 2, Barriers: 2, Written: 2}, r)
	for _, want := range append(events, more...) {
		got, err := sink.Lookup(t.Context(), want.EventID)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = sink.Lookup(t.Context(), "job/1."+intent.EventID(claimant)+"/3")
	require.ErrorIs(t, err, store.ErrNotFound)

	// As if an import had died before its position was written, or another one had not seen it.
	require.NoError(t, sink.Put(t.Context(), 0, events, 0, ""))
	r, err = projection.New(st, sink).Import(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, r.Written)
	got, err := sink.Lookup(t.Context(), events[1].EventID)
	require.NoError(t, err)
	require.Equal(t, events[1], got)

	// The first row stays, whatever is written behind the projector's back.
	forged := events[1]
	forged.Detail = "another"
	require.NoError(t, sink.Put(t.Context(), 0, []intent.Event{forged}, 0, ""))
	got, err = sink.Lookup(t.Context(), forged.EventID)
	require.NoError(t, err)
	require.Equal(t, events[1], got)
}

func TestAProjectionRefusesTheLogTableAndWhatIsNotThere(t *testing.T) {
	boot := flusstest.SharedCluster(t).Bootstrap()
	_, err := flussstore.OpenProjection(t.Context(), boot, &flussstore.Options{Database: "nowhere"})
	require.ErrorIs(t, err, store.ErrNotFound)
	st, err := flussstore.Open(t.Context(), boot, &flussstore.Options{Database: "misnamed", Table: flussstore.ProjectionTable, Create: true})
	require.NoError(t, err)
	require.NoError(t, st.Close())
	_, err = flussstore.OpenProjection(t.Context(), boot, &flussstore.Options{Database: "misnamed"})
	require.ErrorIs(t, err, flussstore.ErrUnfit)
}

func BenchmarkProjection(b *testing.B) {
	boot := flusstest.SharedCluster(b).Bootstrap()
	o := &flussstore.Options{Database: "projectionbench", Create: true}
	st, err := flussstore.Open(b.Context(), boot, o)
	require.NoError(b, err)
	defer st.Close()
	const jobs, perJob = 100_000, 2
	var batch []intent.Event
	for i := range jobs {
		batch = append(batch, requested(intent.JobID(jobName(i)), `{"amount":1299,"currency":"EUR"}`)...)
		if len(batch) >= 2000 {
			_, err := st.Append(b.Context(), 0, batch)
			require.NoError(b, err)
			batch = batch[:0]
		}
	}
	run := 0
	for b.Loop() {
		b.StopTimer()
		run++
		sink, err := flussstore.OpenProjection(b.Context(), boot, &flussstore.Options{Database: "projectionbench" + jobName(run), Create: true})
		require.NoError(b, err)
		b.StartTimer()
		r, err := projection.New(st, sink).Import(b.Context())
		require.NoError(b, err)
		require.EqualValues(b, jobs*perJob, r.Written)
		require.NoError(b, sink.Close())
	}
	b.ReportMetric(float64(jobs*perJob*b.N)/b.Elapsed().Seconds(), "rows/s")
}

func jobName(i int) string { return "job_" + strconv.Itoa(i) }
