package schedule

import (
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/invariant"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

// Ownership asks for what the order of the log promises: an attempt has one owner
// that sends, what was ever sent is the intent that the log calls effective, and no
// recovery that begins after a send misses the intent.
func Ownership(t *invariant.Trace) error {
	type attempt struct {
		job intent.JobID
		n   int32
	}
	var errs []error
	senders, bodies := map[attempt]string{}, map[intent.ActionID]string{}
	for _, s := range t.Sends {
		at := attempt{s.Job, s.Attempt}
		if who, ok := senders[at]; ok && who != s.Who {
			errs = append(errs, fmt.Errorf("ownership: %s and %s both sent in attempt %d of %q", who, s.Who, s.Attempt, s.Job))
		}
		senders[at] = s.Who
		if body, ok := bodies[s.Action]; ok && body != string(s.Body) {
			errs = append(errs, fmt.Errorf("ownership: action %q was sent as %q and as %q", s.Action, body, s.Body))
		}
		bodies[s.Action] = string(s.Body)
		if a := fold(t, s.Job).Action(s.Action); a == nil || a.Digest != intent.DigestOf(s.Body) {
			errs = append(errs, fmt.Errorf("ownership: %s sent %q for action %q, which is not the effective intent", s.Who, s.Body, s.Action))
		}
		for i, r := range t.Recoveries {
			for _, d := range r.Decisions {
				if r.Err == nil && s.At < r.From && d.Job == s.Job && d.Kind == recovery.Resume && d.Action == "" {
					errs = append(errs, fmt.Errorf("ownership: recovery %d found no intent of %q, which was sent before", i, s.Job))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// OneSender asks, of a service that nothing makes safe, that only one life ever sent.
func OneSender(t *invariant.Trace) error {
	who := map[intent.ActionID]string{}
	for _, s := range t.Sends {
		if was, ok := who[s.Action]; ok && was != s.Who {
			return fmt.Errorf("ownership: %s and %s both sent action %q, and nothing makes a second send safe", was, s.Who, s.Action)
		}
		who[s.Action] = s.Who
	}
	return nil
}

// fold is a job by the log as it is.
func fold(t *invariant.Trace, job intent.JobID) *intent.History {
	h := &intent.History{}
	for _, r := range t.Log[store.BucketFor(job, len(t.Log))] {
		if r.Event.JobID == job && h.Fold(&r.Event, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}) != nil {
			break
		}
	}
	return h
}
