package intent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

func TestHistoryAccepts(t *testing.T) {
	for _, c := range []struct {
		name, why string
		moves     []move
		want      string
	}{
		{"nothing", "the zero history is that of a fresh job", nil, "0"},
		{
			"one_action", "the plain life of a job",
			[]move{A1.claim(), A1.request("pay", "x"), A1.confirm("pay", "x"), A1.done()},
			"1A pay(x)=confirmed+receipt done",
		},
		{
			"several_actions", "one after the other, each settled before the next",
			[]move{
				A1.claim(), A1.request("pay", "x"), A1.confirm("pay", "x"), A1.request("mail", "y"), A1.reject("mail", "y"),
				A1.request("log", "z"),
			},
			"1A pay(x)=confirmed+receipt mail(y)=rejected log(z)=requested",
		},
		{"nothing_asked", "a job may need no action", []move{A1.claim(), A1.done()}, "1A done"},
		{
			"row_2_window_A", "a computation that never ended is begun again by the next attempt",
			[]move{A1.claim(), A1.compute("sum"), A2.claim(), A2.compute("sum"), A2.computed("sum", "42"), A2.request("pay", "x")},
			`2A sum:"42" pay(x)=requested`,
		},
		{
			"result_reused", "a later attempt finds the result of an earlier one",
			[]move{A1.claim(), A1.compute("sum"), A1.computed("sum", "\xff\x00"), B2.claim(), B2.request("pay", "x")},
			`2B sum:"\xff\x00" pay(x)=requested`,
		},
		{
			"two_computations", "each name has its own result",
			[]move{A1.claim(), A1.compute("a"), A1.computed("a", "1"), A1.compute("b"), A1.computed("b", "")},
			`1A a:"1" b:""`,
		},
		{
			"row_8_reconciled", "a found receipt is written as a pair",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), B2.reconciled("pay", "x"), B2.confirm("pay", "x"), B2.done()},
			"2B pay(x)=confirmed+receipt+reconciled done",
		},
		{
			"row_11_crash_in_recovery", "a claim alone changes nothing",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), A3.claim()},
			"3A pay(x)=requested",
		},
		{
			"row_51_duplicate", "an identical repetition is no event, wherever it lands",
			[]move{
				A1.claim(), again(0), A1.request("pay", "x"), again(1), again(0), A1.confirm("pay", "x"), again(1),
				A1.done(), again(5), again(8),
			},
			"1A pay(x)=confirmed+receipt done dup=6",
		},
		{
			"row_51_duplicate_of_void", "also in an attempt that lost",
			[]move{A1.claim(), B1.claim(), B1.request("pay", "y"), again(2), again(1)},
			"1A void=2 dup=2",
		},
		{
			"row_34_first_claim_wins", "in log order",
			[]move{B1.claim(), A1.claim(), C1.claim(), B1.request("pay", "x")},
			"1B pay(x)=requested void=2",
		},
		{
			"lost_attempt_is_void", "another payload in it is no conflict, its end is no end",
			[]move{A1.claim(), B1.claim(), B1.request("pay", "y"), B1.done(), A1.request("pay", "x")},
			"1A pay(x)=requested void=3",
		},
		{"claim_skips", "a claim counts only as the current attempt + 1", []move{A1.claim(), B3.claim(), C2.claim()}, "2C void=1"},
		{"claim_too_early", "the first attempt is 1", []move{B2.claim(), A1.claim(), B2.request("pay", "y")}, "1A void=2"},
		{"claim_too_late", "an older attempt never comes back", []move{A1.claim(), B2.claim(), C1.claim(), C2.claim()}, "2B void=2"},
		{
			"row_37_zombie_request", "an intent of a stale attempt is void",
			[]move{A1.claim(), B2.claim(), A1.request("pay", "y"), B2.request("pay", "x")},
			"2B pay(x)=requested void=1",
		},
		{
			"row_36_zombie_receipt", "a valid receipt proves itself, whoever wrote it",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), A1.confirm("pay", "x")},
			"2B pay(x)=confirmed+receipt",
		},
		{
			"receipt_from_lost_claim", "even one that never owned the job",
			[]move{A1.claim(), B1.claim(), A1.request("pay", "x"), B1.reconciled("pay", "x")},
			"1A pay(x)=confirmed+receipt+reconciled void=1",
		},
		{
			"receipt_ends_hold", "new evidence from a stale attempt",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), B2.hold("pay", "x"), A1.confirm("pay", "x")},
			"2B pay(x)=confirmed+receipt",
		},
		{
			"hold_behind_late_receipt", "the owner could not know the receipt when it wrote the hold",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), A1.confirm("pay", "x"), B2.hold("pay", "x"), B2.done()},
			"2B pay(x)=confirmed+receipt done void=1",
		},
		{
			"hold_behind_late_pair", "RECONCILED and ACTION_CONFIRMED come as a pair",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), A1.reconciled("pay", "x"), A1.confirm("pay", "x"), B2.hold("pay", "x")},
			"2B pay(x)=confirmed+receipt+reconciled void=1",
		},
		{
			"retry_behind_late_receipt", "nor when it ended a hold to send again",
			[]move{
				A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x"), B2.claim(), A1.confirm("pay", "x"),
				B2.resolve("pay", "x", intent.ResolveRetry, 0), B2.confirm("pay", "x"),
			},
			"2B pay(x)=confirmed+receipt void=1",
		},
		{
			"refusal_behind_late_receipt", "a receipt proves itself, a refusal does not",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), A1.confirm("pay", "x"), B2.reject("pay", "x"), B2.done()},
			"2B pay(x)=confirmed+receipt done void=1",
		},
		{
			"void_receipt_other_digest", "it proves another effect",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), A1.confirm("pay", "y")},
			"2B pay(x)=requested void=1",
		},
		{
			"void_receipt_lies", "columns that fit prove nothing",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), detail(A1.confirm("pay", "x"), receipt("pay", "y"))},
			"2B pay(x)=requested void=1",
		},
		{
			"void_receipt_unread", "a receipt that is no JSON proves nothing",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), detail(A1.confirm("pay", "x"), receipt("pay", "x")+"}")},
			"2B pay(x)=requested void=1",
		},
		{
			"void_receipt_orphan", "there is no such action",
			[]move{A1.claim(), B2.claim(), A1.confirm("pay", "x")},
			"2B void=1",
		},
		{
			"void_receipt_of_rejected", "a final refusal stands",
			[]move{A1.claim(), A1.request("pay", "x"), B2.claim(), B2.reject("pay", "x"), A1.confirm("pay", "x")},
			"2B pay(x)=rejected void=1",
		},
		{
			"receipt_in_other_order", "a receipt is JSON, read by its names",
			[]move{
				A1.claim(), A1.request("pay", "x"),
				detail(A1.confirm("pay", "x"), `{"code":201,"payload_digest":"`+string(digest("x"))+`","action_id":"pay"}`),
			},
			"1A pay(x)=confirmed+receipt",
		},
		{
			"void_moves", "a stale owner settles, holds, ends and computes nothing",
			[]move{
				A1.claim(), A1.request("pay", "x"), B2.claim(), A1.reject("pay", "x"), A1.hold("pay", "x"), A1.done(), A1.compute("sum"),
			},
			"2B pay(x)=requested void=4",
		},
		{
			"after_done", "everything is void, a receipt and a claim too",
			[]move{
				A1.claim(), A1.request("pay", "x"), A1.reject("pay", "x"), A1.done(), B2.claim(), B2.request("pay", "x"),
				A1.confirm("pay", "x"), A1.request("mail", "y"), A1.done(),
			},
			"1A pay(x)=rejected done void=5",
		},
		{
			"after_done_by_word", "a late receipt adds nothing to a job that is done",
			[]move{
				A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x"), A1.resolve("pay", "x", intent.ResolveConfirm, 0), B2.claim(),
				B2.done(), A1.reconciled("pay", "x"),
			},
			"2B pay(x)=confirmed+operator done void=1",
		},
		{
			"hold", "nobody can know", []move{A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x")}, "1A pay(x)=held",
		},
		{
			"hold_retry", "the same action is open again, under the same bytes",
			[]move{A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x"), A2.claim(), A2.resolve("pay", "x", intent.ResolveRetry, 0)},
			"2A pay(x)=requested+operator",
		},
		{
			"hold_retry_hold", "each hold has its own name",
			[]move{
				A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x"), A1.resolve("pay", "x", intent.ResolveRetry, 0),
				A1.hold("pay", "x"), A1.resolve("pay", "x", intent.ResolveReject, 1), A1.done(),
			},
			"1A pay(x)=rejected+operator done",
		},
		{
			"hold_confirmed_by_word", "an operator's word settles without a receipt",
			[]move{A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x"), A1.resolve("pay", "x", intent.ResolveConfirm, 0), A1.done()},
			"1A pay(x)=confirmed+operator done",
		},
		{
			"receipt_after_word", "a receipt that comes later is kept",
			[]move{
				A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x"), A1.resolve("pay", "x", intent.ResolveConfirm, 0), A1.confirm("pay", "x"),
			},
			"1A pay(x)=confirmed+receipt+operator",
		},
		{
			"hold_reconciled", "a lookup that is back ends the hold by its receipt",
			[]move{
				A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x"), B2.claim(), B2.reconciled("pay", "x"), B2.confirm("pay", "x"), B2.done(),
			},
			"2B pay(x)=confirmed+receipt+reconciled done",
		},
		{
			"hold_resolved_by_lookup", "new evidence is no operator",
			[]move{A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x"), func(tp *tape) {
				A1.event(intent.HoldResolved, "pay", digest("x"),
					intent.Resolution{Decision: intent.ResolveRetry, By: intent.ByLookup, Hold: tp.holds[0]})(tp)
			}},
			"1A pay(x)=requested",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := play(c.moves...).fold()
			require.NoError(t, err, c.why)
			require.Equal(t, c.want, summary(t, h), c.why)
		})
	}
}

