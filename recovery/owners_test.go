package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

func TestOwners(t *testing.T) {
	ctx := context.Background()
	for name, run := range map[string]func(t *testing.T, w *world){
		"row_34_two_recoverers_at_once": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			outs := make([][]recovery.Outcome, 2)
			var wg sync.WaitGroup
			for i := range outs {
				l := w.life(fmt.Sprintf("w-%d", i+2))
				wg.Go(func() {
					plan, err := l.decide(ctx)
					assert.NoError(t, err)
					outs[i], _ = plan.Apply(ctx) // the one that is overtaken is fenced
				})
			}
			wg.Wait()
			require.Equal(t, 1, w.svc.effects[action])
			require.Contains(t, w.types(), intent.Completed)
			w.life("w-4").quiet()
		},
		"row_35_both_read_before_either_claims": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			second, third := w.life("w-2"), w.life("w-3")
			// The second one's claim lands just before the third one's.
			var plan *recovery.Plan
			third.st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
				if plan == nil {
					var err error
					plan, err = second.decide(ctx)
					assert.NoError(t, err)
				}
				return do()
			}
			lost, err := third.decide(ctx)
			require.NoError(t, err)
			require.Empty(t, lost.Decisions)
			require.Equal(t, []intent.JobID{job}, lost.Lost)
			out, err := plan.Apply(ctx)
			require.NoError(t, err)
			require.Equal(t, recovery.Confirmed, out[0].Status)
			require.Equal(t, 1, w.sends())
		},
		"row_36_zombie_between_intent_and_send": func(t *testing.T, w *world) {
			zombie, other := w.life("w-1"), w.life("w-2")
			require.NoError(t, zombie.ask())
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				if r.Attempt == 1 { // it sleeps here; meanwhile everything is done
					other.retried()
				}
				return receipt.Answer{Result: receipt.Accepted, Receipt: w.svc.commit(r)}, nil
			}
			out, err := zombie.exec.Perform(ctx, job, 1)
			require.NoError(t, err, "its confirmation changes nothing and hurts nobody")
			require.Equal(t, recovery.Confirmed, out.Status)
			require.Equal(t, 1, w.svc.effects[action])
			w.life("w-3").quiet()
		},
		"row_36_zombie_whose_confirmation_is_honoured": func(t *testing.T, w *world) {
			zombie, other := w.life("w-1"), w.life("w-2")
			require.NoError(t, zombie.ask())
			var plan *recovery.Plan
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				if r.Attempt == 1 {
					var err error
					plan, err = other.decide(ctx)
					assert.NoError(t, err)
					assert.Equal(t, recovery.Retry, plan.Decisions[0].Kind)
				}
				return receipt.Answer{Result: receipt.Accepted, Receipt: w.svc.commit(r)}, nil
			}
			_, err := zombie.exec.Perform(ctx, job, 1)
			require.NoError(t, err)
			out, err := plan.Apply(ctx)
			require.NoError(t, err)
			require.Equal(t, recovery.Confirmed, out[0].Status)
			require.Zero(t, out[0].Sends, "the receipt of the earlier owner proves itself")
			require.Equal(t, intent.Completed, w.types()[len(w.types())-1])
			w.life("w-3").quiet()
		},
		"row_36_zombie_whose_confirmation_lands_just_before_a_hold": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{}
			zombie, other := w.life("w-1"), w.life("w-2")
			require.NoError(t, zombie.ask())
			var plan *recovery.Plan
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				var err error
				plan, err = other.decide(ctx)
				assert.NoError(t, err)
				assert.Equal(t, recovery.HoldUnknown, plan.Decisions[0].Kind)
				w.svc.commit(r)
				zombie.die() // it gets no further than this; its answer is written below
				return receipt.Answer{Result: receipt.Accepted, Receipt: w.svc.commit(r)}, nil
			}
			other.st.append = func(_ context.Context, events []intent.Event, do func() (int64, error)) (int64, error) {
				if events[0].Type == intent.Started {
					return do()
				}
				other.st.append = nil
				// The zombie wakes between the decision to hold and the hold.
				late := confirmation(zombie, 3)
				_, err := w.log.Append(ctx, store.BucketFor(job, 2), []intent.Event{late})
				assert.NoError(t, err)
				return do()
			}
			_, _ = zombie.exec.Perform(ctx, job, 1)
			out, err := plan.Apply(ctx)
			require.NoError(t, err)
			require.Equal(t, recovery.Confirmed, out[0].Status, "the hold is void, the job is not broken")
			require.Equal(t, intent.Completed, last(w.types(), 1)[0])
			w.life("w-3").quiet()
		},
		"row_36_zombie_ends_a_job_that_another_has_ended": func(t *testing.T, w *world) {
			zombie, other := w.life("w-1"), w.life("w-2")
			require.NoError(t, zombie.ask())
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				if r.Attempt == 1 {
					return receipt.Answer{Result: receipt.Refused}, nil
				}
				return receipt.Answer{Result: receipt.Accepted, Receipt: w.svc.commit(r)}, nil
			}
			zombie.st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
				_, out := other.recover()
				assert.Equal(t, recovery.Confirmed, out.Status)
				return do()
			}
			_, err := zombie.exec.Perform(ctx, job, 1)
			require.ErrorIs(t, err, recovery.ErrFenced, "its rejection is void")
			w.life("w-3").quiet()
		},
		"row_37_zombie_wants_the_next_step": func(t *testing.T, w *world) {
			zombie := w.life("w-1")
			_, err := zombie.exec.Append(ctx, job, 1, zombie.events()[:1])
			require.NoError(t, err)
			_, out := w.life("w-2").recover()
			require.Equal(t, recovery.Resumable, out.Status)
			stored, err := zombie.exec.Append(ctx, job, 1, zombie.events()[1:])
			require.ErrorIs(t, err, recovery.ErrFenced)
			require.True(t, stored, "it is in the log, void")
			_, err = zombie.exec.Perform(ctx, job, 1)
			require.ErrorIs(t, err, recovery.ErrFenced)
			require.Zero(t, w.sends())
		},
		"row_38_a_service_that_breaks_its_contract": func(t *testing.T, w *world) {
			w.svc.blind = true // it was declared key-bound, and is not
			w.rec.NotKeyBound()
			zombie, other := w.life("w-1"), w.life("w-2")
			require.NoError(t, zombie.ask())
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				if r.Attempt == 1 {
					_, out := other.recover()
					assert.Equal(t, recovery.Confirmed, out.Status)
				}
				return receipt.Answer{Result: receipt.Accepted, Receipt: w.svc.commit(r)}, nil
			}
			_, err := zombie.exec.Perform(ctx, job, 1)
			require.NoError(t, err)
			require.Equal(t, 2, w.svc.effects[action], "the limit of what a log can do")
		},
		"row_40_another_writes_during_the_read": func(t *testing.T, w *world) {
			first, l := w.life("w-1"), w.life("w-2")
			require.NoError(t, first.ask())
			wrote := false
			l.st.read = func(from, to int64, fn func(*store.Record) error, do func(int64, int64, func(*store.Record) error) error) error {
				if !wrote {
					wrote = true
					out, err := first.exec.Perform(ctx, job, 1)
					assert.NoError(t, err)
					assert.Equal(t, recovery.Confirmed, out.Status)
				}
				return do(from, to, fn)
			}
			// Its view knew nothing of the job, and its bound is older than the confirmation.
			l.view = recovery.NewView(w.rec.Store("w-2", l.st), nil)
			l.opts.View = l.view
			plan, err := l.decide(ctx)
			require.NoError(t, err)
			require.Empty(t, plan.Decisions)
			require.Equal(t, []intent.JobID{job}, plan.Lost, "finished by the time of the claim")
			require.Equal(t, 1, w.sends())
		},
		"a_living_owner_is_fenced_before_it_sends_again": func(t *testing.T, w *world) {
			l, other := w.life("w-1"), w.life("w-2")
			require.NoError(t, l.ask())
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				if r.Attempt == 1 {
					_, err := other.decide(ctx)
					assert.NoError(t, err)
				}
				return receipt.Answer{}, errors.New("timeout")
			}
			out, err := l.exec.Perform(ctx, job, 1)
			require.ErrorIs(t, err, recovery.ErrFenced)
			require.Equal(t, 1, out.Sends)
		},
		"another_worker_name_is_left_alone": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			l := w.life("other")
			plan, err := l.decide(ctx)
			require.NoError(t, err)
			require.Empty(t, plan.Decisions)
			l.opts.TakeOver = func(worker string) bool { return worker == "w" }
			l.retried()
		},
		"a_dry_run_claims_nothing": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			l := w.life("w-2")
			l.opts.DryRun = true
			before := w.types()
			plan, err := l.decide(ctx)
			require.NoError(t, err)
			require.Equal(t, recovery.Retry, plan.Decisions[0].Kind)
			require.Equal(t, before, w.types())
			_, err = plan.Apply(ctx)
			require.Error(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) { inWorld(t, run) })
	}
}

