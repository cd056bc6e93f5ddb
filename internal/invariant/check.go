package invariant

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

// Check reports every violation of I1 to I5 and I7 to I9.
func Check(t *Trace) error {
	return errors.Join(OneEffect(t), SavedBytes(t), NoSendOnHold(t), WholePrefix(t), FittingReceipts(t),
		DoneStaysDone(t), SendRule(t), ReconcileSilent(t))
}

// OneEffect is I1: a key-bound service has had at most one effect per action, and
// exactly one, of the saved bytes, where the log says confirmed by a receipt in a
// job that is done.
func OneEffect(t *Trace) error {
	if !t.KeyBound {
		return nil
	}
	var errs []error
	count := map[intent.ActionID]int{}
	for _, e := range t.Effects {
		if count[e.Action]++; count[e.Action] == 2 {
			errs = append(errs, fmt.Errorf("I1: second effect of action %q at tick %d", e.Action, e.At))
		}
	}
	for _, job := range t.jobs() {
		h := t.fold(job, all)
		for i := range h.Actions {
			a := &h.Actions[i]
			if h.Done && a.Status == intent.Confirmed && a.Receipt != "" && count[a.ID] == 0 {
				errs = append(errs, fmt.Errorf("I1: action %q of job %q is confirmed and had no effect", a.ID, job))
			}
		}
	}
	return errors.Join(errs...)
}

// SavedBytes is I2: what was sent is the payload of an intent that somebody knew
// to be in the log before.
func SavedBytes(t *Trace) error {
	var errs []error
	for _, s := range t.Sends {
		if !t.saved(s) {
			errs = append(errs, fmt.Errorf("I2: send at tick %d of %d bytes for action %q is no acknowledged intent", s.At, len(s.Body), s.Action))
		}
	}
	return errors.Join(errs...)
}

func (t *Trace) saved(s Send) (found bool) {
	t.records(func(b int, r *store.Record) {
		if r.Event.Type != intent.ActionRequested || r.Event.ActionID != s.Action || r.Offset >= t.acked(b, s.At) {
			return
		}
		in, err := intent.ParseDetail(s.Action, r.Event.Detail)
		found = found || err == nil && bytes.Equal(in.Payload, s.Body)
	})
	return found
}

// NoSendOnHold is I3: where the log says that the action is held, nothing is sent,
// nor where it says that it is settled. What counts is the log as the sender had
// been given it, or, if the sender is not known, the events of its own and earlier
// attempts that anybody had learnt of: one that was overtaken cannot know the rest.
// A send whose attempt is not known is passed over.
func NoSendOnHold(t *Trace) error {
	var errs []error
	for _, s := range t.Sends {
		if s.Attempt == 0 || len(t.Log) == 0 {
			continue
		}
		b := store.BucketFor(s.Job, len(t.Log))
		end, known := t.acked(b, s.At), s.Who != "" && len(t.Seen) > 0
		if known {
			end = t.seen(s.Who, b, s.At)
		}
		h := t.fold(s.Job, func(r *store.Record) bool { return r.Offset < end && r.Event.Attempt <= s.Attempt })
		a := h.Action(s.Action)
		if a != nil && h.Attempt == s.Attempt && (a.Status == intent.Held || known && !a.Status.Open()) {
			errs = append(errs, fmt.Errorf("I3: send at tick %d of action %q, which is %s (%q)", s.At, s.Action, a.Status, a.Hold))
		}
	}
	return errors.Join(errs...)
}

// WholePrefix is I4: a recovery that ended without an error had seen everything
// that was acknowledged before it began, and its bounds say so.
func WholePrefix(t *Trace) error {
	var errs []error
	for i, r := range t.Recoveries {
		if r.Err != nil {
			continue
		}
		for b := range t.Log {
			end := t.acked(b, r.From)
			if b < len(r.Bounds) && r.Bounds[b] < end {
				errs = append(errs, fmt.Errorf("I4: recovery %d has bound %d in bucket %d, acknowledged up to %d", i, r.Bounds[b], b, end))
			}
			if seen := t.seen(r.Who, b, r.To); len(t.Seen) > 0 && seen < end {
				errs = append(errs, fmt.Errorf("I4: recovery %d has read up to %d in bucket %d, acknowledged up to %d", i, seen, b, end))
			}
		}
	}
	return errors.Join(errs...)
}

// FittingReceipts is I5: every confirmation in the log carries a receipt about its
// own action and its own payload.
func FittingReceipts(t *Trace) error {
	var errs []error
	t.records(func(b int, r *store.Record) {
		if r.Event.Type != intent.ActionConfirmed && r.Event.Type != intent.Reconciled {
			return
		}
		got, err := receipt.Parse(r.Event.Detail)
		if err == nil {
			err = got.Check(r.Event.ActionID, r.Event.PayloadDigest)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("I5: %s at offset %d of bucket %d: %w", r.Event.Type, r.Offset, b, err))
		}
	})
	return errors.Join(errs...)
}