func TestHistoryRefuses(t *testing.T) {
	open := []move{A1.claim(), A1.request("pay", "x")}
	settled := []move{A1.claim(), A1.request("pay", "x"), A1.confirm("pay", "x")}
	held := []move{A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x")}
	claimed := []move{A1.claim()}
	step := func(m move, n int32) move {
		return edit(m, func(ev *intent.Event) {
			ev.Step, ev.EventID = n, intent.NewEventID(ev.JobID, ev.Attempt, ev.Owner(), n)
		})
	}
	column := func(m move, change func(*intent.Event)) move { return edit(m, change) }
	for _, c := range []struct {
		name, why string
		before    []move
		bad       move
		err       error
	}{
		{
			"row_53_two_payloads", "one action ID stands for one payload", settled,
			A1.request("pay", "y"), intent.ErrActionConflict,
		},
		{
			"row_53_while_open", "also before a result", open,
			A1.request("pay", "y"), intent.ErrActionConflict,
		},
		{
			"row_53_other_route", "the route is part of the intent", open,
			detail(A1.request("pay", "x"), "intentlog/1 POST payments /\n\nx"), intent.ErrActionConflict,
		},
		{"row_54_step_gap", "a step is missing", claimed, step(A1.request("pay", "x"), 3), intent.ErrOutOfOrder},
		{"row_54_no_claim", "an attempt begins with STARTED", nil, A1.request("pay", "x"), intent.ErrOutOfOrder},
		{"row_54_no_claim_void", "also one that is void", claimed, B2.request("pay", "x"), intent.ErrOutOfOrder},
		{"row_54_claim_at_step_2", "STARTED is step 1", claimed, A1.claim(), intent.ErrOutOfOrder},
		{"row_54_requested_twice", "an action is asked for once", settled, A1.request("pay", "x"), intent.ErrOutOfOrder},
		{"row_54_two_open", "one action after the other", open, A1.request("mail", "y"), intent.ErrOutOfOrder},
		{"row_54_two_open_held", "a held action is open", held, A1.request("mail", "y"), intent.ErrOutOfOrder},
		{"row_54_completed_open", "the outcome is not known", open, A1.done(), intent.ErrOutOfOrder},
		{"row_54_completed_held", "the outcome is not known", held, A1.done(), intent.ErrOutOfOrder},
		{"row_54_rejected_after_receipt", "the effect exists", settled, A1.reject("pay", "x"), intent.ErrOutOfOrder},
		{"row_54_held_after_receipt", "nothing is unknown", settled, A1.hold("pay", "x"), intent.ErrOutOfOrder},
		{
			"row_54_receipt_after_rejection", "the owner contradicts itself", append(open[:2:2], A1.reject("pay", "x")),
			A1.confirm("pay", "x"), intent.ErrOutOfOrder,
		},
		{"row_54_compute_while_open", "an action comes first", open, A1.compute("sum"), intent.ErrOutOfOrder},
		{"row_54_result_without_start", "it was not begun", claimed, A1.computed("sum", "1"), intent.ErrOutOfOrder},
		{
			"row_54_result_of_another", "another one runs",
			[]move{A1.claim(), A1.compute("sum")},
			A1.computed("product", "1"), intent.ErrOutOfOrder,
		},
		{
			"row_54_result_of_last_attempt", "a new attempt begins its own",
			[]move{A1.claim(), A1.compute("sum"), A2.claim()},
			A2.computed("sum", "1"), intent.ErrOutOfOrder,
		},
		{
			"row_54_second_result", "the first is in use",
			[]move{A1.claim(), A1.compute("sum"), A1.computed("sum", "1"), A1.compute("sum")},
			A1.computed("sum", "2"), intent.ErrOutOfOrder,
		},
		{"row_54_resolved_unheld", "there is no hold", open, A1.resolve("pay", "x", intent.ResolveRetry, 0), intent.ErrOutOfOrder},
		{
			"row_54_resolved_twice", "S22: one decision, once", append(held[:3:3], A1.resolve("pay", "x", intent.ResolveRetry, 0)),
			A1.resolve("pay", "x", intent.ResolveRetry, 0), intent.ErrOutOfOrder,
		},
		{
			"resolution_of_another_hold", "S22: a decision about an earlier hold",
			append(held[:3:3], A1.resolve("pay", "x", intent.ResolveRetry, 0), A1.hold("pay", "x")),
			A1.resolve("pay", "x", intent.ResolveReject, 0), intent.ErrOutOfOrder,
		},
		{"row_55_orphan_confirmation", "nothing was asked", claimed, A1.confirm("pay", "x"), intent.ErrOrphan},
		{"row_55_orphan_reconciled", "nothing was asked", claimed, A1.reconciled("pay", "x"), intent.ErrOrphan},
		{"row_55_orphan_rejection", "nothing was asked", claimed, A1.reject("pay", "x"), intent.ErrOrphan},
		{"row_55_orphan_hold", "nothing was asked", claimed, A1.hold("pay", "x"), intent.ErrOrphan},
		{"row_55_other_action", "another was asked", open, A1.confirm("mail", "x"), intent.ErrOrphan},
		{
			"row_56_type", "a reader from before the type", claimed,
			column(A1.done(), func(ev *intent.Event) { ev.Type = "PAUSED" }), intent.ErrUnsupported,
		},
		{
			"row_56_no_type", "none is none", claimed,
			column(A1.done(), func(ev *intent.Event) { ev.Type = "" }), intent.ErrUnsupported,
		},
		{
			"row_56_void", "never skipped, in a void attempt neither",
			[]move{A1.claim(), B1.claim()},
			column(B1.done(), func(ev *intent.Event) { ev.Type = "completed" }), intent.ErrUnsupported,
		},
		{
			"row_56_document", "a later text form", claimed,
			detail(A1.request("pay", "x"), "intentlog/2 -\n\nx"), intent.ErrUnsupported,
		},
		{
			"row_56_decision", "a later way to resolve", held,
			A1.resolve("pay", "x", "postpone", 0), intent.ErrUnsupported,
		},
		{"row_57_payload", "the saved payload is another", claimed, detail(A1.request("pay", "x"), "y"), intent.ErrDigestMismatch},
		{
			"row_57_result", "the saved result is another",
			[]move{A1.claim(), A1.compute("sum")},
			detail(A1.computed("sum", "1"), `{"name":"sum","result":"2"}`), intent.ErrDigestMismatch,
		},
		{"confirmation_of_other_digest", "another payload had the effect", open, A1.confirm("pay", "y"), intent.ErrDigestMismatch},
		{"hold_of_other_digest", "about another payload", open, A1.hold("pay", "y"), intent.ErrDigestMismatch},
		{"receipt_of_other_action", "I5", open, detail(A1.confirm("pay", "x"), receipt("mail", "x")), intent.ErrDigestMismatch},
		{"receipt_of_other_digest", "I5", open, detail(A1.confirm("pay", "x"), receipt("pay", "y")), intent.ErrDigestMismatch},
		{"receipt_longer_action", "I5", open, detail(A1.confirm("pay", "x"), receipt("pay2", "x")), intent.ErrDigestMismatch},
		{"receipt_empty", "I5", open, detail(A1.confirm("pay", "x"), ""), intent.ErrDigestMismatch},
		{"receipt_cut", "I5", open, detail(A1.confirm("pay", "x"), receipt("pay", "x")[:100]), intent.ErrDigestMismatch},
		{"receipt_and_more", "I5", open, detail(A1.confirm("pay", "x"), receipt("pay", "x")+"{}"), intent.ErrDigestMismatch},
		{"payload_with_credentials", "S1", claimed, detail(A1.request("pay", "x"), "intentlog/1 POST a /\nCookie: y\n\nx"), intent.ErrForbiddenHeader},
		{"payload_in_other_form", "one text per intent", claimed, detail(A1.request("pay", "x"), "intentlog/1 -\n\nx"), intent.ErrMalformed},
		{"payload_raw_nul", "one text per intent", claimed, A1.request("pay", "\x00"), intent.ErrMalformed},
		{"claim_not_json", "detail", nil, detail(A1.claim(), "billing-0"), intent.ErrMalformed},
		{"claim_bad_worker", "S9", nil, detail(A1.claim(), `{"worker":"a\u001b"}`), intent.ErrMalformed},
		{"claim_unknown_field", "may change the meaning", nil, detail(A1.claim(), `{"worker":"a","lease":1}`), intent.ErrMalformed},
		{"claim_two_values", "detail", nil, detail(A1.claim(), `{"worker":"a"}{"worker":"b"}`), intent.ErrMalformed},
		{"hold_null", "no reason", open, detail(A1.hold("pay", "x"), "null"), intent.ErrMalformed},
		{"hold_brace_too_many", "detail", open, detail(A1.hold("pay", "x"), `{"reason":"a"}}`), intent.ErrMalformed},
		{"computation_nameless", "nobody can find it", claimed, A1.compute(""), intent.ErrMalformed},
		{
			"computation_two_results", "which one?",
			[]move{A1.claim(), A1.compute("sum")},
			detail(A1.computed("sum", "1"), `{"name":"sum","result":"1","base64":"MQ=="}`), intent.ErrMalformed,
		},
		{"resolution_by_nobody", "S22", held, func(tp *tape) {
			A1.event(intent.HoldResolved, "pay", digest("x"), intent.Resolution{Decision: "retry", Reason: "r", Hold: tp.holds[0]})(tp)
		}, intent.ErrMalformed},
		{"resolution_without_reason", "S22", held, func(tp *tape) {
			A1.event(intent.HoldResolved, "pay", digest("x"), intent.Resolution{Decision: "retry", By: "alice", Hold: tp.holds[0]})(tp)
		}, intent.ErrMalformed},
		{"barrier", "it belongs to no job", claimed, func(tp *tape) {
			tp.events = append(tp.events, intent.NewBarrier("b-1", 5))
		}, intent.ErrMalformed},
		{"other_job", "a history is of one job", claimed, column(B1.claim(), func(ev *intent.Event) {
			ev.JobID, ev.EventID = "other", intent.NewEventID("other", 1, uuidB, 1)
		}), intent.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			tp := play(c.before...)
			_, err := tp.fold()
			require.NoError(t, err, "before: "+c.why)
			c.bad(tp)
			_, err = tp.fold()
			require.ErrorIs(t, err, c.err, c.why)

			var at *intent.HistoryError
			last := tp.events[len(tp.events)-1]
			require.ErrorAs(t, err, &at)
			require.Equal(t, last.JobID, at.Job)
			require.Equal(t, last.EventID, at.Event)
			require.EqualValues(t, len(tp.events)-1, at.Offset)
		})
	}
}

