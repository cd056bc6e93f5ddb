package intentlog

import (
	"context"
	"fmt"

	"github.com/intentlog/intentlog/intent"
)

// Do performs one request for a job that consists of it: the intent is logged,
// the request is sent, the outcome is recorded, and the job is completed. If the
// intent has no action ID, it gets one that is derived from the job's ID.
//
// A job that was done before answers with its recorded outcome, and nothing is
// sent. A job that an earlier life left open is settled first. The same job with
// another request is [ErrPayloadMismatch], or under another action ID
// [ErrCompleted] or [ErrUnsettled].
//
// An error means that the outcome could not be learnt or recorded, or that ctx
// ended; the action is then left to Recover. A Held outcome is no error.
func (w *Worker) Do(ctx context.Context, job intent.JobID, in intent.Intent) (Outcome, error) {
	if in.Action == "" {
		in.Action = defaultAction(job, 1)
	}
	detail, err := in.Detail()
	if err != nil {
		return Outcome{Job: job, Action: in.Action}, err
	}
	j, err := w.begin(ctx, job, true, &request{in.Action, detail})
	if err != nil {
		return Outcome{Job: job, Action: in.Action}, err
	}
	defer j.Close()
	return j.do(ctx, in, detail)
}

// request is what a job is begun for, where that is known: an action and the text
// form of its intent.
type request struct {
	action intent.ActionID
	detail string
}

// JobOptions are the options of [Worker.Job]; nil and zero mean the defaults.
type JobOptions struct {
	// ManyActions says that the job may have several actions, one after the other,
	// and is complete only when [Job.Complete] says so. By default a job has one
	// action and is complete when that is settled, which recovery can then see to
	// by itself.
	ManyActions bool
}

// Job is a worker's handle on one job. It is for one goroutine.
type Job struct {
	w       *Worker
	id      intent.JobID
	single  bool
	attempt int32 // the attempt to write in
	begun   bool  // the log holds a claim to the job
	claimed bool  // this owner's claim to the attempt is in force
	done    bool
	calls   int // actions so far, for the default action IDs

	computing bool
	closed    bool
}

// Job begins a job, or continues one that this worker holds. An action that an
// earlier life left open is settled first; if it stays held, the handle's
// [Job.Do] tells so. Close the handle when the work on the job ends.
func (w *Worker) Job(ctx context.Context, job intent.JobID, opts *JobOptions) (*Job, error) {
	return w.begin(ctx, job, opts == nil || !opts.ManyActions, nil)
}

// begin makes the handle. A request that cannot be the job's is refused before
// anything is done about the job.
func (w *Worker) begin(ctx context.Context, job intent.JobID, single bool, want *request) (_ *Job, err error) {
	if err := intent.CheckID("job id", string(job)); err != nil {
		return nil, err
	}
	if err := w.take(job); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.release(job)
		}
	}()
	if err := w.view.Settle(ctx, job); err != nil {
		return nil, err
	}
	j := &Job{w: w, id: job, single: single, attempt: 1}
	other := false
	err = w.view.Lookup(ctx, job, func(h *intent.History) {
		j.stand(h)
		if want != nil {
			a := h.Action(want.action)
			other = a != nil && a.Detail != want.detail
		}
	})
	switch {
	case err != nil:
		return nil, err
	case other:
		return nil, fmt.Errorf("action %q: %w", want.action, ErrPayloadMismatch)
	case !j.begun || j.claimed || j.done:
		return j, nil
	}
	// An earlier life left it open: claim it and settle what it asked for.
	if _, err := j.settle(ctx); err != nil {
		return nil, err
	}
	return j, j.refresh(ctx)
}

// stand takes over where the job stands.
func (j *Job) stand(h *intent.History) {
	if h.Attempt == 0 {
		return
	}
	j.begun, j.done, j.attempt, j.single = true, h.Done, h.Attempt, h.Claim.Single
	j.claimed = h.Owned(h.Attempt, j.w.owner.ID)
}

// refresh reads where the job stands after it was settled.
func (j *Job) refresh(ctx context.Context) error {
	err := j.w.view.Lookup(ctx, j.id, j.stand)
	if err == nil && !j.claimed && !j.done {
		err = fmt.Errorf("job %q: %w", j.id, ErrFenced)
	}
	return err
}

// ready is asked before every step of the job: it learns what became of an earlier
// step whose outcome was unknown, so that the next one stands on what is true, and
// lets look, if there is one, see the job's history.
func (j *Job) ready(ctx context.Context, look func(*intent.History)) error {
	j.w.mu.Lock()
	closed := j.w.closed
	j.w.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case j.closed:
		return fmt.Errorf("job %q: handle is closed", j.id)
	case j.computing:
		return fmt.Errorf("job %q: a computation is at work", j.id)
	}
	if err := j.w.view.Settle(ctx, j.id); err != nil {
		return err
	}
	if look == nil {
		return nil
	}
	fenced := false
	err := j.w.view.Lookup(ctx, j.id, func(h *intent.History) {
		if !j.claimed && !j.done {
			j.stand(h)
			fenced = j.begun && !j.claimed && !j.done // another owner was first
		}
		look(h)
	})
	if err == nil && fenced {
		err = fmt.Errorf("job %q: %w", j.id, ErrFenced)
	}
	return err
}

// settle recovers this one job.
func (j *Job) settle(ctx context.Context) (*Report, error) {
	opts := j.w.recoverOptions()
	opts.Quarantine = true // another job's broken history is not this job's business
	opts.Skip = func(job intent.JobID) bool { return job != j.id }
	return j.w.recover(ctx, opts)
}

// ID returns the job's ID.
func (j *Job) ID() intent.JobID { return j.id }

// Attempt returns the attempt that this handle works in, from 1.
func (j *Job) Attempt() int32 { return j.attempt }

// Completed reports whether the job is completed.
func (j *Job) Completed() bool { return j.done }

// Close gives the handle back. An open job stays open.
func (j *Job) Close() {
	if !j.closed {
		j.closed = true
		j.w.release(j.id)
	}
}
