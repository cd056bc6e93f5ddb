package recovery_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

// readFault is a store's answer to every read.
func readFault(err error) func(*faulty) {
	return func(f *faulty) {
		f.read = func(from, _ int64, _ func(*store.Record) error, _ func(int64, int64, func(*store.Record) error) error) error {
			return &store.ReadError{Offset: from, Err: err}
		}
	}
}

// edit gives a reader's records another form on their way; leave out what edit says
// no to.
func edit(keep func(r *store.Record) bool) func(*faulty) {
	return func(f *faulty) {
		f.read = func(from, to int64, fn func(*store.Record) error, do func(int64, int64, func(*store.Record) error) error) error {
			return do(from, to, func(r *store.Record) error {
				if !keep(r) {
					return nil
				}
				return fn(r)
			})
		}
	}
}

// A log that cannot be read completely is an error, and never a retry.
func TestAReadThatIsNotWholeDecidesNothing(t *testing.T) {
	denied := errors.New("not authorised")
	for name, row := range map[string]struct {
		fault func(*faulty)
		want  error
	}{
		"row_42_missing_prefix":            {readFault(store.ErrPrefixMissing), store.ErrPrefixMissing},
		"row_43_no_progress":               {readFault(store.ErrNoProgress), store.ErrNoProgress},
		"row_44_prefix_in_remote_storage":  {readFault(store.ErrPrefixRemote), store.ErrPrefixRemote},
		"row_49_damaged_record":            {readFault(store.ErrCorrupt), store.ErrCorrupt},
		"row_61_another_table":             {readFault(store.ErrTableChanged), store.ErrTableChanged},
		"row_80_right_revoked":             {readFault(denied), denied},
		"row_45_gap":                       {edit(func(r *store.Record) bool { return r.Offset != 0 }), store.ErrGap},
		"row_48_short_read":                {edit(func(r *store.Record) bool { return r.Offset < 1 }), store.ErrGap},
		"row_48_empty_read":                {edit(func(*store.Record) bool { return false }), store.ErrGap},
		"row_46_a_record_beyond_the_bound": {edit(func(r *store.Record) bool { r.Offset += 2; return true }), store.ErrGap},
		"records_twice":                    {edit(func(r *store.Record) bool { r.Offset = 0; return true }), store.ErrGap},
		"row_58_end_below_what_was_seen": {func(f *faulty) {
			f.bound = func(func() (store.Bound, error)) (store.Bound, error) { return store.Bound{}, nil }
		}, store.ErrLogRegressed},
		"row_59_bound_cannot_be_learnt": {func(f *faulty) {
			f.bound = func(func() (store.Bound, error)) (store.Bound, error) { return store.Bound{}, store.ErrNoProgress }
		}, store.ErrNoProgress},
		"row_40_append_at_an_offset_we_read": {func(f *faulty) {
			f.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
				_, err := do()
				return 0, err
			}
		}, store.ErrLogRegressed},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				require.NoError(t, w.life("w-1").ask())
				l := w.life("w-2") // has seen the log as it is
				if l.st.read == nil {
					row.fault(l.st)
				}
				if l.st.read != nil { // a reader that begins
					l.view = recovery.NewView(w.rec.Store("w-2", l.st), nil)
					l.opts.View = l.view
				}
				plan, err := l.decide(context.Background())
				require.ErrorIs(t, err, row.want)
				require.Nil(t, plan)
				require.Zero(t, w.sends())
				require.Zero(t, w.svc.asked)
			})
		})
	}
}

func TestBookmark(t *testing.T) {
	t.Run("row_58_84_log_replaced_by_an_older_copy", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			l := w.life("w-1")
			require.NoError(t, l.ask())
			l = w.life("w-2")
			l.opts.Bookmark = []int64{9, 9}
			_, err := l.decide(context.Background())
			require.ErrorIs(t, err, store.ErrLogRegressed)
			require.Zero(t, w.sends())
			l.opts.Bookmark = l.view.Positions()
			l.retried()
		})
	})
	t.Run("row_47_the_log_ends_in_a_barrier", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			_, err := w.log.Append(context.Background(), 1, []intent.Event{intent.NewBarrier("b", 1)})
			require.NoError(t, err)
			w.life("w-2").retried()
		})
	})
}

