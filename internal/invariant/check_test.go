package invariant_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/invariant"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store/memstore"
)

const job, action = intent.JobID("job"), intent.ActionID("job/1")

var body = []byte("{}")

// world is a run of one life that claims, asks, sends and confirms.
func world(t *testing.T) (*invariant.Recorder, *memstore.Store, func(intent.Event) intent.EventID) {
	owner, err := intent.NewOwner("w")
	require.NoError(t, err)
	honest := memstore.New(1)
	rec := invariant.NewRecorder()
	st := rec.Store("w", honest)
	steps := map[int32]int32{}
	add := func(ev intent.Event) intent.EventID {
		if ev.Attempt == 0 {
			ev.Attempt = 1
		}
		steps[ev.Attempt]++
		ev.JobID, ev.Step = job, steps[ev.Attempt]
		ev.EventID = intent.NewEventID(job, ev.Attempt, owner.ID, ev.Step)
		if ev.Type != intent.Started && ev.Type != intent.Completed {
			ev.ActionID, ev.PayloadDigest = action, intent.DigestOf(body)
		}
		_, err := st.Append(t.Context(), 0, []intent.Event{ev})
		require.NoError(t, err)
		return ev.EventID
	}
	add(intent.Event{Type: intent.Started, Detail: `{"worker":"w"}`})
	return rec, honest, add
}

func send(rec *invariant.Recorder, attempt int32, b []byte) {
	rec.Sent(invariant.Send{Who: "w", Job: job, Action: action, Attempt: attempt, Body: b})
}

var (
	request = intent.Event{Type: intent.ActionRequested, Detail: string(body)}
	hold    = intent.Event{Type: intent.HoldUnknown, Detail: `{"reason":"transport"}`}
	done    = intent.Event{Type: intent.Completed}
)

func confirmed(t *testing.T, r receipt.Receipt) intent.Event {
	text, err := r.Encode()
	require.NoError(t, err)
	return intent.Event{Type: intent.ActionConfirmed, Detail: text}
}

// Every row is one run; want names the only invariants that it breaks.
func TestEachInvariantIsSeenWhenItIsBroken(t *testing.T) {
	fits := receipt.Receipt{Action: action, Digest: intent.DigestOf(body)}
	for name, row := range map[string]struct {
		run  func(rec *invariant.Recorder, add func(intent.Event) intent.EventID)
		want string
	}{
		"a good run": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			send(rec, 1, body)
			rec.Effect(action, body)
			add(confirmed(t, fits))
			add(done)
			from := rec.Now()
			rec.Recovered("w", from, &recovery.Plan{Bounds: []int64{4}}, nil)
		}, ""},
		"two effects": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			rec.Effect(action, body)
			rec.Effect(action, body)
		}, "I1"},
		"no effect": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			add(confirmed(t, fits))
			add(done)
		}, "I1"},
		"other bytes": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			send(rec, 1, []byte("[]"))
		}, "I2"},
		"sent on hold": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			add(hold)
			send(rec, 1, body)
		}, "I3"},
		"short prefix": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			rec.Recovered("w", rec.Now(), &recovery.Plan{Bounds: []int64{1}}, nil)
		}, "I4"},
		"nothing read": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			rec.Recovered("another", rec.Now(), &recovery.Plan{Bounds: []int64{2}}, nil)
		}, "I4"},
		"another's receipt": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			add(confirmed(t, receipt.Receipt{Action: "job/2", Digest: fits.Digest}))
		}, "I5"},
		"retry of what is confirmed": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			add(confirmed(t, fits))
			rec.Recovered("w", rec.Now(), &recovery.Plan{Bounds: []int64{3}, Decisions: []recovery.Decision{
				{Job: job, Action: action, Kind: recovery.Retry},
			}}, nil)
		}, "I7"},
		"sent in an attempt that was overtaken": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			add(intent.Event{Type: intent.Started, Attempt: 2, Detail: `{"worker":"w"}`})
			send(rec, 1, body)
		}, "I8"},
		"reconciled and sent": {func(rec *invariant.Recorder, add func(intent.Event) intent.EventID) {
			add(request)
			from := rec.Now()
			send(rec, 1, body)
			rec.Recovered("w", from, &recovery.Plan{Bounds: []int64{2}, Decisions: []recovery.Decision{
				{Job: job, Action: action, Kind: recovery.Reconcile},
			}}, nil)
		}, "I9"},
	} {
		t.Run(name, func(t *testing.T) {
			rec, honest, add := world(t)
			row.run(rec, add)
			trace, err := rec.Trace(t.Context(), honest)
			require.NoError(t, err)
			if row.want == "" {
				require.NoError(t, invariant.Check(trace))
				return
			}
			require.ErrorContains(t, invariant.Check(trace), row.want+":")
		})
	}
}

func TestASenderThatHasNotReadBelowItsIntentIsSeen(t *testing.T) {
	rec, honest, add := world(t)
	add(request)
	rec.Sent(invariant.Send{Who: "another", Job: job, Action: action, Attempt: 1, Body: body})
	trace, err := rec.Trace(t.Context(), honest)
	require.NoError(t, err)
	require.ErrorContains(t, invariant.SendRule(trace), "I8:")
}

func TestQuietAndEnded(t *testing.T) {
	rec, honest, add := world(t)
	add(request)
	before, err := rec.Trace(t.Context(), honest)
	require.NoError(t, err)
	require.ErrorContains(t, invariant.Ended(before), "I10:")

	add(intent.Event{Type: intent.Started, Attempt: 2, Detail: `{"worker":"w"}`})
	claimed, err := rec.Trace(t.Context(), honest)
	require.NoError(t, err)
	require.NoError(t, invariant.Quiet(before, claimed), "a claim is no outcome")

	h := hold
	h.Attempt = 2
	add(h)
	held, err := rec.Trace(t.Context(), honest)
	require.NoError(t, err)
	require.ErrorContains(t, invariant.Quiet(before, held), "I6:")
	require.NoError(t, invariant.Ended(held))
}