// DoneStaysDone is I7: in every longer prefix of a job what was settled is still
// settled, and no recovery decided to send again what was acknowledged as settled
// before it began.
func DoneStaysDone(t *Trace) error {
	var errs []error
	for _, job := range t.jobs() {
		settled := map[intent.ActionID]intent.Status{}
		t.fold(job, func() func(*store.Record) bool {
			h := &intent.History{}
			return func(r *store.Record) bool {
				if h.Fold(&r.Event, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}) != nil {
					return true
				}
				for i := range h.Actions {
					a := &h.Actions[i]
					if was, ok := settled[a.ID]; ok && was != a.Status {
						errs = append(errs, fmt.Errorf("I7: action %q went from %s to %s at offset %d", a.ID, was, a.Status, r.Offset))
					}
					if !a.Status.Open() {
						settled[a.ID] = a.Status
					}
				}
				return true
			}
		}())
	}
	for i, r := range t.Recoveries {
		for _, d := range r.Decisions {
			end := t.ackedOf(d.Job, r.From)
			h := t.fold(d.Job, func(r *store.Record) bool { return r.Offset < end })
			if a := h.Action(d.Action); d.Kind == recovery.Retry && a != nil && !a.Status.Open() {
				errs = append(errs, fmt.Errorf("I7: recovery %d decides to retry action %q, which is %s", i, d.Action, a.Status))
			}
		}
	}
	return errors.Join(errs...)
}

// SendRule is I8, in its sharp form: whoever sends has been given every record up
// to the claim of the attempt and up to the intent, so no short, empty or failed
// read can lead to a send. It also asks that the attempt's claim is the one in
// force among those records. Sends of unknown senders or attempts are passed over.
func SendRule(t *Trace) error {
	var errs []error
	for _, s := range t.Sends {
		if s.Who == "" || s.Attempt == 0 || len(t.Log) == 0 || len(t.Seen) == 0 {
			continue
		}
		b := store.BucketFor(s.Job, len(t.Log))
		seen := t.seen(s.Who, b, s.At)
		h := t.fold(s.Job, func(r *store.Record) bool { return r.Offset < seen })
		switch a := h.Action(s.Action); {
		case a == nil:
			errs = append(errs, fmt.Errorf("I8: %q sent action %q at tick %d and had read up to %d, where it is not requested", s.Who, s.Action, s.At, seen))
		case h.Attempt != s.Attempt:
			errs = append(errs, fmt.Errorf("I8: %q sent action %q at tick %d in attempt %d and had read that %d is in force", s.Who, s.Action, s.At, s.Attempt, h.Attempt))
		}
	}
	return errors.Join(errs...)
}

// ReconcileSilent is I9: what a recovery decided to reconcile it did not send.
func ReconcileSilent(t *Trace) error {
	var errs []error
	for i, r := range t.Recoveries {
		for _, d := range r.Decisions {
			for _, s := range t.Sends {
				if d.Kind == recovery.Reconcile && s.Action == d.Action && s.Who == r.Who && r.From < s.At && s.At < r.To {
					errs = append(errs, fmt.Errorf("I9: recovery %d reconciled action %q and sent it at tick %d", i, d.Action, s.At))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// Quiet is I6: between two traces of the same run, taken before and after a
// recovery that had no new evidence, nothing was sent and the log has no new
// records but claims and barriers.
func Quiet(before, after *Trace) error {
	var errs []error
	if a, b := len(before.Sends), len(after.Sends); a != b {
		errs = append(errs, fmt.Errorf("I6: the second recovery sent %d requests", b-a))
	}
	after.records(func(b int, r *store.Record) {
		if b < len(before.Log) && r.Offset < int64(len(before.Log[b])) || r.Event.Type == intent.Started || r.Event.Type == intent.Barrier {
			return
		}
		errs = append(errs, fmt.Errorf("I6: the second recovery appended %s for job %q", r.Event.Type, r.Event.JobID))
	})
	return errors.Join(errs...)
}

// Ended is I10: every job of the log is completed, or its last action is rejected
// or held.
func Ended(t *Trace) error {
	var errs []error
	for _, job := range t.jobs() {
		h := t.fold(job, all)
		ended := h.Done
		if n := len(h.Actions); n > 0 {
			last := h.Actions[n-1].Status
			ended = ended || last == intent.Held || last == intent.Rejected
		}
		if !ended {
			errs = append(errs, fmt.Errorf("I10: %s", h))
		}
	}
	return errors.Join(errs...)
}

func (t *Trace) ackedOf(job intent.JobID, before Tick) int64 {
	if len(t.Log) == 0 {
		return 0
	}
	return t.acked(store.BucketFor(job, len(t.Log)), before)
}

func all(*store.Record) bool { return true }
