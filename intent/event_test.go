package intent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

func TestEventCheck(t *testing.T) {
	request := func(change func(*intent.Event)) intent.Event {
		ev := play(A1.claim(), A1.request("pay", "x")).events[1]
		change(&ev)
		return ev
	}
	barrier := func(change func(*intent.Event)) intent.Event {
		ev := intent.NewBarrier(string(uuidA), 5)
		change(&ev)
		return ev
	}
	for _, c := range []struct {
		name string
		ev   intent.Event
		err  error
	}{
		{"request", request(func(ev *intent.Event) {}), nil},
		{"emitted_before_1970", request(func(ev *intent.Event) { ev.EmittedAtMS = -1 }), nil},
		{"detail_at_limit", request(func(ev *intent.Event) { ev.Detail = strings.Repeat("x", intent.MaxDetail) }), nil},
		{"barrier", barrier(func(ev *intent.Event) {}), nil},
		{"zero", intent.Event{}, intent.ErrMalformed},
		{"S9_job", request(func(ev *intent.Event) { ev.JobID += "\n" }), intent.ErrBadID},
		{"S9_action", request(func(ev *intent.Event) { ev.ActionID = "a\x1b" }), intent.ErrBadID},
		{"attempt_0", request(func(ev *intent.Event) { ev.Attempt = 0 }), intent.ErrMalformed},
		{"attempt_negative", request(func(ev *intent.Event) { ev.Attempt = -1 }), intent.ErrMalformed},
		{"step_0", request(func(ev *intent.Event) { ev.Step = 0 }), intent.ErrMalformed},
		{"other_step", request(func(ev *intent.Event) { ev.Step = 3 }), intent.ErrMalformed},
		{"type_unknown", request(func(ev *intent.Event) { ev.Type = "REQUESTED" }), intent.ErrUnsupported},
		{"action_missing", request(func(ev *intent.Event) { ev.ActionID = "" }), intent.ErrMalformed},
		{"digest_missing", request(func(ev *intent.Event) { ev.PayloadDigest = "" }), intent.ErrMalformed},
		{"action_too_many", request(func(ev *intent.Event) { ev.Type, ev.PayloadDigest = intent.Completed, "" }), intent.ErrMalformed},
		{"digest_too_many", request(func(ev *intent.Event) { ev.Type, ev.ActionID = intent.Completed, "" }), intent.ErrMalformed},
		{"digest_upper", request(func(ev *intent.Event) { ev.PayloadDigest = "A" + ev.PayloadDigest[1:] }), intent.ErrBadDigest},
		{"S11_detail", request(func(ev *intent.Event) { ev.Detail = strings.Repeat("x", intent.MaxDetail+1) }), intent.ErrMalformed},
		{"detail_not_utf8", request(func(ev *intent.Event) { ev.Detail = "\xff" }), intent.ErrMalformed},
		{"barrier_with_job", barrier(func(ev *intent.Event) { ev.JobID = job }), intent.ErrMalformed},
		{"barrier_with_attempt", barrier(func(ev *intent.Event) { ev.Attempt = 1 }), intent.ErrMalformed},
		{"barrier_with_digest", barrier(func(ev *intent.Event) { ev.PayloadDigest = digest("x") }), intent.ErrMalformed},
		{"barrier_with_detail", barrier(func(ev *intent.Event) { ev.Detail = "x" }), intent.ErrMalformed},
		{"barrier_without_id", barrier(func(ev *intent.Event) { ev.EventID = "barrier/" }), intent.ErrMalformed},
		{"barrier_by_other_name", barrier(func(ev *intent.Event) { ev.EventID = "b" }), intent.ErrMalformed},
		{"S9_barrier", barrier(func(ev *intent.Event) { ev.EventID += "\x1b[2J" }), intent.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.ev.Check()
			if c.err == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.err)
			require.NotContains(t, err.Error(), "\x1b")
		})
	}
	ev := barrier(func(ev *intent.Event) {})
	require.Empty(t, ev.Owner())
}

// The columns and the types are a format: they never change their names.
func TestColumnAndTypeNames(t *testing.T) {
	require.Equal(t, "job_id event_id attempt step event_type action_id payload_digest emitted_at_ms detail",
		strings.Join(intent.Columns[:], " "))
	require.Equal(t, []intent.Type{
		"STARTED", "COMPUTE_STARTED", "COMPUTE_FINISHED", "ACTION_REQUESTED", "ACTION_CONFIRMED", "RECONCILED",
		"ACTION_REJECTED", "HOLD_UNKNOWN", "HOLD_RESOLVED", "COMPLETED", "BARRIER",
	}, []intent.Type{
		intent.Started, intent.ComputeStarted, intent.ComputeFinished, intent.ActionRequested, intent.ActionConfirmed, intent.Reconciled,
		intent.ActionRejected, intent.HoldUnknown, intent.HoldResolved, intent.Completed, intent.Barrier,
	})
}

func TestRecordsAsText(t *testing.T) {
	for want, record := range map[string]any{
		`{"worker":"billing-0"}`:               intent.Claim{Worker: "billing-0"},
		`{"worker":"billing-0","single":true}`: intent.Claim{Worker: "billing-0", Single: true},
		`{"name":"sum","result":"<4 & 2>"}`:    intent.NewComputation("sum", []byte("<4 & 2>")),
		`{"name":"sum","base64":"/wA="}`:       intent.NewComputation("sum", []byte("\xff\x00")),
		`{"name":"sum"}`:                       intent.NewComputation("sum", nil),
		`{"reason":"transport","message":"x"}`: intent.Hold{Reason: "transport", Message: "x"},
		`{"decision":"retry","by":"alice","reason":"r","hold":"h"}`: intent.Resolution{
			Decision: intent.ResolveRetry, By: "alice", Reason: "r", Hold: "h",
		},
	} {
		got, err := intent.Encode(record)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := intent.Encode(make(chan int))
	require.Error(t, err)
}

// The claim that looks as written and one with other spaces say the same.
func TestClaimIsReadInEveryForm(t *testing.T) {
	for text, want := range map[string]intent.Claim{
		`{"worker":"w"}`:                  {Worker: "w"},
		`{"worker":"w","single":true}`:    {Worker: "w", Single: true},
		`{ "single": true,"worker":"w" }`: {Worker: "w", Single: true},
		`{"worker":"\u0077"}`:             {Worker: "w"},
		`{"worker":"w","single":false}`:   {Worker: "w"},
	} {
		h, err := play(detail(A1.claim(), text)).fold()
		require.NoError(t, err)
		require.Equal(t, want, h.Claim, text)
	}
}
