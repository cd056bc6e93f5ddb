package main

import (
	"context"
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/ledger"
)

// testCase is one way to die, or to lose an answer, and what must come of it.
type testCase struct {
	name    string
	what    string // what happens, for people
	killed  string // what was killed, for the table
	several bool   // several workers are alive at once
	play    func(context.Context, *stage) error
	want    want
}

// want is what must stand in the log and in the service's ledger in the end.
type want struct {
	decision     string // the kinds, one after the other
	reason       string // of the holds
	before       int    // effects when the worker was dead, or its answer lost
	effects      int
	computations int
	sends        int      // requests for the effect that reached the service
	log          []string // the events of each owner's attempt, in the order of their claims
}

const (
	asked     = "1: STARTED COMPUTE_STARTED COMPUTE_FINISHED ACTION_REQUESTED"
	reconcile = ": STARTED RECONCILED ACTION_CONFIRMED COMPLETED"
	retry     = ": STARTED ACTION_CONFIRMED COMPLETED"
	claim     = ": STARTED"
	held      = ": STARTED HOLD_UNKNOWN"
)

var cases = []testCase{
	{
		name: "A", what: "the worker dies after the service computed, before the log knows the result",
		killed: "worker, result in hand",
		play: func(ctx context.Context, s *stage) error {
			return run2(s.crash(ctx, computed, intent.ComputeStarted), func() error { return s.finish(ctx) })
		},
		want: want{
			decision: "Resume", effects: 1, computations: 2, sends: 1,
			log: []string{"1: STARTED COMPUTE_STARTED", "2: STARTED COMPUTE_STARTED COMPUTE_FINISHED ACTION_REQUESTED ACTION_CONFIRMED COMPLETED"},
		},
	},
	{
		name: "B1", what: "the worker dies with its intent in the log, before it sends",
		killed: "worker, before the send",
		play: func(ctx context.Context, s *stage) error {
			return run2(s.crash(ctx, unsent, intent.ActionRequested), func() error { return s.finish(ctx) })
		},
		want: want{decision: "Retry", effects: 1, computations: 1, sends: 1, log: []string{asked, "2" + retry}},
	},
	{
		name: "B2", what: "the worker dies with the receipt in hand, before the log knows it",
		killed: "worker, receipt in hand",
		play: func(ctx context.Context, s *stage) error {
			return run2(s.crash(ctx, received, intent.ActionRequested), func() error { return s.finish(ctx) })
		},
		want: want{decision: "Reconcile", before: 1, effects: 1, computations: 1, sends: 1, log: []string{asked, "2" + reconcile}},
	},
	hold("hold-503", "answers 503", ledger.Unavailable, "transport"),
	hold("hold-404", "is hidden by a proxy's 404 page", ledger.ProxyNotFound, "contract"),
	hold("hold-401", "answers 401", ledger.Unauthorized, "auth"),
	hold("hold-contract", "answers in a version that nobody knows", ledger.UnknownContract, "contract"),
	badReceipt("bad-receipt-action", "another action", ledger.WrongReceiptAction),
	badReceipt("bad-receipt-digest", "another payload", ledger.WrongReceiptDigest),
	{
		name: "payload-conflict", what: "the service knows the action's key with another payload",
		killed: "nobody; the key is taken",
		play:   payloadConflict,
		want: want{
			decision: "HoldUnknown", reason: "conflict", before: 1, effects: 1, computations: 1, sends: 1,
			log: []string{asked + " HOLD_UNKNOWN", "2" + claim},
		},
	},
	{
		name: "lost-response", what: "the service commits and the connection is cut before the answer",
		killed: "the answer",
		play:   lostResponse,
		want: want{
			decision: "Reconcile", before: 1, effects: 1, computations: 1, sends: 1,
			log: []string{asked + " RECONCILED ACTION_CONFIRMED COMPLETED"},
		},
	},
	{
		name: "timeout-late-effect", what: "a request times out, the lookup says absent, and then its effect lands",
		killed: "the wait for an answer",
		play:   func(ctx context.Context, s *stage) error { return lateEffect(ctx, s, false) },
		want: want{
			decision: "Retry", effects: 1, computations: 1, sends: 2,
			log: []string{asked + " ACTION_CONFIRMED COMPLETED"},
		},
	},
	{
		name: "timeout-latest-effect", what: "as before, but the first request lands after its own retry",
		killed: "the wait for an answer",
		play:   func(ctx context.Context, s *stage) error { return lateEffect(ctx, s, true) },
		want: want{
			decision: "Retry", effects: 1, computations: 1, sends: 2,
			log: []string{asked + " ACTION_CONFIRMED COMPLETED"},
		},
	},
	{
		name: "crash-in-recovery", what: "two recoveries die as well, one before and one after they asked the service",
		killed: "worker, 2 recoveries",
		play:   crashInRecovery,
		want: want{
			decision: "Reconcile", before: 1, effects: 1, computations: 1, sends: 1,
			log: []string{asked, "2" + claim, "3" + claim, "4" + reconcile},
		},
	},
	{
		name: "crash-in-retry", what: "a recovery sends again and dies with the receipt in hand",
		killed: "worker, 1 recovery",
		play:   crashInRetry,
		want: want{
			decision: "Reconcile", effects: 1, computations: 1, sends: 1,
			log: []string{asked, "2" + claim, "3" + reconcile},
		},
	},
	{
		name: "two-recoverers", what: "two workers recover the same job at the same moment",
		killed: "worker, before the send", several: true,
		play: twoRecoverers,
		want: want{decision: "Retry", effects: 1, computations: 1, sends: 1, log: []string{asked, "2" + retry, "2" + claim}},
	},
	{
		name: "zombie", what: "a worker is stopped before it sends, another recovers the job, the first wakes up",
		killed: "nobody; worker stopped", several: true,
		play: func(ctx context.Context, s *stage) error { return zombie(ctx, s, unsent) },
		want: want{
			decision: "Retry", effects: 1, computations: 1, sends: 2,
			log: []string{asked + " ACTION_CONFIRMED COMPLETED", "2" + retry},
		},
	},
	{
		name: "zombie-fenced", what: "a worker is stopped before it has logged an intent, another does the job, the first wakes up",
		killed: "nobody; worker stopped", several: true,
		play: func(ctx context.Context, s *stage) error { return zombie(ctx, s, computed) },
		want: want{
			decision: "Resume", effects: 1, computations: 2, sends: 1,
			log: []string{
				"1: STARTED COMPUTE_STARTED COMPUTE_FINISHED",
				"2: STARTED COMPUTE_STARTED COMPUTE_FINISHED ACTION_REQUESTED ACTION_CONFIRMED COMPLETED",
			},
		},
	},
}