// confirmation is what a first owner writes at its given step.
func confirmation(l *life, step int32) intent.Event {
	text, err := (&receipt.Receipt{Action: action, Digest: intent.DigestOf(body)}).Encode()
	require.NoError(l.w.t, err)
	return intent.Event{
		JobID: job, EventID: intent.NewEventID(job, 1, l.owner.ID, step), Attempt: 1, Step: step,
		Type: intent.ActionConfirmed, ActionID: action, PayloadDigest: intent.DigestOf(body), Detail: text,
	}
}

func TestCancelledAtEveryStep(t *testing.T) {
	t.Run("row_82_in_each_phase", func(t *testing.T) {
		for step := range 12 {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				require.NoError(t, w.life("w-1").ask())
				l := w.life("w-2")
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				tick := func() {
					if step--; step < 0 {
						cancel()
					}
				}
				l.st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
					tick()
					defer tick()
					return do()
				}
				l.st.bound = func(do func() (store.Bound, error)) (store.Bound, error) {
					tick()
					return do()
				}
				w.svc.lookup = func(context.Context, receipt.Request) (receipt.Finding, error) {
					tick()
					return receipt.NotFound(), nil
				}
				w.svc.send = func(ctx context.Context, r receipt.Request) (receipt.Answer, error) {
					assert.NoError(t, ctx.Err(), "sent after the cancellation")
					tick()
					return receipt.Answer{Result: receipt.Accepted, Receipt: w.svc.commit(r)}, nil
				}
				plan, err := l.decide(ctx)
				if err == nil {
					_, err = plan.Apply(ctx)
				}
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
				}
				l.view.Wait()
				w.svc.lookup, w.svc.send, l.st.append, l.st.bound = nil, nil, nil, nil
				plan, err = l.decide(context.Background()) // the same life, then another
				require.NoError(t, err)
				_, err = plan.Apply(context.Background())
				require.NoError(t, err)
				w.life("w-3").quiet()
				require.Equal(t, 1, w.svc.effects[action])
				w.check()
			})
		}
	})
}
