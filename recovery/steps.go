package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

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
	b := x.view.bucket(job)
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
	b.peek(job, func(h *openJob) {
		switch {
		case fresh && h == nil && attempt == 1:
			err = nil
		case !fresh && h != nil && h.Owned(attempt, x.owner.ID):
			last, err = h.Step(), nil
		case h != nil && proof(events[0].Type) && h.StepIn(attempt, x.owner.ID) > 0:
			// Void but for the receipt, which proves itself from a lost attempt too.
			last, err = h.StepIn(attempt, x.owner.ID), nil
		}
	})
	if err != nil {
		return false, err
	}
	for i := range events {
		ev := &events[i]
		ev.Attempt, ev.Step = attempt, last+1+int32(i)
		ev.EventID = intent.NewEventID(job, attempt, x.owner.ID, ev.Step)
		if err := ev.Check(); err != nil { // what no reader accepts would break the job for ever
			return false, &store.AppendError{Bucket: b.n, Outcome: store.NotStored, Err: err}
		}
	}
	if ends {
		b.watch(job, true)
		defer b.watch(job, false)
	}
	if _, err := x.view.Append(ctx, events); err != nil {
		return false, err
	}
	return true, b.inForce(job, attempt, x.owner.ID)
}

func proof(t intent.Type) bool { return t == intent.ActionConfirmed || t == intent.Reconciled }

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
	detail, _ := intent.Encode(intent.Claim{Worker: x.owner.Worker, Single: s.single}) // strings and bools always encode
	return intent.Event{
		JobID: s.job, EventID: intent.NewEventID(s.job, s.attempt+1, x.owner.ID, 1),
		Attempt: s.attempt + 1, Step: 1, Type: intent.Started,
		EmittedAtMS: time.Now().UnixMilli(), Detail: detail,
	}
}

// current returns the state of a job that this owner must hold in attempt.
func (x *Executor) current(job intent.JobID, attempt int32) (st state, err error) {
	held := false
	x.view.bucket(job).peek(job, func(h *openJob) {
		if held = h != nil && h.Owned(attempt, x.owner.ID); held {
			st = stateOf(&h.History)
		}
	})
	if !held {
		return st, fmt.Errorf("attempt %d: %w", attempt, ErrFenced)
	}
	return st, nil
}