// run2 goes on with next if err is nil.
func run2(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// hold is a case in which nobody can know for a while.
func hold(name, how string, fault ledger.Fault, reason string) testCase {
	return testCase{
		name: name, what: "as B2, but the lookup " + how + " for a while",
		killed: "worker, receipt in hand",
		play: func(ctx context.Context, s *stage) error {
			if err := s.crash(ctx, received, intent.ActionRequested); err != nil {
				return err
			}
			s.fault(fault)
			if err := s.finish(ctx); err != nil {
				return err
			}
			s.fault(ledger.Healthy)
			return s.finish(ctx)
		},
		want: want{
			decision: "HoldUnknown then Reconcile", reason: reason, before: 1, effects: 1, computations: 1, sends: 1,
			log: []string{asked, "2" + held, "3" + reconcile},
		},
	}
}

// badReceipt is a case in which the service vouches for something else. It stays on
// hold, however often it is recovered.
func badReceipt(name, of string, fault ledger.Fault) testCase {
	return testCase{
		name: name, what: "as B2, but the service shows a receipt of " + of,
		killed: "worker, receipt in hand",
		play: func(ctx context.Context, s *stage) error {
			if err := s.crash(ctx, received, intent.ActionRequested); err != nil {
				return err
			}
			s.fault(fault)
			if err := s.finish(ctx); err != nil {
				return err
			}
			return s.finish(ctx)
		},
		want: want{
			decision: "HoldUnknown", reason: "receipt", before: 1, effects: 1, computations: 1, sends: 1,
			log: []string{asked, "2" + held, "3" + claim},
		},
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
func lateEffect(ctx context.Context, s *stage, afterRetry bool) error {
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
func zombie(ctx context.Context, s *stage, barrier string) error {
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
