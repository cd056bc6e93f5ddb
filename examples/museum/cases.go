package main

import (
	"context"
	"time"
)

// exhibit is one public failure, and what stands around it.
type exhibit struct {
	name, what string

	keys    bool          // the shop honours idempotency keys
	retains time.Duration // for so long; 0 is for ever
	blind   bool          // the shop cannot be asked
	orders  int           // 0 is one

	without map[string]string // the contenders that have no such part, and why
	play    func(context.Context, *stage) error
}

// The names of the contenders.
const (
	netHTTP   = "net/http"
	retryable = "retryablehttp"
	workflow  = "DBOS"
	operator  = "reconciler"
	intentLog = "intentlog"
)

// day is the museum's: it keeps a shop's keys for a day, and has little time.
const day = time.Second

var exhibits = []exhibit{
	{
		name: "deadline", what: "the shop answers after the client's deadline; the order is placed",
		play: func(ctx context.Context, s *stage) error {
			s.errand.Patience = time.Second
			return meets(silent)(ctx, s)
		},
	},
	{name: "504", what: "a gateway answers 504; the order is placed", play: meets(gateway)},
	{
		name: "retention", what: "the process dies, and the job comes again after the shop forgot its key; nobody can be asked",
		keys: true, retains: day, blind: true,
		play: func(ctx context.Context, s *stage) error {
			if err := dies(1)(ctx, s); err != nil {
				return err
			}
			select {
			case <-time.After(day + day/10):
			case <-ctx.Done():
			}
			return s.settle(ctx)
		},
	},
	{name: "reset", what: "the connection is reset after the commit, and the client sends again", play: meets(reset)},
	{
		name: "resend", what: "a connection in use before closes without an answer: net/http itself sends again, as there is a key",
		play: func(ctx context.Context, s *stage) error {
			s.errand.Warm = true
			return meets(hangUp)(ctx, s)
		},
	},
	{
		name: "lag", what: "the answer is lost, and a lookup before the next send does not show the order yet",
		play: looks(reset, func(s *shop, on bool) { s.lag = on }),
	},
	{name: "no-status", what: "the process dies between the create and the write of its status", play: diesThenSettles(1)},
	{name: "failed", what: "a create is answered 422, though the order is placed, and recorded as failed", play: meets(refused)},
	{
		name: "outage", what: "the answer is lost, and a lookup before the next send answers 503",
		play: looks(reset, func(s *shop, on bool) { s.outage = on }),
	},
	{
		name: "completion", what: "the order is placed, and the record that says so cannot be written",
		play: func(ctx context.Context, s *stage) error {
			s.errand.Spoil = true
			if err := s.deliver(ctx); err != nil {
				return err
			}
			s.errand.Spoil = false
			s.forget() // nor could the queue's
			return s.settle(ctx)
		},
	},
	{
		name: "late", what: "a request is under way past the deadline, and lands after the next attempt",
		play: func(ctx context.Context, s *stage) error {
			s.errand.Patience = time.Second
			s.fates = []fate{stalled}
			s.fault = func(ctx context.Context) error {
				s.mu.Lock()
				arrived := s.arrived
				s.mu.Unlock()
				close(s.release)
				s.await(ctx.Done(), func() bool { return s.handled >= arrived })
				return ctx.Err()
			}
			return s.settle(ctx)
		},
	},
	{
		name: "two-at-once", what: "a process starts and does the open job, while an earlier one of that name is at it",
		play: overlaps("0"),
	},
	{
		name: "mark", what: "the mark that a job is in progress expires while it is, and a second process gets the job",
		without: map[string]string{operator: "keeps no mark that could expire"},
		play:    overlaps("1"),
	},
	{
		name: "rescuer", what: "a rescuer that saw the job stuck writes that over its completion",
		play: func(ctx context.Context, s *stage) error {
			if err := s.settle(ctx); err != nil {
				return err
			}
			s.forget()
			if s.c.name == operator {
				if err := s.errand.setStatus(s.jobs[0], object{broken, "stuck"}); err != nil {
					return err
				}
			}
			return s.settle(ctx)
		},
	},
	{
		name: "secret-key", what: "the caller's key is made of the request, credentials included, and those are rotated",
		keys: true,
		play: func(ctx context.Context, s *stage) error {
			s.errand.Key = ofRequest
			if err := dies(1)(ctx, s); err != nil {
				return err
			}
			s.errand.Token = "tok-2"
			return s.settle(ctx)
		},
	},
	{
		name: "fresh-key", what: "the caller's key is made when a message is delivered, and it is delivered twice",
		keys: true,
		play: func(ctx context.Context, s *stage) error {
			s.errand.Key = perTry
			if err := s.settle(ctx); err != nil {
				return err
			}
			s.forget()
			return s.settle(ctx)
		},
	},
	{
		name: "old-intents", what: "110 orders were placed long ago, past the keys' retention, and their confirmations were lost",
		keys: true, retains: day, orders: 110,
		play: func(ctx context.Context, s *stage) error {
			if err := dies(110)(ctx, s); err != nil {
				return err
			}
			select {
			case <-time.After(day + day/10):
			case <-ctx.Done():
			}
			return s.settle(ctx)
		},
	},
}

// meets is a first request with that fate.
func meets(f fate) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		s.fates = []fate{f}
		return s.settle(ctx)
	}
}

// looks is a first request with that fate, while something is wrong with the lookup
// that careful code asks before it sends again.
func looks(f fate, wrong func(s *shop, on bool)) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		s.errand.Look = true
		wrong(s.shop, true)
		s.fault = func(context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			wrong(s.shop, false)
			return nil
		}
		return meets(f)(ctx, s)
	}
}

// dies is a life that is killed once n orders were placed, with no answer to any.
func dies(n int) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		s.deadly = n
		for range n {
			s.fates = append(s.fates, fatal)
		}
		return s.deliver(ctx)
	}
}

func diesThenSettles(n int) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		if err := dies(n)(ctx, s); err != nil {
			return err
		}
		return s.settle(ctx)
	}
}

// overlaps is a second life, of the named executor, that begins while the request of
// the first is under way. The first goes on once the second has done what it wants.
func overlaps(executor string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		unshare, err := s.share()
		if err != nil {
			return err
		}
		defer unshare()
		s.fates = []fate{stalled}
		e := s.errand
		e.Jobs = s.jobs
		first, err := s.start(ctx, e)
		if err != nil {
			return err
		}
		s.await(first.done, func() bool { return s.arrived > 0 })
		e.Executor = executor
		second, err := s.start(ctx, e)
		if err != nil {
			return err
		}
		// A second life that waits for the first, and asks for nothing, is let be.
		enough, cancel := context.WithTimeout(ctx, 5*time.Second)
		go func() { <-second.done; cancel() }()
		s.await(enough.Done(), func() bool { return s.placed > 0 })
		cancel()
		close(s.release)
		s.hear(first)
		s.hear(second)
		return s.settle(ctx)
	}
}