// Every row changes the history of a job of an earlier life: more events behind
// claim and intent, or other ones in their place.
func TestLogContent(t *testing.T) {
	ctx := context.Background()
	owner, err := intent.NewOwner("w")
	require.NoError(t, err)
	at := func(attempt, step int32, typ intent.Type, detail string) intent.Event {
		ev := intent.Event{
			JobID: job, EventID: intent.NewEventID(job, attempt, owner.ID, step), Attempt: attempt, Step: step, Type: typ, Detail: detail,
		}
		if typ != intent.Started && typ != intent.Completed {
			ev.ActionID, ev.PayloadDigest = action, intent.DigestOf(body)
		}
		return ev
	}
	claim := at(1, 1, intent.Started, `{"worker":"w"}`)
	asked := at(1, 2, intent.ActionRequested, string(body))
	with := func(ev intent.Event, change func(*intent.Event)) intent.Event {
		change(&ev)
		return ev
	}
	for name, row := range map[string]struct {
		events []intent.Event
		want   error // nil: the duplicate is one event
	}{
		"row_51_identical_repetition": {[]intent.Event{claim, asked, asked, claim}, nil},
		"row_52_same_event_id_other_bytes": {
			[]intent.Event{claim, asked, with(asked, func(e *intent.Event) { e.EmittedAtMS = 9 })}, intent.ErrEventConflict,
		},
		"row_53_action_with_two_payloads": {
			[]intent.Event{claim, asked, with(at(1, 3, intent.ActionRequested, "{}"), func(e *intent.Event) { e.PayloadDigest = intent.DigestOf([]byte("{}")) })}, intent.ErrActionConflict,
		},
		"row_54_step_left_out":     {[]intent.Event{claim, with(asked, func(e *intent.Event) { *e = at(1, 3, intent.ActionRequested, string(body)) })}, intent.ErrOutOfOrder},
		"row_54_no_claim":          {[]intent.Event{asked}, intent.ErrOutOfOrder},
		"row_55_orphan":            {[]intent.Event{claim, at(1, 2, intent.ActionConfirmed, "{}")}, intent.ErrOrphan},
		"row_56_unknown_type":      {[]intent.Event{claim, asked, at(1, 3, "PAUSED", "")}, intent.ErrUnsupported},
		"row_56_future_version":    {[]intent.Event{claim, with(asked, func(e *intent.Event) { e.Detail = "intentlog/2 POST a /b\n\n" + string(body) })}, intent.ErrUnsupported},
		"row_57_digest_mismatch":   {[]intent.Event{claim, with(asked, func(e *intent.Event) { e.Detail = "other" })}, intent.ErrDigestMismatch},
		"row_65_confirmed_by_none": {[]intent.Event{claim, asked, at(1, 3, intent.ActionConfirmed, `{"action_id":"another"}`)}, intent.ErrDigestMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // not inWorld: what is forged breaks I5 by itself
				w := newWorld(t)
				b := store.BucketFor(job, 2)
				_, err := w.log.Append(ctx, b, row.events)
				require.NoError(t, err)
				w.svc.lookup = func(_ context.Context, r receipt.Request) (receipt.Finding, error) { return receipt.NotFound(), nil }
				l := w.life("w-2")
				plan, err := l.decide(ctx)
				if row.want == nil {
					require.NoError(t, err)
					require.Equal(t, recovery.Retry, plan.Decisions[0].Kind)
					return
				}
				require.ErrorIs(t, err, row.want)
				require.ErrorIs(t, err, recovery.ErrBroken)
				require.Nil(t, plan)

				// One broken job does not stop the others if it is set aside.
				l.opts.Quarantine = true
				other := intent.JobID("job-of-the-same-worker")
				fine := claim
				fine.JobID, fine.EventID = other, intent.NewEventID(other, 1, owner.ID, 1)
				_, err = w.log.Append(ctx, store.BucketFor(other, 2), []intent.Event{fine})
				require.NoError(t, err)
				plan, err = l.decide(ctx)
				require.NoError(t, err)
				require.Len(t, plan.Decisions, 2)
				require.Equal(t, recovery.HoldUnknown, plan.Decisions[0].Kind)
				require.Equal(t, receipt.ReasonHistory, plan.Decisions[0].Reason)
				require.Equal(t, recovery.Resume, plan.Decisions[1].Kind)
				before := len(w.types())
				_, err = plan.Apply(ctx)
				require.NoError(t, err)
				require.Len(t, w.types(), before, "nothing is done about a broken job")
				require.Zero(t, w.sends())
			})
		})
	}
}

