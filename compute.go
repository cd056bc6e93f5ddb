package intentlog

import (
	"context"
	"fmt"

	"github.com/intentlog/intentlog/intent"
)

// Compute runs fn, which must have no effect outside, and logs its result under
// name; an attempt that finds the result in the log gets it without running fn.
// The caller owns the returned bytes.
func (j *Job) Compute(ctx context.Context, name string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	if err := intent.CheckID("computation", name); err != nil {
		return nil, err
	}
	var result []byte
	var done bool
	var broken error
	var open intent.Action
	err := j.ready(ctx, func(h *intent.History) {
		result, done, broken = h.Result(name)
		open = known(h, "")
	})
	switch {
	case err != nil:
		return nil, err
	case broken != nil || done:
		return result, broken
	case open.ID != "":
		return nil, unsettled(open)
	case j.done:
		return nil, fmt.Errorf("job %q: %w", j.id, ErrCompleted)
	}
	j.computing = true
	defer func() { j.computing = false }()
	if err := j.append(ctx, j.record(intent.ComputeStarted, intent.Computation{Name: name})); err != nil {
		return nil, err
	}
	if result, err = fn(ctx); err != nil {
		return nil, fmt.Errorf("compute %q: %w", name, err)
	}
	if len(result) > intent.MaxPayload {
		return nil, fmt.Errorf("compute %q: result of %d bytes: %w", name, len(result), intent.ErrPayloadTooLarge)
	}
	finished := j.record(intent.ComputeFinished, intent.NewComputation(name, result))
	finished.PayloadDigest = intent.DigestOf(result)
	if err := j.append(ctx, finished); err != nil {
		return nil, err
	}
	return result, nil
}
