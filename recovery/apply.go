package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
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

// Executor performs actions of one owner. Its methods may be called by many
// goroutines at once, for different jobs.
type Executor struct {
	View     *View
	Owner    intent.Owner
	Services Services
	Limits   Limits // zero means the defaults; see NewExecutor
	Logger   *slog.Logger

	dry bool // have no effect on a service, not even a fence
}

// NewExecutor returns an Executor; a nil logger discards.
func NewExecutor(v *View, owner intent.Owner, services Services, limits Limits, logger *slog.Logger) *Executor {
	return &Executor{View: v, Owner: owner, Services: services, Limits: limits.withDefaults(), Logger: loggerOr(logger)}
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
	slots := make(chan struct{}, p.exec.Limits.Parallel)
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
		b := p.exec.View.bucket(d.Job)
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
	svc, err := x.Services(in)
	if err != nil {
		return false, err
	}
	if err := x.fill(ctx, &st); err != nil {
		return false, err
	}
	return x.proved(st, svc.Contract, 0), nil
}

// settled is the outcome of an action that a valid receipt of an earlier owner has
// settled while this one was at work on it.
func (x *Executor) settled(ctx context.Context, st state, out Outcome) (Outcome, error) {
	if st.action.Status != intent.Confirmed {
		return out, fmt.Errorf("action %q is %s", st.action.ID, st.action.Status)
	}
	out.Status, out.Reason, out.Message = Confirmed, receipt.ReasonNone, ""
	if st.action.Reconciled {
		out.Status = Reconciled
	}
	if st.action.Receipt != "" {
		r, err := receipt.Parse(st.action.Receipt)
		if err != nil {
			return out, err
		}
		out.Receipt = r
	}
	if !st.single {
		return out, nil
	}
	_, err := x.record(ctx, st, step{typ: intent.Completed})
	return out, err
}

// current returns the state of a job that this owner must hold in attempt.
func (x *Executor) current(job intent.JobID, attempt int32) (st state, err error) {
	err = fmt.Errorf("attempt %d: %w", attempt, ErrFenced)
	x.View.bucket(job).peek(job, func(h *intent.History) {
		if h != nil && h.Owned(attempt, x.Owner.ID) {
			st, err = stateOf(h), nil
		}
	})
	return st, err
}

// Perform sends the job's open action, whose intent is in the log, and records
// how it ended. The caller must hold the claim to attempt, and the action must be
// open and not held. Every send obeys the send rule.
//
// It returns an error only if the outcome could not be recorded or ctx ended; the
// Outcome then tells what is known all the same.
func (x *Executor) Perform(ctx context.Context, job intent.JobID, attempt int32) (Outcome, error) {
	out := Outcome{Job: job, Attempt: attempt}
	st, err := x.current(job, attempt)
	if err != nil {
		return out, err
	}
	out.Action = st.action.ID
	if st.action.Status != intent.Requested {
		return out, fmt.Errorf("action %q is %s, not to be sent", st.action.ID, st.action.Status)
	}
	in, err := st.action.Intent()
	if err != nil {
		return out, err
	}
	svc, err := x.Services(in)
	if err != nil {
		return x.hold(ctx, st, out, receipt.ReasonTarget, receipt.Doubt(receipt.ReasonTarget, err).Message())
	}
	if svc.Contract.Safety == receipt.NotAfter {
		if err := x.fill(ctx, &st); err != nil {
			return out, err
		}
	}
	req := x.request(st, in, svc.Contract)
	for unsent, wait := 0, x.Limits.Backoff; ; wait = min(2*wait, x.Limits.MaxBackoff) {
		// The claim must still be in force at everything that this owner has seen,
		// and it has seen everything below its own last append.
		switch now, err := x.current(job, attempt); {
		case err != nil:
			return out, err
		case !now.action.Status.Open():
			return x.settled(ctx, now, out)
		case ctx.Err() != nil:
			return out, ctx.Err()
		}
		x.View.bucket(job).sending(job, attempt)
		ans := x.send(ctx, svc.Sender, req)
		if ans.Result != receipt.Unsent {
			out.Sends++
		}
		switch ans.Result {
		case receipt.Accepted:
			return x.confirm(ctx, st, out, ans.Receipt, false)
		case receipt.Refused:
			return x.reject(ctx, st, out, orReason(ans.Reason, receipt.ReasonRefused), ans.Message())
		case receipt.Mismatch:
			return x.hold(ctx, st, out, receipt.ReasonConflict, ans.Message())
		case receipt.Unsent:
			if unsent++; unsent < x.Limits.MaxUnsent {
				if err := sleep(ctx, jitter(wait)); err != nil {
					return out, err
				}
				continue
			}
			if out.Sends == 0 {
				return x.hold(ctx, st, out, receipt.ReasonNotSent, ans.Message())
			}
		}
		d, err := x.decide(ctx, st, out.Sends)
		switch {
		case err != nil:
			return out, err
		case d.Kind == Reconcile:
			return x.confirm(ctx, st, out, d.Receipt, true)
		case d.Kind != Retry:
			if d.Message == "" {
				d.Message = ans.Message()
			}
			if d.Finding == receipt.Unknown && d.Reason == receipt.ReasonNoLookup && ans.Reason != receipt.ReasonNone {
				d.Reason = ans.Reason // there is nobody to ask; what the send saw says more
			}
			return x.hold(ctx, st, out, d.Reason, d.Message)
		case svc.Lookup == nil && (ans.Reason == receipt.ReasonRefused || ans.Reason == receipt.ReasonAuth):
			// Replaying the key is the question, and this is the service's answer.
			return x.hold(ctx, st, out, ans.Reason, ans.Message())
		case out.Sends >= x.Limits.MaxSends:
			return x.hold(ctx, st, out, receipt.ReasonAttempts, ans.Message())
		}
		if err := sleep(ctx, jitter(wait)); err != nil {
			return out, err
		}
		// Another owner may have claimed the job since the last append.
		if err := x.View.bucket(job).catchUp(ctx); err != nil {
			return out, err
		}
	}
}