// A finished job is looked at again when events about it come later, also if the
// read that looks fails the first time.
func TestConflictBehindTheEndOfAJobIsFound(t *testing.T) {
	ctx := context.Background()
	inWorld(t, func(t *testing.T, w *world) {
		l := w.life("w-1")
		require.NoError(t, l.ask())
		_, err := l.exec.Perform(ctx, job, 1)
		require.NoError(t, err)
		b := store.BucketFor(job, 2)
		forged := w.trace().Log[b][1].Event
		forged.EmittedAtMS++
		_, err = w.log.Append(ctx, b, []intent.Event{forged})
		require.NoError(t, err)

		reads := 0
		l.st.read = func(from, to int64, fn func(*store.Record) error, do func(int64, int64, func(*store.Record) error) error) error {
			if reads++; reads == 2 { // the first reads on, the second reads again
				return &store.ReadError{Err: store.ErrNoProgress}
			}
			return do(from, to, fn)
		}
		_, err = l.decide(ctx)
		require.ErrorIs(t, err, store.ErrNoProgress)
		_, err = l.decide(ctx)
		require.ErrorIs(t, err, intent.ErrEventConflict)
	})
}

func TestReceipts(t *testing.T) {
	ctx := context.Background()
	fits := receipt.Receipt{Action: action, Digest: intent.DigestOf(body)}
	other := func(change func(*receipt.Receipt)) *receipt.Receipt {
		r := fits
		change(&r)
		return &r
	}
	for name, r := range map[string]*receipt.Receipt{
		"row_65_none":                nil,
		"row_65_for_another_action":  other(func(r *receipt.Receipt) { r.Action = "job/2" }),
		"row_65_of_another_payload":  other(func(r *receipt.Receipt) { r.Digest = intent.DigestOf(nil) }),
		"row_65_without_a_digest":    other(func(r *receipt.Receipt) { r.Digest = "" }),
		"row_65_larger_than_allowed": other(func(r *receipt.Receipt) { r.Body = make([]byte, receipt.MaxReceipt+1) }),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				require.NoError(t, w.life("w-1").ask())
				w.svc.lookup = func(context.Context, receipt.Request) (receipt.Finding, error) { return receipt.Found(r), nil }
				l := w.life("w-2")
				l.held(receipt.ReasonReceipt)
				l.quiet()
				require.NotContains(t, w.types(), intent.ActionConfirmed)
			})
		})
	}
	t.Run("row_66_receipt_vanished_after_the_confirmation", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			require.Equal(t, recovery.Confirmed, w.live(t).Status)
			l := w.life("w-2")
			audit := func() []recovery.Audited {
				before := w.types()
				odd, n, err := recovery.Audit(ctx, l.st, l.services, nil)
				require.NoError(t, err)
				require.Equal(t, 1, n)
				require.Equal(t, before, w.types(), "an audit appends nothing")
				return odd
			}
			require.Empty(t, audit())
			w.svc.effects[action] = 0 // the service was rolled back
			require.Equal(t, []recovery.Audited{{Job: job, Action: action, Verdict: recovery.ReceiptLost}}, audit())
			w.svc.lookup = func(context.Context, receipt.Request) (receipt.Finding, error) { return receipt.Found(nil), nil }
			require.Equal(t, receipt.ReasonReceipt, audit()[0].Reason)
			l.quiet()
			require.Equal(t, 1, w.sends())

			readFault(store.ErrPrefixMissing)(l.st)
			_, _, err := recovery.Audit(ctx, l.st, l.services, nil)
			require.ErrorIs(t, err, store.ErrPrefixMissing)
			edit(func(r *store.Record) bool { return r.Offset < 2 })(l.st)
			_, _, err = recovery.Audit(ctx, l.st, l.services, nil)
			require.ErrorIs(t, err, store.ErrGap)
		})
	})
}
