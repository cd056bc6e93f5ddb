package schedule

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/invariant"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

// check asks for every invariant. OneEffect is asked of every service, since each
// honest one has its own reason why a second effect cannot be.
func (r *runner) check() error {
	ctx := context.Background()
	before, err := r.w.Recorder.Trace(ctx, r.w.Honest)
	if err != nil {
		return err
	}
	r.finals = append(r.finals, r.start(Recover))
	after, err := r.w.Recorder.Trace(ctx, r.w.Honest)
	if err != nil {
		return err
	}
	return errors.Join(
		invariant.Check(after), invariant.Ended(after), invariant.Quiet(before, after),
		Ownership(after), r.oneSender(after), r.rejectedMeansNothing(after), r.settled(), r.sound(),
	)
}

func (r *runner) oneSender(t *invariant.Trace) error {
	if r.Terms.Contract.Safety != receipt.None {
		return nil
	}
	return OneSender(t)
}

// rejectedMeansNothing asks that an action that the log calls rejected had no effect.
func (r *runner) rejectedMeansNothing(t *invariant.Trace) error {
	h := r.history()
	for _, e := range t.Effects {
		if a := h.Action(e.Action); a != nil && a.Status == intent.Rejected {
			return fmt.Errorf("action %q is rejected and had an effect", e.Action)
		}
	}
	return nil
}

// settled asks that a service that can always be asked leaves nothing held.
func (r *runner) settled() error {
	if h := r.history(); r.Terms.Settles && !h.Done && (len(h.Actions) == 0 || h.Actions[0].Status != intent.Rejected) {
		return fmt.Errorf("I10: not completed, though the service can always be asked: %s", h)
	}
	return nil
}

// sound asks that no life met a log that breaks the rules, that a life without
// faults could recover, and that nobody was told of other bytes where all want the same.
func (r *runner) sound() error {
	var errs []error
	for _, l := range r.lives {
		for _, err := range l.Errs {
			var broken *intent.HistoryError
			if errors.Is(err, recovery.ErrBroken) || errors.As(err, &broken) || r.Many && errors.Is(err, intentlog.ErrPayloadMismatch) {
				errs = append(errs, fmt.Errorf("life %s: %w", l.Name, err))
			}
		}
	}
	for _, l := range r.finals {
		if len(l.Reports) == 0 {
			errs = append(errs, fmt.Errorf("life %s had no faults and could not recover: %v", l.Name, l.Errs))
		}
	}
	return errors.Join(errs...)
}

// history is the job by the log as it is.
func (r *runner) history() *intent.History {
	ctx, h := context.Background(), &intent.History{}
	bound, err := r.w.Honest.Bound(ctx, 0)
	if err != nil {
		return h
	}
	_ = r.w.Honest.Read(ctx, 0, 0, bound.End, func(rec *store.Record) error {
		if rec.Event.JobID != job {
			return nil
		}
		return h.Fold(&rec.Event, intent.Mark{Offset: rec.Offset, CommitMS: rec.CommitMS})
	})
	return h
}