func (x *Executor) send(ctx context.Context, s receipt.Sender, r receipt.Request) receipt.Answer {
	ctx, cancel := context.WithTimeout(ctx, x.Limits.Send)
	defer cancel()
	return receipt.Send(ctx, s, r)
}

func (x *Executor) confirm(ctx context.Context, st state, out Outcome, r *receipt.Receipt, looked bool) (Outcome, error) {
	detail, err := r.Encode()
	if err != nil {
		return x.hold(ctx, st, out, receipt.ReasonReceipt, err.Error())
	}
	var steps []step
	out.Status, out.Receipt, out.Reason, out.Message = Confirmed, r, receipt.ReasonNone, ""
	if looked {
		out.Status = Reconciled
		steps = append(steps, step{typ: intent.Reconciled, action: true, text: detail})
	}
	steps = append(steps, step{typ: intent.ActionConfirmed, action: true, text: detail})
	stored, err := x.record(ctx, st, st.completing(steps)...)
	if stored && errors.Is(err, ErrFenced) {
		err = nil // a valid receipt proves itself, whoever wrote it; the new owner completes
	}
	return out, err
}

func (x *Executor) reject(ctx context.Context, st state, out Outcome, reason receipt.Reason, msg string) (Outcome, error) {
	if now, err := x.current(st.job, st.attempt); err != nil || !now.action.Status.Open() {
		if err != nil {
			return out, err
		}
		return x.settled(ctx, now, out)
	}
	out.Status, out.Reason, out.Message = Rejected, reason, msg
	_, err := x.record(ctx, st, st.completing([]step{
		{typ: intent.ActionRejected, action: true, detail: intent.Hold{Reason: string(reason), Message: msg}},
	})...)
	return out, err
}

// hold records that nobody can know. A hold that stands for the same reason is
// not recorded twice.
func (x *Executor) hold(ctx context.Context, st state, out Outcome, reason receipt.Reason, msg string) (Outcome, error) {
	out.Status, out.Reason, out.Message = Held, reason, msg
	now, err := x.current(st.job, st.attempt)
	switch {
	case err != nil:
		return out, err
	case !now.action.Status.Open():
		return x.settled(ctx, now, out)
	case now.action.Status == intent.Held && now.action.Reason.Reason == string(reason):
		return out, nil
	}
	_, err = x.record(ctx, now, step{
		typ: intent.HoldUnknown, action: true, detail: intent.Hold{Reason: string(reason), Message: msg},
	})
	if err != nil {
		return out, err
	}
	// An earlier owner's receipt may have landed just before the hold, which is void then.
	if now, err := x.current(st.job, st.attempt); err == nil && !now.action.Status.Open() {
		return x.settled(ctx, now, out)
	}
	return out, nil
}

