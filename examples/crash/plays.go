package main

import (
	"context"
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/ledger"
)

// play is what happens in a case, up to its end; the verdict comes after it.
type play func(context.Context, *stage) error

// dieAt kills the worker at the barrier, where its log ends with an event of the
// given type, and lets a fresh one recover.
func dieAt(barrier string, last intent.Type) play {
	return func(ctx context.Context, s *stage) error {
		if err := s.crash(ctx, barrier, last); err != nil {
			return err
		}
		return s.finish(ctx)
	}
}

// recoverTwice kills the worker with the receipt in hand, and lets two others recover
// one after the other, each with its own state of the lookup.
func recoverTwice(first, second ledger.Fault) play {
	return func(ctx context.Context, s *stage) error {
		if err := s.crash(ctx, received, intent.ActionRequested); err != nil {
			return err
		}
		s.fault(first)
		if err := s.finish(ctx); err != nil {
			return err
		}
		if second != first {
			s.fault(second)
		}
		return s.finish(ctx)
	}
}

func payloadConflict(ctx context.Context, s *stage) error {
	s.say("another client uses the key for another payload")
	if _, _, err := s.ledger.Commit(ctx, followUp, []byte(`{"outcome":"another"}`)); err != nil {
		return err
	}
	if err := s.countEffects(ctx); err != nil {
		return err
	}
	if err := s.finish(ctx); err != nil {
		return err
	}
	return s.finish(ctx)
}

func lostResponse(ctx context.Context, s *stage) error {
	s.service.DropNext()
	w, err := s.start(asking)
	if err != nil {
		return err
	}
	if err := w.reached(ctx, asking); err != nil {
		return err
	}
	s.say("%s: the answer was cut off; it is about to ask", w.process)
	if err := s.countEffects(ctx); err != nil {
		return err
	}
	if err := w.release(); err != nil {
		return err
	}
	return w.done(ctx)
}

// lateEffect lets a request time out on its way, and delivers it when the lookup has
// said absent: before its retry is sent, or after.
func lateEffect(afterRetry bool) play {
	return func(ctx context.Context, s *stage) error {
		onItsWay := s.service.HoldNext()
		pauses := []string{patience, answering}
		if afterRetry {
			pauses = pauses[:1]
		}
		w, err := s.start(pauses...)
		if err != nil {
			return err
		}
		if err := w.reached(ctx, patience); err != nil {
			return err
		}
		if err := onItsWay.Arrived(ctx); err != nil {
			return err
		}
		s.say("%s: its request is on its way, and it waits no longer", w.process)
		if err := s.countEffects(ctx); err != nil {
			return err
		}
		if err := w.release(); err != nil {
			return err
		}
		if !afterRetry {
			if err := w.reached(ctx, answering); err != nil {
				return err
			}
			if err := s.noEffectYet(ctx); err != nil {
				return err
			}
			s.say("%s: the lookup said absent; now the first request lands", w.process)
			if err := onItsWay.Deliver(ctx); err != nil {
				return err
			}
			if err := w.release(); err != nil {
				return err
			}
			return w.done(ctx)
		}
		if err := w.done(ctx); err != nil {
			return err
		}
		s.say("now the first request lands")
		return onItsWay.Deliver(ctx)
	}
}

func crashInRecovery(ctx context.Context, s *stage) error {
	if err := s.crash(ctx, received, intent.ActionRequested); err != nil {
		return err
	}
	for _, barrier := range []string{asking, answering} {
		if err := s.crash(ctx, barrier, intent.Started); err != nil {
			return err
		}
	}
	return s.finish(ctx)
}

func crashInRetry(ctx context.Context, s *stage) error {
	if err := s.crash(ctx, unsent, intent.ActionRequested); err != nil {
		return err
	}
	if err := s.crash(ctx, received, intent.Started); err != nil {
		return err
	}
	return s.finish(ctx)
}

// twoRecoverers lets both read the log before either has claimed the job.
func twoRecoverers(ctx context.Context, s *stage) error {
	if err := s.crash(ctx, unsent, intent.ActionRequested); err != nil {
		return err
	}
	var both []*process
	for range 2 {
		w, err := s.startOther(appending(1))
		if err != nil {
			return err
		}
		both = append(both, w)
	}
	for _, w := range both {
		if err := w.reached(ctx, appending(1)); err != nil {
			return err
		}
	}
	s.say("both have read the log, neither has claimed the job; now both do")
	for _, w := range both {
		if err := w.release(); err != nil {
			return err
		}
	}
	lost := 0
	for _, w := range both {
		if err := w.doneQuietly(ctx); err != nil {
			return err
		}
		if w.report.Lost {
			lost++
		}
	}
	if lost != 1 {
		return fmt.Errorf("%d of two recoverers found their claim lost, want 1", lost)
	}
	s.say("one of them decides, the other finds its claim lost and does nothing")
	return nil
}

// zombie stops a worker at a barrier, lets another one take the job, and wakes the
// first. The word to go on waits for it while it is stopped.
func zombie(barrier string) play {
	return func(ctx context.Context, s *stage) error {
		z, err := s.start(barrier)
		if err != nil {
			return err
		}
		if err := z.reached(ctx, barrier); err != nil {
			return err
		}
		if err := z.child.Stop(ctx); err != nil {
			return err
		}
		s.say("%s: reached %s; SIGSTOP, it stands still", z.process, barrier)
		if err := z.release(); err != nil {
			return err
		}
		if err := s.countEffects(ctx); err != nil {
			return err
		}
		w, err := s.startOther()
		if err != nil {
			return err
		}
		if err := w.done(ctx); err != nil {
			return err
		}
		s.say("%s: SIGCONT, it goes on", z.process)
		if err := z.child.Continue(); err != nil {
			return err
		}
		return z.done(ctx)
	}
}
