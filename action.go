package intentlog

import (
	"context"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/recovery"
)

func unsettled(a intent.Action) error {
	return fmt.Errorf("action %q is %s: %w", a.ID, a.Status, ErrUnsettled)
}

func defaultAction(job intent.JobID, n int) intent.ActionID {
	return intent.ActionID(fmt.Sprintf("%s/%d", job, n))
}

// known returns the action as the log has it, or else the one that is open.
func known(h *intent.History, id intent.ActionID) (a intent.Action) {
	if k := h.Action(id); k != nil {
		return *k
	}
	if k := h.Current(); k != nil {
		return *k
	}
	return a
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
	detail, err := in.Detail()
	if err != nil {
		return Outcome{Job: j.id, Action: in.Action, Attempt: j.attempt}, err
	}
	out, err := j.do(ctx, in, detail)
	if err == nil {
		j.calls++
	}
	return out, err
}

// do performs the action whose intent has the given text form.
func (j *Job) do(ctx context.Context, in intent.Intent, detail string) (Outcome, error) {
	out := Outcome{Job: j.id, Action: in.Action, Attempt: j.attempt}
	var a intent.Action
	err := j.ready(ctx, func(h *intent.History) { a = known(h, in.Action) })
	switch {
	case err != nil:
		return out, err
	case a.ID == in.Action && a.Detail != detail:
		return out, fmt.Errorf("action %q: %w", in.Action, ErrPayloadMismatch)
	case a.ID == in.Action && a.Status == intent.Requested && j.w.exec.Unsent(j.id, j.attempt):
		return j.perform(ctx)
	case a.ID == in.Action && a.Status == intent.Requested:
		return j.again(ctx, out)
	case a.ID == in.Action:
		return recovery.Recorded(out, a)
	case a.ID != "":
		return out, unsettled(a)
	case j.done:
		return out, fmt.Errorf("job %q has no action %q: %w", j.id, in.Action, ErrCompleted)
	}
	if err := j.w.sendable(in); err != nil {
		return out, fmt.Errorf("action %q: %w", in.Action, err)
	}
	if !j.w.view.Reserve(in.Action, j.id) {
		// To the service one ID is one effect: it would answer with the other job's.
		return out, fmt.Errorf("action %q of another job: %w", in.Action, ErrPayloadMismatch)
	}
	ev := j.record(intent.ActionRequested, nil)
	ev.ActionID, ev.PayloadDigest, ev.Detail = in.Action, in.Digest(), detail
	if err := j.append(ctx, ev); err != nil {
		return out, err
	}
	return j.perform(ctx)
}

// perform sends the action whose intent is in the log.
func (j *Job) perform(ctx context.Context) (Outcome, error) {
	out, err := j.w.exec.Perform(ctx, j.id, j.attempt)
	j.done = j.single && err == nil && (out.Status == Confirmed || out.Status == Reconciled || out.Status == Rejected)
	return out, err
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

// Complete records that the job is done. It is for jobs with many actions.
func (j *Job) Complete(ctx context.Context) error {
	if j.done {
		return j.ready(ctx, nil)
	}
	var open intent.Action
	err := j.ready(ctx, func(h *intent.History) { open = known(h, "") })
	switch {
	case err != nil || j.done:
		return err
	case open.ID != "":
		return unsettled(open)
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
