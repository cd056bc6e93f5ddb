package recovery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
)

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
	svc, err := x.services(in)
	if err != nil {
		return x.hold(ctx, st, out, receipt.ReasonTarget, receipt.Doubt(receipt.ReasonTarget, err).Message())
	}
	if svc.Contract.Safety == receipt.NotAfter {
		if err := x.fill(ctx, &st); err != nil {
			return out, err
		}
	}
	req := x.request(st, in, svc.Contract)
	for unsent, wait := 0, x.limits.Backoff; ; wait = min(2*wait, x.limits.MaxBackoff) {
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
		x.view.bucket(job).sending(job, attempt)
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
			if unsent++; unsent < x.limits.MaxUnsent {
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
		case ctx.Err() != nil:
			return out, fmt.Errorf("action %q: no answer in time: %w", st.action.ID, ctx.Err())
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
		case out.Sends >= x.limits.MaxSends:
			return x.hold(ctx, st, out, receipt.ReasonAttempts, ans.Message())
		}
		if err := sleep(ctx, jitter(wait)); err != nil {
			return out, err
		}
		// Another owner may have claimed the job since the last append.
		if err := x.view.bucket(job).catchUp(ctx); err != nil {
			return out, err
		}
		switch kept, err := x.remembered(ctx, &st, svc.Contract); {
		case err != nil:
			return out, err
		case !kept:
			return x.hold(ctx, st, out, receipt.ReasonRetention, ans.Message())
		}
	}
}

func (x *Executor) send(ctx context.Context, s receipt.Sender, r receipt.Request) receipt.Answer {
	ctx, cancel := context.WithTimeout(ctx, x.limits.Send)
	defer cancel()
	return receipt.Send(ctx, s, r)
}

func (x *Executor) confirm(ctx context.Context, st state, out Outcome, r *receipt.Receipt, looked bool) (Outcome, error) {
	detail, err := r.Encode()
	if err != nil {
		return x.hold(ctx, st, out, receipt.ReasonReceipt, err.Error())
	}
	steps := make([]step, 0, 3)
	out.Status, out.Receipt, out.Reason, out.Message = Confirmed, r, receipt.ReasonNone, ""
	if looked {
		out.Status = Reconciled
		steps = append(steps, step{typ: intent.Reconciled, action: true, text: detail})
	}
	steps = append(steps, step{typ: intent.ActionConfirmed, action: true, text: detail})
	// A proof in hand is recorded though the caller no longer waits for it.
	stored, err := x.record(context.WithoutCancel(ctx), st, st.completing(steps)...)
	switch {
	case stored && errors.Is(err, ErrFenced):
		err = nil // a valid receipt proves itself, whoever wrote it; the new owner completes
	case errors.Is(err, store.ErrTooLarge) && store.OutcomeOf(err) == store.NotStored && len(r.Body) > 0:
		lean := *r
		lean.Body = nil // what the service said is less than that it said it
		return x.confirm(ctx, st, out, &lean, looked)
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
	_, err := x.record(context.WithoutCancel(ctx), st, st.completing([]step{
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
	case now.action.Status == intent.Held && reason == receipt.ReasonNoLookup:
		// That there is nobody to ask says less than what led to the hold.
		out.Reason, out.Message = receipt.Reason(now.action.Reason.Reason), now.action.Reason.Message
		return out, nil
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

// settled is the outcome of an action that a valid receipt of an earlier owner has
// settled while this one was at work on it.
func (x *Executor) settled(ctx context.Context, st state, out Outcome) (Outcome, error) {
	if st.action.Status != intent.Confirmed {
		return out, fmt.Errorf("action %q is %s", st.action.ID, st.action.Status)
	}
	out, err := Recorded(out, st.action)
	if err != nil || !st.single {
		return out, err
	}
	_, err = x.record(ctx, st, step{typ: intent.Completed})
	return out, err
}

func orReason(r, or receipt.Reason) receipt.Reason {
	if r == receipt.ReasonNone {
		return or
	}
	return r
}

// jitter spreads a wait over its half and its whole.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
