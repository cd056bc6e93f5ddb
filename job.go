package intentlog

import (
	"context"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// Do performs one request for a job that consists of it: the intent is logged,
// the request is sent, the outcome is recorded, and the job is completed. If the
// intent has no action ID, it gets one that is derived from the job's ID.
//
// A job that was done before answers with its recorded outcome, and nothing is
// sent. A job that an earlier life left open is settled first. The same job with
// another request is [ErrPayloadMismatch].
//
// An error means that the outcome could not be learnt or recorded, or that ctx
// ended; the action is then left to Recover. A Held outcome is no error.
func (w *Worker) Do(ctx context.Context, job intent.JobID, in intent.Intent) (Outcome, error) {
	if in.Action == "" {
		in.Action = defaultAction(job, 1)
	}
	j, err := w.begin(ctx, job, true, &in)
	if err != nil {
		return Outcome{Job: job, Action: in.Action}, err
	}
	defer j.Close()
	return j.Do(ctx, in)
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
func (w *Worker) begin(ctx context.Context, job intent.JobID, single bool, in *intent.Intent) (_ *Job, err error) {
	if err := intent.CheckID("job id", string(job)); err != nil {
		return nil, err
	}
	var detail string
	if in != nil {
		if detail, err = in.Detail(); err != nil {
			return nil, err
		}
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
		if in != nil {
			a := h.Action(in.Action)
			other = a != nil && a.Detail != detail
		}
	})
	switch {
	case err != nil:
		return nil, err
	case other:
		return nil, fmt.Errorf("action %q: %w", in.Action, ErrPayloadMismatch)
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
// step whose outcome was unknown, so that the next one stands on what is true.
func (j *Job) ready(ctx context.Context) error {
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
	if j.claimed || j.done {
		return nil
	}
	if err := j.w.view.Lookup(ctx, j.id, j.stand); err != nil || !j.begun || j.claimed || j.done {
		return err
	}
	return fmt.Errorf("job %q: %w", j.id, ErrFenced) // another owner was first
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

func unsettled(a intent.Action) error {
	return fmt.Errorf("action %q is %s: %w", a.ID, a.Status, ErrUnsettled)
}

func defaultAction(job intent.JobID, n int) intent.ActionID {
	return intent.ActionID(fmt.Sprintf("%s/%d", job, n))
}

func (j *Job) result(ctx context.Context, name string) (result []byte, known bool, err error) {
	lerr := j.w.view.Lookup(ctx, j.id, func(h *intent.History) { result, known, err = h.Result(name) })
	if lerr != nil {
		err = lerr
	}
	return result, known, err
}

// Do performs one action of the job. If the intent has no action ID, it gets the
// job's ID with a number behind it: the n-th call of a handle that returns without
// an error is the n-th action, so a job that is resumed must make the same calls in
// the same order.
//
// An action that the log knows answers with its recorded outcome, and nothing is
// sent; with another request it is [ErrPayloadMismatch], before any I/O. Otherwise
// as [Worker.Do].
func (j *Job) Do(ctx context.Context, in intent.Intent) (Outcome, error) {
	if in.Action == "" {
		in.Action = defaultAction(j.id, j.calls+1)
	}
	out, err := j.do(ctx, in)
	if err == nil {
		j.calls++
	}
	return out, err
}

func (j *Job) do(ctx context.Context, in intent.Intent) (Outcome, error) {
	out := Outcome{Job: j.id, Action: in.Action, Attempt: j.attempt}
	detail, err := in.Detail()
	if err != nil {
		return out, err
	}
	if err := j.ready(ctx); err != nil {
		return out, err
	}
	known, err := j.lookup(ctx, in.Action)
	switch {
	case err != nil:
		return out, err
	case known.ID == in.Action && known.Detail != detail:
		return out, fmt.Errorf("action %q: %w", in.Action, ErrPayloadMismatch)
	case known.ID == in.Action && known.Status == intent.Requested:
		return j.again(ctx, out)
	case known.ID == in.Action:
		return recorded(out, known)
	case known.ID != "":
		return out, unsettled(known)
	case j.done:
		return out, fmt.Errorf("job %q has no action %q: %w", j.id, in.Action, ErrCompleted)
	}
	if t := j.w.opts.Targets[in.Route.Target]; t.Check != nil {
		if err := t.Check(in); err != nil {
			return out, fmt.Errorf("action %q: target %q: %w", in.Action, in.Route.Target, err)
		}
	}
	ev := j.record(intent.ActionRequested, nil)
	ev.ActionID, ev.PayloadDigest, ev.Detail = in.Action, in.Digest(), detail
	if err := j.append(ctx, ev); err != nil {
		return out, err
	}
	out, err = j.w.exec.Perform(ctx, j.id, j.attempt)
	j.done = j.single && err == nil && (out.Status == Confirmed || out.Status == Reconciled || out.Status == Rejected)
	return out, err
}

// lookup returns the action as the log has it, or else the one that is open.
func (j *Job) lookup(ctx context.Context, id intent.ActionID) (known intent.Action, err error) {
	err = j.w.view.Lookup(ctx, j.id, func(h *intent.History) {
		a := h.Action(id)
		if a == nil {
			a = h.Current()
		}
		if a != nil {
			known = *a
		}
	})
	return known, err
}

// again settles an action whose outcome an earlier call could not learn or record.
func (j *Job) again(ctx context.Context, out Outcome) (Outcome, error) {
	report, err := j.settle(ctx)
	if err != nil {
		return out, err
	}
	for _, o := range report.Outcomes {
		if o.Job == j.id && o.Action == out.Action {
			return o, j.refresh(ctx)
		}
	}
	return out, fmt.Errorf("job %q: %w", j.id, ErrFenced)
}

// recorded is the outcome that the log holds.
func recorded(out Outcome, a intent.Action) (Outcome, error) {
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

// Complete records that the job is done. It is for jobs with many actions.
func (j *Job) Complete(ctx context.Context) error {
	if err := j.ready(ctx); err != nil || j.done {
		return err
	}
	known, err := j.lookup(ctx, "")
	switch {
	case err != nil:
		return err
	case known.ID != "":
		return unsettled(known)
	}
	if err := j.append(ctx, j.record(intent.Completed, nil)); err != nil {
		return err
	}
	j.done = true
	return nil
}

// record starts an event of the given type; append numbers it.
func (j *Job) record(typ intent.Type, detail any) intent.Event {
	ev := intent.Event{JobID: j.id, Type: typ, EmittedAtMS: time.Now().UnixMilli()}
	if detail != nil {
		ev.Detail, _ = intent.Encode(detail) // plain structs of strings always encode
	}
	return ev
}

// append logs one event of the attempt and returns when this owner has seen that
// its claim is in force at that place. For the first attempt of a fresh job the
// claim goes with it in one batch. In a later attempt it may not, since another
// owner's request could stand in between, so there the claim is always older.
func (j *Job) append(ctx context.Context, ev intent.Event) error {
	events := make([]intent.Event, 0, 2)
	if !j.claimed {
		claim := j.record(intent.Started, intent.Claim{Worker: j.w.owner.Worker, Single: j.single})
		events = append(events, claim)
	}
	events = append(events, ev)
	_, err := j.w.exec.Append(ctx, j.id, j.attempt, events)
	if err == nil {
		j.begun, j.claimed = true, true
	}
	return err
}
