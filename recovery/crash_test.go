package recovery_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/invariant"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

// The subtests are named for the rows of the fault list that they show.
func TestProcessCrash(t *testing.T) {
	ctx := context.Background()
	for name, run := range map[string]func(t *testing.T, w *world){
		"row_01_before_the_first_append": func(t *testing.T, w *world) {
			plan, err := w.life("w-1").decide(ctx)
			require.NoError(t, err)
			require.Empty(t, plan.Decisions)
		},
		"row_02_computed_and_not_recorded": func(t *testing.T, w *world) {
			l := w.life("w-1")
			_, err := l.exec.Append(ctx, job, 1, []intent.Event{l.events()[0], {JobID: job, Type: intent.ComputeStarted, Detail: `{"name":"c"}`}})
			require.NoError(t, err)
			d, out := w.life("w-2").recover()
			require.Equal(t, recovery.Resume, d.Kind)
			require.Equal(t, recovery.Resumable, out.Status)
			require.Zero(t, w.sends())
		},
		"row_03_intent_never_reached_the_log": func(t *testing.T, w *world) {
			l := w.life("w-1")
			l.die()
			require.Error(t, l.ask())
			plan, err := w.life("w-2").decide(ctx)
			require.NoError(t, err)
			require.Empty(t, plan.Decisions)
		},
		"row_03_intent_arrives_late": func(t *testing.T, w *world) {
			l := w.life("w-1")
			var late []func() (int64, error)
			l.st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
				switch late = append(late, do); len(late) {
				case 1:
					return 0, errAck // neither stored nor lost, but on its way
				case 2:
					_, err := late[0]()
					assert.NoError(t, err)
				}
				return do()
			}
			require.NoError(t, l.ask(), "the same bytes are appended again")
			out, err := l.exec.Perform(ctx, job, 1)
			require.NoError(t, err)
			require.Equal(t, recovery.Confirmed, out.Status)
			require.Equal(t, 1, out.Sends)
			w.life("w-2").quiet()
		},
		"row_04_intent_in_the_log_without_its_acknowledgement": func(t *testing.T, w *world) {
			w.lostIntent()
			w.life("w-2").retried()
			require.Equal(t, 1, w.sends())
		},
		"row_04_and_no_contract": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{}
			w.lostIntent()
			l := w.life("w-2")
			l.held(receipt.ReasonSafety)
			l.quiet()
		},
		"row_05_intent_acknowledged_and_not_sent": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			w.life("w-2").retried()
		},
		"row_05_and_no_contract": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{}
			require.NoError(t, w.life("w-1").ask())
			w.life("w-2").held(receipt.ReasonSafety)
		},
		"row_07_08_committed_and_the_answer_lost": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			w.svc.commit(request(1))
			l := w.life("w-2")
			l.reconciled()
			l.quiet()
		},
		"row_09_confirmation_stored_and_not_acknowledged": func(t *testing.T, w *world) {
			l := w.life("w-1")
			require.NoError(t, l.ask())
			l.st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
				_, err := do()
				assert.NoError(t, err)
				l.die()
				return 0, errAck
			}
			_, err := l.exec.Perform(ctx, job, 1)
			require.Equal(t, store.Unknown, store.OutcomeOf(err))
			w.life("w-2").quiet()
			require.Equal(t, 1, w.sends())
		},
		"row_10_confirmed_and_not_completed": func(t *testing.T, w *world) {
			l := w.life("w-1")
			require.NoError(t, l.ask())
			w.svc.commit(request(1))
			text, err := w.svc.commit(request(1)).Encode()
			require.NoError(t, err)
			_, err = l.exec.Append(ctx, job, 1, []intent.Event{{
				JobID: job, Type: intent.ActionConfirmed, ActionID: action, PayloadDigest: intent.DigestOf(body), Detail: text,
			}})
			require.NoError(t, err)
			d, out := w.life("w-2").recover()
			require.Equal(t, recovery.Complete, d.Kind)
			require.Equal(t, recovery.Settled, out.Status)
			require.Zero(t, w.svc.asked)
			require.Equal(t, intent.Completed, last(w.types(), 1)[0])
		},
		"row_11_in_recovery_after_the_claim": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			_, err := w.life("w-2").decide(ctx)
			require.NoError(t, err)
			w.life("w-3").retried()
		},
		"row_12_in_recovery_after_its_send_committed": func(t *testing.T, w *world) {
			require.NoError(t, w.life("w-1").ask())
			l := w.life("w-2")
			plan, err := l.decide(ctx)
			require.NoError(t, err)
			w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
				l.die()
				return receipt.Answer{Result: receipt.Accepted, Receipt: w.svc.commit(r)}, nil
			}
			_, err = plan.Apply(ctx)
			require.ErrorIs(t, err, store.ErrClosed)
			w.life("w-3").reconciled()
			require.Equal(t, 1, w.sends())
		},
		"row_13_while_appending_the_hold": func(t *testing.T, w *world) {
			w.svc.contract = receipt.Contract{}
			require.NoError(t, w.life("w-1").ask())
			l := w.life("w-2")
			plan, err := l.decide(ctx)
			require.NoError(t, err)
			l.die()
			_, err = plan.Apply(ctx)
			require.ErrorIs(t, err, store.ErrClosed)
			w.life("w-3").held(receipt.ReasonSafety)
			require.Zero(t, w.sends())
		},
	} {
		t.Run(name, func(t *testing.T) { inWorld(t, run) })
	}
}

