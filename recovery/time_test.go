package recovery_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
)

func TestLostAnswersAndTime(t *testing.T) {
	ctx := context.Background()
	lost := func(context.Context, receipt.Request) (receipt.Answer, error) {
		return receipt.Answer{}, errors.New("timeout")
	}
	for name, run := range map[string]func(t *testing.T, w *world){
		"row_15_effect_before_the_lookup": func(t *testing.T, w *world) {
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				w.svc.commit(r)
				return receipt.Answer{}, errors.New("timeout")
			}
			out := w.live(t)
			require.Equal(t, recovery.Reconciled, out.Status)
			require.Equal(t, 1, out.Sends)
		},
		"row_16_late_effect": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				w.svc.commit(request(1)) // the first request lands after the lookup said absent
				return receipt.Answer{Result: receipt.Accepted, Receipt: w.svc.commit(r)}, nil
			}
			w.life("w-2").retried()
		},
		"row_16_late_effect_without_a_key": func(t *testing.T, w *world) {
			w.svc.contract, w.svc.blind = receipt.Contract{}, true
			require.NoError(t, w.life("w-1").ask())
			w.life("w-2").held(receipt.ReasonSafety)
			w.svc.commit(request(1))
			w.life("w-3").reconciled()
			require.Equal(t, 1, w.svc.effects[action])
		},
		"row_17_late_effect_after_the_retry": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			w.life("w-2").retried()
			w.svc.commit(request(1))
			require.Equal(t, 1, w.svc.effects[action])
			w.life("w-3").quiet()
		},
		"row_18_operator_forces_one_retry": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{}
			require.NoError(t, w.life("w-1").ask())
			l := w.life("w-2")
			l.held(receipt.ReasonSafety)
			resolve := func(r intent.Resolution) error {
				return recovery.Resolve(ctx, nil, l.owner, job, action, r, &l.opts)
			}
			require.Error(t, resolve(intent.Resolution{Decision: intent.ResolveRetry}), "by nobody")
			require.Error(t, resolve(intent.Resolution{Decision: intent.ResolveRetry, By: intent.ByLookup, Reason: "r"}), "by no operator")
			require.ErrorIs(t, resolve(intent.Resolution{Decision: intent.ResolveRetry, By: "ann", Reason: "r", Hold: "another"}), recovery.ErrNotHeld)
			require.NoError(t, resolve(intent.Resolution{Decision: intent.ResolveRetry, By: "ann", Reason: "asked by phone"}))
			require.Equal(t, intent.HoldResolved, last(w.types(), 1)[0])
			require.Zero(t, w.sends())
			require.ErrorIs(t, resolve(intent.Resolution{Decision: intent.ResolveRetry, By: "ann", Reason: "again"}), recovery.ErrNotHeld)

			w.svc.send = lost
			d, out := l.recover()
			require.Equal(t, recovery.Retry, d.Kind)
			require.Equal(t, recovery.Held, out.Status)
			require.Equal(t, 1, w.sends(), "one send for one decision")
			l.quiet()
			w.life("w-3").quiet()
		},
		"row_18_the_decision_is_for_the_next_attempt_only": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{}
			require.NoError(t, w.life("w-1").ask())
			l := w.life("w-2")
			l.held(receipt.ReasonSafety)
			require.NoError(t, recovery.Resolve(ctx, nil, l.owner, job, action, intent.Resolution{Decision: intent.ResolveRetry, By: "ann", Reason: "r"}, &l.opts))
			_, err := w.life("w-3").decide(ctx) // takes the attempt, and dies before it sends
			require.NoError(t, err)
			w.life("w-4").held(receipt.ReasonSafety)
		},
		"row_18_operator_confirms": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{}
			require.NoError(t, w.life("w-1").ask())
			l := w.life("w-2")
			l.held(receipt.ReasonSafety)
			require.NoError(t, recovery.Resolve(ctx, nil, l.owner, job, action, intent.Resolution{Decision: intent.ResolveConfirm, By: "ann", Reason: "seen"}, &l.opts))
			require.Equal(t, []intent.Type{intent.HoldResolved, intent.Completed}, last(w.types(), 2))
			l.quiet()
		},
		"row_19_fence_then_the_late_request": func(t *testing.T, w *world) {
			fenced := int32(0)
			w.svc.contract = receipt.Contract{Safety: receipt.Fenced, Fence: func(_ context.Context, r receipt.Request) error {
				fenced = r.Attempt
				return nil
			}}
			refuse := func(r receipt.Request) (receipt.Answer, error) {
				if r.Attempt < fenced {
					return receipt.Answer{Result: receipt.Lost}, nil
				}
				return receipt.Answer{Result: receipt.Accepted, Receipt: w.svc.commit(r)}, nil
			}
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				_, _ = refuse(request(1)) // the first request arrives behind the fence
				assert.Zero(t, w.svc.effects[action])
				return refuse(r)
			}
			require.NoError(t, w.life("w-1").ask())
			l := w.life("w-2")
			l.opts.DryRun = true
			plan, err := l.decide(ctx)
			require.NoError(t, err)
			require.Equal(t, receipt.ReasonFence, plan.Decisions[0].Reason)
			require.Zero(t, fenced, "a dry run has no effect on a service")
			l.opts.DryRun = false
			l.retried()
			require.Equal(t, int32(2), fenced)
		},
		"row_19_the_late_request_lands_between_the_lookup_and_the_fence": func(t *testing.T, w *world) {
			w.svc.blind = true // a second effect would show
			w.svc.contract = receipt.Contract{Safety: receipt.Fenced, Fence: func(context.Context, receipt.Request) error {
				w.svc.commit(request(1))
				return nil
			}}
			require.NoError(t, w.life("w-1").ask())
			w.life("w-2").reconciled()
			require.Equal(t, 1, w.svc.effects[action])
		},
		"row_19_a_fence_does_not_cover_what_its_own_attempt_sent": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{Safety: receipt.Fenced, Fence: func(context.Context, receipt.Request) error { return nil }}
			w.svc.send = lost
			out := w.live(t)
			require.Equal(t, recovery.Held, out.Status)
			require.Equal(t, receipt.ReasonFence, out.Reason)
			require.Equal(t, 1, out.Sends)
			w.svc.send = nil
			w.life("w-2").retried()
		},
		"row_20_fence_times_out": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{Safety: receipt.Fenced, Fence: func(ctx context.Context, _ receipt.Request) error {
				<-ctx.Done()
				return ctx.Err()
			}}
			require.NoError(t, w.life("w-1").ask())
			l := w.life("w-2")
			l.held(receipt.ReasonFence)
			w.svc.contract.Fence = func(context.Context, receipt.Request) error { panic("fence") }
			l.quiet()
			w.svc.contract.Fence = nil
			l.quiet()
		},
		"row_21_in_flight_and_then_committed": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			began := time.Now()
			w.svc.lookup = func(_ context.Context, r receipt.Request) (receipt.Finding, error) {
				if time.Since(began) < 2*time.Second {
					return receipt.Pending(), nil
				}
				return receipt.Found(w.svc.commit(r)), nil
			}
			w.life("w-2").reconciled()
		},
		"row_21_in_flight_for_too_long": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			w.svc.lookup = func(context.Context, receipt.Request) (receipt.Finding, error) { return receipt.Pending(), nil }
			l := w.life("w-2")
			began := time.Now()
			l.held(receipt.ReasonInFlight)
			require.InDelta(t, 5, time.Since(began).Seconds(), 2.1, "waited, and not for ever")
			l.quiet()
		},
		"row_22_23_24_25_nobody_can_say": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			release := make(chan struct{})
			defer close(release)
			for _, row := range []struct {
				reason receipt.Reason
				lookup func(ctx context.Context, r receipt.Request) (receipt.Finding, error)
			}{
				{receipt.ReasonTransport, func(context.Context, receipt.Request) (receipt.Finding, error) {
					return receipt.NotFound(), errors.New("connection refused") // the error counts
				}},
				{receipt.ReasonTransport, func(ctx context.Context, _ receipt.Request) (receipt.Finding, error) {
					<-ctx.Done()
					return receipt.NotFound(), ctx.Err()
				}},
				{receipt.ReasonTransport, func(context.Context, receipt.Request) (receipt.Finding, error) {
					<-release // hangs, and does not heed its context
					return receipt.NotFound(), nil
				}},
				{receipt.ReasonAuth, func(context.Context, receipt.Request) (receipt.Finding, error) {
					return receipt.Doubt(receipt.ReasonAuth, errors.New("401")), nil
				}},
				{receipt.ReasonContract, func(context.Context, receipt.Request) (receipt.Finding, error) {
					return receipt.Finding{Kind: 77}, nil
				}},
				{receipt.ReasonPanic, func(context.Context, receipt.Request) (receipt.Finding, error) { panic("lookup") }},
				{receipt.ReasonUnreported, func(context.Context, receipt.Request) (receipt.Finding, error) { return receipt.Finding{}, nil }},
			} {
				w.svc.mu.Lock() // a hung lookup may still be about
				w.svc.lookup = row.lookup
				w.svc.mu.Unlock()
				l := w.life("w-2")
				l.held(row.reason)
				l.quiet()
			}
			w.svc.mu.Lock()
			w.svc.lookup = nil
			w.svc.mu.Unlock()
			w.life("w-3").retried()
		},
		"row_27_the_retention_is_over": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			time.Sleep(22 * time.Hour) // of 24, less the margin
			l := w.life("w-2")
			l.held(receipt.ReasonRetention)
			l.quiet()
		},
		"row_27_it_is_over_when_the_plan_is_carried_out": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			plan, err := w.life("w-2").decide(ctx)
			require.NoError(t, err)
			require.Equal(t, recovery.Retry, plan.Decisions[0].Kind)
			time.Sleep(22 * time.Hour)
			out, err := plan.Apply(ctx)
			require.NoError(t, err)
			require.Equal(t, receipt.ReasonRetention, out[0].Reason)
			require.Zero(t, w.sends())
			_, err = plan.Apply(ctx)
			require.Error(t, err, "a plan is carried out once")
		},
		"row_28_worker_clock_a_year_behind": func(t *testing.T, w *world) { w.clock(t, -365*24*time.Hour) },
		"row_28_worker_clock_a_year_ahead":  func(t *testing.T, w *world) { w.clock(t, 365*24*time.Hour) },
		"row_30_known_with_another_payload": func(t *testing.T, w *world) {
			w.svc.send = func(context.Context, receipt.Request) (receipt.Answer, error) {
				return receipt.Answer{Result: receipt.Mismatch}, nil
			}
			out := w.live(t)
			require.Equal(t, recovery.Held, out.Status)
			require.Equal(t, receipt.ReasonConflict, out.Reason)
			require.Equal(t, 1, out.Sends)
			w.life("w-2").quiet()
		},
		"row_31_refused": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{}
			w.svc.send = func(context.Context, receipt.Request) (receipt.Answer, error) {
				return receipt.Answer{Reason: receipt.ReasonRefused, Err: errors.New("status 400")}, nil
			}
			require.Equal(t, recovery.Held, w.live(t).Status)
		},
		"row_31_refused_finally_by_the_contract": func(t *testing.T, w *world) {
			w.svc.send = func(context.Context, receipt.Request) (receipt.Answer, error) {
				return receipt.Answer{Result: receipt.Refused}, nil
			}
			require.Equal(t, recovery.Rejected, w.live(t).Status)
			require.Equal(t, []intent.Type{intent.ActionRejected, intent.Completed}, last(w.types(), 2))
			w.life("w-2").quiet()
		},
		"row_32_error_after_the_commit": func(t *testing.T, w *world) {
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				w.svc.commit(r)
				return receipt.Answer{Reason: receipt.ReasonTransport, Err: errors.New("status 500")}, nil
			}
			require.Equal(t, recovery.Reconciled, w.live(t).Status)
		},
		"not_after_waits_for_the_deadline_of_every_earlier_request": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{Safety: receipt.NotAfter, Window: time.Minute, Skew: time.Second}
			var deadlines []time.Time
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				deadlines = append(deadlines, r.NotAfter)
				return receipt.Answer{}, nil
			}
			began := time.Now()
			out := w.live(t)
			require.Equal(t, receipt.ReasonDeadline, out.Reason)
			require.Equal(t, 1, out.Sends)
			l := w.life("w-2")
			l.quiet() // claimed within the millisecond of the intent
			time.Sleep(time.Minute)
			l.quiet()
			time.Sleep(2 * time.Second)
			d, out := l.recover()
			require.Equal(t, recovery.Retry, d.Kind, d.Message)
			require.Equal(t, receipt.ReasonDeadline, out.Reason, "and the second one was lost too")
			require.Len(t, deadlines, 2)
			require.WithinDuration(t, began.Add(time.Minute), deadlines[0], time.Second)
			l.quiet() // claims anew, since that attempt has sent
			time.Sleep(3 * time.Minute)
			w.svc.send = nil
			l.retried()
		},
		"unsent_is_tried_again_and_then_held": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{}
			tries := 0
			w.svc.send = func(context.Context, receipt.Request) (receipt.Answer, error) {
				tries++
				return receipt.Answer{}, receipt.ErrNotSent
			}
			out := w.live(t)
			require.Equal(t, recovery.Held, out.Status)
			require.Equal(t, receipt.ReasonNotSent, out.Reason)
			require.Equal(t, 5, tries)
			require.Zero(t, out.Sends)
		},
		"sends_are_bounded": func(t *testing.T, w *world) {
			w.svc.send = lost
			out := w.live(t)
			require.Equal(t, receipt.ReasonAttempts, out.Reason)
			require.Equal(t, 3, out.Sends)
		},
		"no_lookup_means_that_the_key_is_the_question": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			w.svc.commit(request(1))
			l := w.life("w-2")
			plan, err := recovery.Recover(ctx, nil, l.owner, recovery.One(receipt.Service{Sender: w.rec.Sender("w-2", w.svc), Contract: keyBound}), &l.opts)
			require.NoError(t, err)
			out, err := plan.Apply(ctx)
			require.NoError(t, err)
			require.Equal(t, recovery.Confirmed, out[0].Status)
		},
	} {
		t.Run(name, func(t *testing.T) { inWorld(t, run) })
	}
}

// live is a call in a living process.
func (w *world) live(t *testing.T) recovery.Outcome {
	l := w.life("w-1")
	require.NoError(t, l.ask())
	out, err := l.exec.Perform(context.Background(), job, 1)
	require.NoError(t, err)
	return out
}

// clock asks for the usual decision about an intent by a worker whose clock is off.
func (w *world) clock(t *testing.T, off time.Duration) {
	l := w.life("w-1")
	events := l.events()
	events[1].EmittedAtMS = time.Now().Add(off).UnixMilli()
	_, err := l.exec.Append(context.Background(), job, 1, events)
	require.NoError(t, err)
	w.life("w-2").retried()
}
