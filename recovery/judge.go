package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// state is a copy of what a decision needs of a history.
type state struct {
	job     intent.JobID
	attempt int32
	single  bool
	prior   intent.Mark // the claim before the one in force
	claimed intent.Mark
	action  intent.Action // the last action; zero if there is none
}

func stateOf(h *intent.History) state {
	s := state{job: h.Job, attempt: h.Attempt, single: h.Claim.Single, prior: h.Prior, claimed: h.Claimed}
	if n := len(h.Actions); n > 0 {
		s.action = h.Actions[n-1]
	}
	return s
}

// later reports whether the attempt was claimed after the action was requested: it
// is then not the attempt that sent it first.
func (s state) later() bool { return s.claimed.Offset > s.action.Requested.Offset }

// decide gathers the evidence about the job's last action and decides. sends is
// how often this attempt has sent it already.
func (x *Executor) decide(ctx context.Context, st state, sends int) (Decision, error) {
	e := evidence{status: st.action.Status, single: st.single}
	d := Decision{
		Job: st.job, Attempt: st.attempt, Action: st.action.ID, Held: st.action.Status == intent.Held,
	}
	if d.Held {
		d.Hold, e.clash = st.action.Hold, st.action.Reason.Reason == string(receipt.ReasonConflict)
	}
	if !e.status.Open() {
		d.Kind, d.Reason = decide(e)
		return d, nil
	}
	in, err := st.action.Intent()
	if err != nil {
		return d, err // the history accepted it, so this cannot be; never act on it
	}
	svc, err := x.services(in)
	if err != nil {
		d.Reason, d.Message = receipt.ReasonTarget, receipt.Doubt(receipt.ReasonTarget, err).Message()
		return d, nil
	}
	if err := x.fill(ctx, &st); err != nil {
		return d, err
	}
	req := x.request(st, in, svc.Contract)
	find := x.ask(ctx, svc.Lookup, req)
	e.safety = svc.Contract.Safety
	e.forced = st.action.ByOperator && st.action.ResolvedIn == st.attempt-1 && sends == 0
	d.forced = e.forced
	if e.safety == receipt.Fenced && find.Kind == receipt.Absent && !e.forced {
		// An earlier request may land between that answer and the fence, so what
		// counts is what the lookup says behind the fence. What this attempt has
		// sent itself no fence can tell from what it would send again.
		switch {
		case x.dry:
			find.Err = errors.New("a dry run does not fence")
		case sends > 0 || !st.later():
			find.Err = errors.New("this attempt has sent already; the next one can fence it")
		default:
			if err := x.fence(ctx, svc.Contract, req); err != nil {
				find = receipt.Doubt(receipt.ReasonFence, err)
				break
			}
			e.proved = true
			find = x.ask(ctx, svc.Lookup, req)
		}
	}
	if e.safety == receipt.KeyBound || e.safety == receipt.NotAfter {
		d.Age = x.age(st)
		e.proved = x.proved(st, svc.Contract, sends)
	}
	e.find, e.reason = find.Kind, find.Reason
	d.Kind, d.Reason = decide(e)
	d.Finding, d.Safety, d.Receipt = find.Kind, e.safety, find.Receipt
	if d.Kind == HoldUnknown {
		d.Message = find.Message()
	}
	return d, ctx.Err()
}

// request is what is sent and asked for an action.
func (x *Executor) request(st state, in intent.Intent, c receipt.Contract) receipt.Request {
	r := receipt.Request{Job: st.job, Intent: in, Digest: st.action.Digest, Attempt: st.attempt}
	if base := max(st.action.Requested.CommitMS, st.claimed.CommitMS); c.Safety == receipt.NotAfter && base > 0 {
		r.NotAfter = time.UnixMilli(base).Add(c.Window)
	}
	return r
}

// age is how long ago the log took the intent, by the log's own clock.
func (x *Executor) age(st state) time.Duration {
	return time.Duration(x.view.bucket(st.job).now()-st.action.Requested.CommitMS) * time.Millisecond
}

// proved reports whether the contract's reason for a safe second send holds now.
// A fence is not proved here.
func (x *Executor) proved(st state, c receipt.Contract, sends int) bool {
	if st.action.Requested.CommitMS == 0 || x.view.bucket(st.job).now() == 0 {
		return false
	}
	switch c.Safety {
	case receipt.KeyBound:
		return x.age(st) < c.Retry()
	case receipt.NotAfter:
		// Every earlier attempt has carried a deadline that counts from its own
		// claim at the latest. One that this attempt has sent carries the very
		// deadline that a second send would carry.
		last := max(st.action.Requested.CommitMS, st.prior.CommitMS)
		end := time.UnixMilli(last).Add(c.Window).Add(c.SkewOrDefault())
		return sends == 0 && c.Window > 0 && st.later() &&
			time.UnixMilli(x.view.bucket(st.job).now()).After(end)
	}
	return false
}

// fill reads the times of marks that stem from this owner's own appends: an
// append does not tell the commit time.
func (x *Executor) fill(ctx context.Context, st *state) error {
	b := x.view.bucket(st.job)
	for _, m := range []*intent.Mark{&st.action.Requested, &st.claimed, &st.prior} {
		if m.CommitMS != 0 || *m == (intent.Mark{}) && m == &st.prior {
			continue
		}
		ms, err := b.commitMS(ctx, m.Offset)
		if err != nil {
			return fmt.Errorf("commit time of offset %d: %w", m.Offset, err)
		}
		m.CommitMS = ms
	}
	return nil
}

// ask asks the lookup, and again for a bounded time while the service is at work.
func (x *Executor) ask(ctx context.Context, l receipt.Lookup, r receipt.Request) receipt.Finding {
	limit := time.Now().Add(x.limits.InFlight)
	for wait := x.limits.Backoff; ; wait = min(2*wait, x.limits.MaxBackoff) {
		f := x.askOnce(ctx, l, r)
		if f.Kind != receipt.InFlight || time.Now().Add(wait).After(limit) {
			return f
		}
		if err := sleep(ctx, wait); err != nil {
			return receipt.Doubt(receipt.ReasonTransport, err)
		}
	}
}

func (x *Executor) askOnce(ctx context.Context, l receipt.Lookup, r receipt.Request) receipt.Finding {
	ctx, cancel := context.WithTimeout(ctx, x.limits.Lookup)
	defer cancel()
	return receipt.Ask(ctx, l, r)
}

// fence establishes the contract's fence. A panic is an error.
func (x *Executor) fence(ctx context.Context, c receipt.Contract, r receipt.Request) (err error) {
	if c.Fence == nil {
		return fmt.Errorf("the contract is fenced but has no fence")
	}
	ctx, cancel := context.WithTimeout(ctx, x.limits.Lookup)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("fence panicked: %v", p)
		}
	}()
	return c.Fence(ctx, r)
}

// sleep waits, or returns early with ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