// lostIntent is a life that ends before it learns that its intent is in the log.
func (w *world) lostIntent() {
	l := w.life("w-1")
	l.st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
		_, err := do()
		assert.NoError(w.t, err)
		l.die()
		return 0, errAck
	}
	require.Equal(w.t, store.Unknown, store.OutcomeOf(l.ask()))
}

// Two lives die one after the other, each at every one of its steps, before or
// after the step took effect; a third one settles what they left.
func TestCrashAtEveryPairOfSteps(t *testing.T) {
	t.Run("row_14_nested_recovery", func(t *testing.T) {
		const steps = 9 // more than a life has
		for _, contract := range []receipt.Contract{keyBound, {}} {
			for first := range 2 * steps {
				for second := range 2 * steps {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						w.svc.contract = contract
						w.svc.blind = contract.Safety == receipt.None // then only we can see to it
						one := w.life("w-1")
						w.dieAt(one, first)
						if one.ask() == nil {
							_, _ = one.exec.Perform(t.Context(), job, 1)
						}
						two := w.mortal("w-2", second)
						if plan, err := two.decide(t.Context()); err == nil {
							_, _ = plan.Apply(t.Context())
						}
						w.svc.send, w.svc.lookup = nil, nil
						three := w.life("w-3")
						if plan, err := three.decide(t.Context()); err == nil {
							_, err = plan.Apply(t.Context())
							require.NoError(t, err)
						}
						three.quiet()
						trace := w.trace()
						why := fmt.Sprintf("first dies at %d, second at %d: %v", first, second, w.types())
						require.NoError(t, invariant.Check(trace), why)
						require.NoError(t, invariant.Ended(trace), why)
						require.LessOrEqual(t, w.svc.effects[action], 1, why)
					})
				}
			}
		}
	})
}

// mortal begins a life that dies at a step.
func (w *world) mortal(name string, step int) *life {
	l := w.life(name)
	w.dieAt(l, step)
	return l
}

// dieAt ends a life at its n-th append, bound, send or lookup; with an odd step
// after it took effect, else before.
func (w *world) dieAt(l *life, step int) {
	dead := false
	dies := func() (before, after bool) {
		step -= 2
		before = dead || step == -2
		after = dead || step == -1
		dead = dead || before || after
		return before, after
	}
	gone := &store.AppendError{Outcome: store.Unknown, Err: store.ErrClosed}
	l.st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
		before, after := dies()
		if before {
			return 0, gone
		}
		first, err := do()
		if after {
			return 0, gone
		}
		return first, err
	}
	l.st.bound = func(do func() (store.Bound, error)) (store.Bound, error) {
		if before, after := dies(); before || after {
			return store.Bound{}, store.ErrClosed
		}
		return do()
	}
	// A dead process hears nothing more; what it does then fails at its store.
	w.svc.send = func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
		before, after := dies()
		if before {
			return receipt.Answer{}, receipt.ErrNotSent
		}
		rec := w.svc.commit(r)
		if after {
			return receipt.Answer{}, nil
		}
		return receipt.Answer{Result: receipt.Accepted, Receipt: rec}, nil
	}
}
