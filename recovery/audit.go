package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
)

// Verdict is what an audit says of a confirmed action. The zero Verdict is Unverified.
type Verdict uint8

// The verdicts.
const (
	Unverified  Verdict = iota // nobody could tell, see the reason
	Verified                   // the service still has a fitting receipt
	ReceiptLost                // the service says that it does not know the action
)

var verdictNames = [...]string{"unverified", "verified", "receipt lost"}

func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// Audited is one confirmed action, and what its service says of it now.
type Audited struct {
	Job     intent.JobID
	Action  intent.ActionID
	Verdict Verdict
	Reason  receipt.Reason // with Unverified
	Message string         // with Unverified: what was seen, at most 256 bytes
}

// Audit asks the services again about every action that the log says is confirmed,
// and returns those about which they no longer say the same, in order of job and
// action ID; confirmed is how many it asked about. A service that was rolled back
// shows as ReceiptLost: what to do about it is for people. One that may have
// forgotten by its contract's retention is Unverified. Nothing is sent, claimed or
// appended, beyond a store's own barriers, and a completed job stays completed.
//
// Of opts it uses Skip, Quarantine and Limits. Its memory grows with the open jobs,
// and by about 10 bytes with every finished one.
func Audit(ctx context.Context, st store.Store, services Services, opts *Options) (odd []Audited, confirmed int, err error) {
	a := &auditing{Executor: &Executor{services: services}}
	if opts != nil {
		a.opts = *opts
	}
	a.limits = a.opts.Limits.withDefaults()
	a.slots = make(chan struct{}, a.limits.Parallel)
	defer a.wg.Wait()
	for b := range st.Buckets() {
		if err := a.bucket(ctx, st, b); err != nil {
			return nil, 0, fmt.Errorf("audit: %w", err)
		}
	}
	a.wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	slices.SortFunc(a.odd, func(x, y Audited) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Action, y.Action))
	})
	return a.odd, a.asked, nil
}

// auditing is one run of Audit.
type auditing struct {
	*Executor
	opts  Options
	slots chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex // guards odd
	odd   []Audited
	asked int
}

// bucket folds one bucket, and asks about each job once it is done, or at the end.
func (a *auditing) bucket(ctx context.Context, st store.Store, n int) error {
	bound, err := st.Bound(ctx, n)
	if err != nil {
		return fmt.Errorf("bound of bucket %d: %w", n, err)
	}
	open := map[intent.JobID]*intent.History{}
	broken := map[intent.JobID]error{}
	done := map[uint64]bool{}
	now := bound.NowMS
	if now == 0 && bound.End > 0 { // the barrier at the end carries it
		err := readWhole(ctx, st, n, bound.End-1, bound.End, func(r *store.Record) error {
			now = r.CommitMS
			return nil
		})
		if err != nil {
			return err
		}
	}
	err = readWhole(ctx, st, n, 0, bound.End, func(r *store.Record) error {
		job := r.Event.JobID
		if r.Event.Type == intent.Barrier || broken[job] != nil || open[job] == nil && done[jobHash(job)] {
			return nil
		}
		h := open[job]
		if h == nil {
			h = &intent.History{}
		}
		if err := h.Fold(&r.Event, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}); err != nil {
			broken[job] = err
			delete(open, job)
			return nil
		}
		open[h.Job] = h
		if h.Done {
			delete(open, job)
			done[jobHash(job)] = true
			a.job(ctx, h, now)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(broken) > 0 && !a.opts.Quarantine:
		all := []error{ErrBroken}
		for _, job := range sortedKeys(broken) {
			all = append(all, broken[job])
		}
		return errors.Join(all...)
	}
	for _, job := range sortedKeys(open) {
		a.job(ctx, open[job], now)
	}
	return nil
}

// job asks about the confirmed actions of a job.
func (a *auditing) job(ctx context.Context, h *intent.History, nowMS int64) {
	if a.opts.Skip != nil && a.opts.Skip(h.Job) {
		return
	}
	for i := range h.Actions {
		act := &h.Actions[i]
		if act.Status != intent.Confirmed || act.Receipt == "" { // an operator's word is not in the service
			continue
		}
		a.asked++
		a.slots <- struct{}{}
		a.wg.Go(func() {
			defer func() { <-a.slots }()
			if got := a.action(ctx, h, act, nowMS); got.Verdict != Verified {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.odd = append(a.odd, got)
			}
		})
	}
}

func (a *auditing) action(ctx context.Context, h *intent.History, act *intent.Action, nowMS int64) Audited {
	got := Audited{Job: h.Job, Action: act.ID}
	in, err := act.Intent()
	var svc receipt.Service
	if err == nil {
		svc, err = a.services(in)
	}
	if err != nil {
		got.Reason, got.Message = receipt.ReasonTarget, receipt.Doubt(receipt.ReasonTarget, err).Message()
		return got
	}
	find := a.askOnce(ctx, svc.Lookup, receipt.Request{Job: h.Job, Intent: in, Digest: act.Digest, Attempt: h.Attempt})
	age := time.Duration(nowMS-act.Requested.CommitMS) * time.Millisecond
	switch {
	case find.Kind == receipt.Committed:
		got.Verdict = Verified
	case find.Kind == receipt.Absent && svc.Contract.Safety == receipt.KeyBound && age >= svc.Contract.Retry():
		got.Reason = receipt.ReasonRetention
	case find.Kind == receipt.Absent:
		got.Verdict = ReceiptLost
	case find.Kind == receipt.InFlight:
		got.Reason = receipt.ReasonInFlight
	default:
		got.Reason, got.Message = find.Reason, find.Message()
	}
	return got
}
