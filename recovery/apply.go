package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// Status is how a call or a recovered job ended. The zero Status is Held.
type Status uint8

// The ways to end.
const (
	Held       Status = iota // nobody can know yet; the next recovery asks again
	Confirmed                // the effect exists; this owner saw the answer
	Reconciled               // the effect exists; a lookup found the receipt
	Rejected                 // refused, finally and without an effect
	Settled                  // nothing was in doubt; COMPLETED was missing and is there now
	Resumable                // nothing is in doubt; the worker's own code goes on
)

var statusNames = [...]string{"held", "confirmed", "reconciled", "rejected", "settled", "resumable"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Outcome is how one action, or one recovered job, ended.
type Outcome struct {
	Job     intent.JobID
	Action  intent.ActionID
	Attempt int32
	Status  Status
	Reason  receipt.Reason   // with Held and Rejected
	Message string           // with Held and Rejected: what was seen, at most 256 bytes
	Receipt *receipt.Receipt // with Confirmed and Reconciled; nil if an operator confirmed
	Sends   int              // requests that were, or may have been, sent by this call
}

// Recorded completes an outcome by what the log holds of its action, which is settled
// or held.
func Recorded(out Outcome, a intent.Action) (Outcome, error) {
	out.Reason, out.Message = receipt.Reason(a.Reason.Reason), a.Reason.Message
	switch a.Status {
	case intent.Confirmed:
		out.Status, out.Reason, out.Message = Confirmed, receipt.ReasonNone, ""
		if a.Reconciled {
			out.Status = Reconciled
		}
		if a.Receipt == "" {
			return out, nil // an operator's word
		}
		r, err := receipt.Parse(a.Receipt)
		out.Receipt = r
		return out, err
	case intent.Rejected:
		out.Status = Rejected
	}
	return out, nil
}

// Executor performs actions of one owner. Its methods may be called by many
// goroutines at once, for different jobs.
type Executor struct {
	view     *View
	owner    intent.Owner
	services Services
	limits   Limits
	logger   *slog.Logger
	dry      bool // have no effect on a service, not even a fence
}

// NewExecutor returns an Executor. Zero limits mean the defaults, a nil logger
// discards.
func NewExecutor(v *View, owner intent.Owner, services Services, limits Limits, logger *slog.Logger) *Executor {
	return &Executor{view: v, owner: owner, services: services, limits: limits.withDefaults(), logger: loggerOr(logger)}
}

// Apply carries the decisions out, with bounded concurrency, and returns the
// outcomes in the order of the decisions. An error joins what went wrong with
// single jobs; their outcomes are Held. Jobs with errors are left as they are for
// the next recovery. A plan can be carried out once: its evidence is used up then.
func (p *Plan) Apply(ctx context.Context) ([]Outcome, error) {
	if p.DryRun {
		return nil, errors.New("apply: a dry run claims nothing, so it cannot be applied")
	}
	if p.applied.Swap(true) {
		return nil, errors.New("apply: the plan was carried out before")
	}
	if err := p.catchUp(ctx); err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	outcomes := make([]Outcome, len(p.Decisions))
	errs := make([]error, len(p.Decisions))
	var wg sync.WaitGroup
	slots := make(chan struct{}, p.exec.limits.Parallel)
	for i, d := range p.Decisions {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			out, err := p.exec.carryOut(ctx, d)
			if err != nil {
				err = fmt.Errorf("job %q: %w", d.Job, err)
			}
			outcomes[i], errs[i] = out, err
		})
	}
	wg.Wait()
	return outcomes, errors.Join(errs...)
}

// catchUp sees what happened since the decisions, in the buckets where a request
// is to be sent: a plan may have been kept for a while.
func (p *Plan) catchUp(ctx context.Context) error {
	seen := map[*bucketView]bool{}
	for _, d := range p.Decisions {
		b := p.exec.view.bucket(d.Job)
		if d.Kind != Retry || seen[b] {
			continue
		}
		seen[b] = true
		if err := b.catchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (x *Executor) carryOut(ctx context.Context, d Decision) (Outcome, error) {
	out := Outcome{Job: d.Job, Action: d.Action, Attempt: d.Attempt, Reason: d.Reason, Message: d.Message}
	if d.Reason == receipt.ReasonHistory {
		return out, nil // set aside
	}
	st, err := x.current(d.Job, d.Attempt)
	if err != nil {
		return out, err
	}
	if d.Kind != Resume && d.Kind != Complete && !st.action.Status.Open() {
		return x.settled(ctx, st, out) // a valid receipt came from an earlier owner
	}
	switch d.Kind {
	case Resume:
		out.Status = Resumable
		return out, nil
	case Complete:
		out.Status = Settled
		_, err := x.record(ctx, st, step{typ: intent.Completed})
		return out, err
	case Reconcile:
		return x.confirm(ctx, st, out, d.Receipt, true)
	case Retry:
		if kept, err := x.kept(ctx, st, d); err != nil || !kept {
			if err != nil {
				return out, err
			}
			return x.hold(ctx, st, out, receipt.ReasonRetention, "the decision came too late")
		}
		if d.Held {
			// New evidence ends the hold, on the record, before anything is sent.
			_, err := x.record(ctx, st, step{typ: intent.HoldResolved, action: true, detail: intent.Resolution{
				Decision: intent.ResolveRetry, By: intent.ByLookup, Reason: d.Finding.String(), Hold: d.Hold,
			}})
			if err != nil {
				return out, err
			}
		}
		return x.Perform(ctx, d.Job, d.Attempt)
	default:
		return x.hold(ctx, st, out, d.Reason, d.Message)
	}
}

// kept reports whether a service that keeps its keys for a time still keeps this
// one, now that the decision to send again is carried out.
func (x *Executor) kept(ctx context.Context, st state, d Decision) (bool, error) {
	if d.forced || d.Safety != receipt.KeyBound {
		return true, nil
	}
	in, err := st.action.Intent()
	if err != nil {
		return false, err
	}
	svc, err := x.services(in)
	if err != nil {
		return false, err
	}
	return x.remembered(ctx, &st, svc.Contract)
}

// remembered reports whether the contract's proof of a safe second send, for one that
// rests on a retention, holds now. It completes the times in st.
func (x *Executor) remembered(ctx context.Context, st *state, c receipt.Contract) (bool, error) {
	if c.Safety != receipt.KeyBound {
		return true, nil
	}
	if err := x.fill(ctx, st); err != nil {
		return false, err
	}
	return x.proved(*st, c, 0), nil
}