// step is an event before it has a number.
type step struct {
	typ    intent.Type
	action bool   // it is about the action of the state
	detail any    // encoded as JSON, or
	text   string // the detail as it is
}

// completing adds COMPLETED for a job that is complete with its one action.
func (s state) completing(steps []step) []step {
	if s.single {
		steps = append(steps, step{typ: intent.Completed})
	}
	return steps
}

// record appends steps to the attempt.
func (x *Executor) record(ctx context.Context, st state, steps ...step) (stored bool, err error) {
	events := make([]intent.Event, len(steps))
	for i, s := range steps {
		text := s.text
		if s.detail != nil {
			if text, err = intent.Encode(s.detail); err != nil {
				return false, err
			}
		}
		ev := intent.Event{JobID: st.job, Type: s.typ, Detail: text, EmittedAtMS: time.Now().UnixMilli()}
		if s.action {
			ev.ActionID, ev.PayloadDigest = st.action.ID, st.action.Digest
		}
		events[i] = ev
	}
	return x.Append(ctx, st.job, st.attempt, events)
}

// Append logs events of this owner's attempt as one batch. It numbers them behind
// the attempt's last step. It returns nil only when they are durable, everything
// below them has been seen, and the claim to the attempt was in force there: then,
// and only then, the owner may act on them. With [ErrFenced], stored tells whether
// the events stand in the log all the same. The events may begin with the claim,
// STARTED, only if the job is fresh and this is its first attempt.
func (x *Executor) Append(ctx context.Context, job intent.JobID, attempt int32, events []intent.Event) (stored bool, err error) {
	b := x.View.bucket(job)
	defer func() {
		if err != nil {
			err = fmt.Errorf("record %s of job %q: %w", events[0].Type, job, err)
		}
	}()
	if b.unsettled(job) {
		return false, &store.AppendError{Bucket: b.n, Outcome: store.NotStored, Err: errUnsettled}
	}
	fresh, ends := events[0].Type == intent.Started, events[len(events)-1].Type == intent.Completed
	var last int32
	err = ErrFenced
	b.peek(job, func(h *intent.History) {
		switch {
		case fresh && h == nil && attempt == 1:
			err = nil
		case !fresh && h != nil && h.Owned(attempt, x.Owner.ID):
			last, err = h.Step(), nil
		}
	})
	if err != nil {
		return false, err
	}
	for i := range events {
		ev := &events[i]
		ev.Attempt, ev.Step = attempt, last+1+int32(i)
		ev.EventID = intent.NewEventID(job, attempt, x.Owner.ID, ev.Step)
		if err := ev.Check(); err != nil { // what no reader accepts would break the job for ever
			return false, &store.AppendError{Bucket: b.n, Outcome: store.NotStored, Err: err}
		}
	}
	if ends {
		b.watch(job, true)
		defer b.watch(job, false)
	}
	if _, err := x.View.Append(ctx, events); err != nil {
		return false, err
	}
	return true, b.inForce(job, attempt, x.Owner.ID)
}

// errUnsettled says that the caller forgot View.Settle.
var errUnsettled = errors.New("an earlier append of the job is not settled")

// watch notes, or stops to note, who completes the job.
func (b *bucketView) watch(job intent.JobID, on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if delete(b.ending, job); on {
		b.ending[job] = ""
	}
}

// inForce reports, after an append, whether owner's claim was in force there.
func (b *bucketView) inForce(job intent.JobID, attempt int32, owner intent.OwnerID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.open[job]
	switch {
	case b.broken[job] != nil:
		return b.broken[job]
	case h == nil && b.ending[job] == owner, h != nil && h.Owned(attempt, owner):
		return nil
	}
	return ErrFenced
}

// claimEvent is the claim to the next attempt of a job.
func (x *Executor) claimEvent(s state) intent.Event {
	detail, _ := intent.Encode(intent.Claim{Worker: x.Owner.Worker, Single: s.single}) // strings and bools always encode
	return intent.Event{
		JobID: s.job, EventID: intent.NewEventID(s.job, s.attempt+1, x.Owner.ID, 1),
		Attempt: s.attempt + 1, Step: 1, Type: intent.Started,
		EmittedAtMS: time.Now().UnixMilli(), Detail: detail,
	}
}

func orReason(r, or receipt.Reason) receipt.Reason {
	if r == receipt.ReasonNone {
		return or
	}
	return r
}

// jitter spreads a wait over its half and its whole.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