// An event ID is used again for an event that differs in one column.
func TestHistoryRefusesEventConflict(t *testing.T) {
	for name, change := range map[string]func(*intent.Event){
		"type":    func(ev *intent.Event) { ev.Type = intent.HoldUnknown },
		"action":  func(ev *intent.Event) { ev.ActionID = "mail" },
		"digest":  func(ev *intent.Event) { ev.PayloadDigest = digest("y") },
		"emitted": func(ev *intent.Event) { ev.EmittedAtMS++ },
		"detail":  func(ev *intent.Event) { ev.Detail += " " },
		"payload": func(ev *intent.Event) { ev.Detail, ev.PayloadDigest = "y", digest("y") },
	} {
		for where, before := range map[string][]move{
			"owner":     {A1.claim(), A1.request("pay", "x")},
			"void":      {B1.claim(), A1.claim(), A1.request("pay", "x")},
			"stale":     {A1.claim(), A1.request("pay", "x"), B2.claim()},
			"after_end": {A1.claim(), A1.request("pay", "x"), A1.confirm("pay", "x"), A1.done()},
		} {
			t.Run("row_52_event_conflict/"+name+"/"+where, func(t *testing.T) {
				tp := play(before...)
				for i := range tp.events {
					if tp.events[i].Type == intent.ActionRequested {
						edit(again(i), change)(tp)
						break
					}
				}
				_, err := tp.fold()
				require.ErrorIs(t, err, intent.ErrEventConflict)
			})
		}
	}
}

func TestHistoryTellsPlacesAndTimes(t *testing.T) {
	h, err := play(A1.claim(), A1.request("pay", "x"), A1.hold("pay", "x"), B2.claim(), B2.resolve("pay", "x", intent.ResolveRetry, 0)).fold()
	require.NoError(t, err)
	require.Equal(t, intent.Mark{Offset: 0, CommitMS: 1000}, h.Prior)
	require.Equal(t, intent.Mark{Offset: 3, CommitMS: 1003}, h.Claimed)
	a := h.Current()
	require.Equal(t, intent.Mark{Offset: 1, CommitMS: 1001}, a.Requested)
	require.Equal(t, intent.Mark{Offset: 4, CommitMS: 1004}, a.Resolved)
	require.EqualValues(t, 2, a.ResolvedIn)
	require.Equal(t, "transport", a.Reason.Reason)
	require.True(t, h.Owned(2, uuidB))
	require.False(t, h.Owned(1, uuidA))
	require.False(t, (&intent.History{}).Owned(0, ""))
	require.EqualValues(t, 2, h.Step())
	require.Equal(t, "billing-0", h.Claim.Worker)
	require.Nil(t, h.Action("mail"))
}
