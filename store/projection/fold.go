package projection

import (
	"context"
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// fold is what one bucket's records were found to be, up to an offset.
type fold struct {
	to         int64   // everything below is folded
	duplicates []int64 // offsets of identical repetitions, in order
	counts     counts
}

// counts are the sums of a bucket.
type counts struct{ events, void, barriers int64 }

// validate folds every bucket up to a fresh bound. A broken history is kept: the
// log does not get better.
func (p *Projector) validate(ctx context.Context) error {
	if p.broken != nil {
		return p.broken
	}
	for b := range p.folds {
		bound, err := p.st.Bound(ctx, b)
		if err != nil {
			return fmt.Errorf("bound of bucket %d: %w", b, err)
		}
		f := &p.folds[b]
		if bound.End < f.to {
			return &store.ReadError{Bucket: b, Offset: bound.End, Err: fmt.Errorf("%w: read up to %d before", store.ErrLogRegressed, f.to)}
		}
		err = p.st.Read(ctx, b, f.to, bound.End, func(r *store.Record) error {
			if r.Offset != f.to {
				return &store.ReadError{Bucket: b, Offset: f.to, Err: fmt.Errorf("%w: got offset %d", store.ErrGap, r.Offset)}
			}
			if p.broken = p.admit(b, r); p.broken != nil {
				return p.broken
			}
			f.to++
			return nil
		})
		switch {
		case err != nil:
			return err
		case f.to != bound.End:
			return &store.ReadError{Bucket: b, Offset: f.to, Err: fmt.Errorf("%w: read ended before %d", store.ErrGap, bound.End)}
		}
	}
	return nil
}

// admit folds one record.
func (p *Projector) admit(bucket int, r *store.Record) error {
	ev, f := &r.Event, &p.folds[bucket]
	if ev.Type == intent.Barrier {
		if err := ev.Check(); err != nil {
			return &intent.HistoryError{Event: ev.EventID, Offset: r.Offset, Err: err}
		}
		f.counts.barriers++
		return nil
	}
	if store.BucketFor(ev.JobID, len(p.folds)) != bucket {
		err := fmt.Errorf("%w: a job of another bucket than %d", intent.ErrMalformed, bucket)
		return &intent.HistoryError{Job: ev.JobID, Event: ev.EventID, Offset: r.Offset, Err: err}
	}
	h := p.jobs[ev.JobID]
	if h == nil {
		h = &intent.History{}
	}
	void, duplicates := h.Void, h.Duplicate
	if err := h.Fold(ev, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}); err != nil {
		return err
	}
	p.jobs[h.Job] = h
	if h.Done {
		// Later events can only repeat, or be void; the requests are needed no more.
		h.Actions, h.Results = nil, nil
	}
	if h.Duplicate > duplicates {
		f.duplicates = append(f.duplicates, r.Offset)
		return nil
	}
	f.counts.events++
	f.counts.void += int64(h.Void - void)
	return nil
}
