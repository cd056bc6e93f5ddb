package recovery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// claimAll claims the open jobs, and those that show up while it does, until none
// is new.
func (r *recovering) claimAll(ctx context.Context) error {
	for _, b := range r.view.buckets {
		for {
			jobs := r.candidates(b)
			if len(jobs) == 0 {
				break
			}
			for part := range slices.Chunk(jobs, r.limits.ClaimsAtOnce) {
				if err := r.claim(ctx, b, part); err != nil {
					return fmt.Errorf("recover: %w", err)
				}
			}
		}
	}
	return nil
}

// candidates lists the open jobs of a bucket that this run may take and has not
// dealt with yet.
func (r *recovering) candidates(b *bucketView) []intent.JobID {
	workers := map[intent.JobID]string{}
	b.mu.Lock()
	for job, h := range b.open {
		if _, done := r.mine[job]; !done && h.Attempt > 0 {
			workers[job] = h.Claim.Worker
		}
	}
	b.mu.Unlock()
	// The user is asked without the lock: what he does to know may take its time.
	var jobs []intent.JobID
	for _, job := range sortedKeys(workers) {
		if r.mayTake(job, workers[job]) {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

func (r *recovering) mayTake(job intent.JobID, worker string) bool {
	if worker != r.owner.Worker && (r.opts.TakeOver == nil || !r.opts.TakeOver(worker)) {
		return false
	}
	return r.opts.Skip == nil || !r.opts.Skip(job) // asked last: it may reserve the job
}

// claim claims jobs of one bucket in one append. A job that this owner holds
// already, and for which it has sent nothing under that claim, needs no new one.
func (r *recovering) claim(ctx context.Context, b *bucketView, jobs []intent.JobID) error {
	for _, job := range jobs {
		if err := r.view.Settle(ctx, job); err != nil {
			return err
		}
	}
	var events []intent.Event
	for _, job := range jobs {
		var st state
		reuse := false
		b.peek(job, func(h *openJob) {
			if h != nil {
				st = stateOf(&h.History)
				reuse = h.Owned(h.Attempt, r.owner.ID) && h.sent != h.Attempt && !waitsForClaim(&h.History)
			}
		})
		if reuse {
			late, err := r.tooLate(ctx, st)
			if err != nil {
				return err
			}
			reuse = !late
		}
		switch {
		case st.job == "":
			r.mine[job] = 0 // finished, or broken, while its doubts were settled
		case reuse:
			r.mine[job] = st.attempt
		default:
			r.mine[job] = st.attempt + 1
			events = append(events, r.claimEvent(st))
		}
	}
	if len(events) == 0 {
		return nil
	}
	_, err := b.append(ctx, events)
	return err
}

// tooLate reports whether a request of this attempt would carry a deadline, which
// counts from its claim, that is over: it takes a new claim to send it.
func (r *recovering) tooLate(ctx context.Context, st state) (bool, error) {
	if !st.action.Status.Open() || r.services == nil {
		return false, nil
	}
	in, err := st.action.Intent()
	if err != nil {
		return false, err
	}
	svc, err := r.services(in)
	if err != nil || svc.Contract.Safety != receipt.NotAfter {
		return false, nil // decide tells about a service that there is not
	}
	if err := r.fill(ctx, &st); err != nil {
		return false, err
	}
	deadline := r.request(st, in, svc.Contract).NotAfter
	return time.UnixMilli(r.view.bucket(st.job).now()).After(deadline), nil
}

// waitsForClaim reports whether an operator allowed the next attempt to send.
func waitsForClaim(h *intent.History) bool {
	a := h.Current()
	return a != nil && a.ByOperator && a.Status == intent.Requested && a.ResolvedIn == h.Attempt
}
