package main

import (
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/ledger"
)

// testCase is one way to die, or to lose an answer, and what must come of it.
type testCase struct {
	name    string
	what    string // what happens, for people
	killed  string // what was killed, for the table
	several bool   // several workers are alive at once

	noContract bool // the worker declares nothing about the service

	play play
	want want
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
		play:   dieAt(computed, intent.ComputeStarted),
		want: want{
			decision: "Resume", effects: 1, computations: 2, sends: 1,
			log: []string{"1: STARTED COMPUTE_STARTED", "2: STARTED COMPUTE_STARTED COMPUTE_FINISHED ACTION_REQUESTED ACTION_CONFIRMED COMPLETED"},
		},
	},
	{
		name: "B1", what: "the worker dies with its intent in the log, before it sends",
		killed: "worker, before the send",
		play:   dieAt(unsent, intent.ActionRequested),
		want:   want{decision: "Retry", effects: 1, computations: 1, sends: 1, log: []string{asked, "2" + retry}},
	},
	{
		name: "B2", what: "the worker dies with the receipt in hand, before the log knows it",
		killed: "worker, receipt in hand",
		play:   dieAt(received, intent.ActionRequested),
		want:   want{decision: "Reconcile", before: 1, effects: 1, computations: 1, sends: 1, log: []string{asked, "2" + reconcile}},
	},
	{
		name: "no-contract", what: "as B1, but nobody declared that a second send is safe",
		killed: "worker, before the send", noContract: true,
		play: dieAt(unsent, intent.ActionRequested),
		want: want{decision: "HoldUnknown", reason: "safety", computations: 1, log: []string{asked, "2" + held}},
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
		play:   lateEffect(false),
		want: want{
			decision: "Retry", effects: 1, computations: 1, sends: 2,
			log: []string{asked + " ACTION_CONFIRMED COMPLETED"},
		},
	},
	{
		name: "timeout-latest-effect", what: "as before, but the first request lands after its own retry",
		killed: "the wait for an answer",
		play:   lateEffect(true),
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
		play: zombie(unsent),
		want: want{
			decision: "Retry", effects: 1, computations: 1, sends: 2,
			log: []string{asked + " ACTION_CONFIRMED COMPLETED", "2" + retry},
		},
	},
	{
		name: "zombie-fenced", what: "a worker is stopped before it has logged an intent, another does the job, the first wakes up",
		killed: "nobody; worker stopped", several: true,
		play: zombie(computed),
		want: want{
			decision: "Resume", effects: 1, computations: 2, sends: 1,
			log: []string{
				"1: STARTED COMPUTE_STARTED COMPUTE_FINISHED",
				"2: STARTED COMPUTE_STARTED COMPUTE_FINISHED ACTION_REQUESTED ACTION_CONFIRMED COMPLETED",
			},
		},
	},
}

// hold is a case in which nobody can know for a while.
func hold(name, how string, fault ledger.Fault, reason string) testCase {
	return testCase{
		name: name, what: "as B2, but the lookup " + how + " for a while",
		killed: "worker, receipt in hand",
		play:   recoverTwice(fault, ledger.Healthy),
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
		play:   recoverTwice(fault, fault),
		want: want{
			decision: "HoldUnknown", reason: "receipt", before: 1, effects: 1, computations: 1, sends: 1,
			log: []string{asked, "2" + held, "3" + claim},
		},
	}
}
