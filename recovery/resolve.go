package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// ErrNotHeld says that an operator's decision is about a hold that does not stand:
// the action is settled, or was held again for another reason since.
var ErrNotHeld = errors.New("no such hold")

// Resolve records an operator's decision about a held action. It claims the job as
// [Recover] does, and appends HOLD_RESOLVED. Nothing is sent and nobody is asked.
//
// The decision must say who made it and why. It ends the hold that it names and no
// other; with an empty Hold it ends the one that stands. ResolveRetry allows the
// next attempt, and only that, to send the saved bytes once more, whatever the
// contract and the lookup say, unless that finds the receipt: Recover then claims
// that attempt. ResolveConfirm and ResolveReject settle the action, and complete a
// job that consists of it. A decision in place of evidence can do an effect twice,
// or lose it; the log then says whose it was.
//
// Errors: ErrNotHeld, ErrFenced if the job is another owner's, an
// intent.HistoryError if its history is broken; as Recover otherwise.
func Resolve(ctx context.Context, st store.Store, owner intent.Owner, job intent.JobID, action intent.ActionID, res intent.Resolution, opts *Options) error {
	if err := checkResolution(res); err != nil {
		return fmt.Errorf("resolve action %q: %w", action, err)
	}
	o := Options{}
	if opts != nil {
		o = *opts
	}
	skip := o.Skip
	o.Skip = func(other intent.JobID) bool { return other != job || skip != nil && skip(other) }
	o.Quarantine, o.DryRun = true, false // another job's broken history is not this job's business
	if o.View == nil {
		o.View = NewView(st, nil)
		defer o.View.Wait()
	}
	r := newRecovering(o, owner, nil)
	if err := r.read(ctx); err != nil {
		return err
	}
	// Look before claiming: a decision about nothing should leave no trace.
	held := false
	err := o.View.Lookup(ctx, job, func(h *intent.History) { held = stands(h.Action(action), res.Hold) })
	switch {
	case err != nil:
		return fmt.Errorf("resolve: %w", err)
	case !held:
		return fmt.Errorf("resolve action %q of job %q: %w", action, job, ErrNotHeld)
	}
	if err := r.claimAll(ctx); err != nil {
		return err
	}
	s, err := r.current(job, r.mine[job])
	switch {
	case err != nil:
		return fmt.Errorf("resolve job %q: %w", job, err)
	case s.action.ID != action || !stands(&s.action, res.Hold):
		return fmt.Errorf("resolve action %q of job %q: %w", action, job, ErrNotHeld)
	}
	res.Hold = s.action.Hold
	steps := []step{{typ: intent.HoldResolved, action: true, detail: res}}
	if res.Decision != intent.ResolveRetry {
		steps = s.completing(steps)
	}
	_, err = r.record(ctx, s, steps...)
	return err
}

func stands(a *intent.Action, hold intent.EventID) bool {
	return a != nil && a.Status == intent.Held && (hold == "" || a.Hold == hold)
}

func checkResolution(res intent.Resolution) error {
	switch res.Decision {
	case intent.ResolveRetry, intent.ResolveConfirm, intent.ResolveReject:
	default:
		return fmt.Errorf("there is no decision %q", res.Decision)
	}
	if res.By == "" || res.By == intent.ByLookup || res.Reason == "" {
		return errors.New("a decision needs the name of the operator and a reason")
	}
	return nil
}
