package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// unsettled reports whether an append of the job is under way or in doubt.
func (b *bucketView) unsettled(job intent.JobID) bool {
	b.qmu.Lock()
	defer b.qmu.Unlock()
	return b.inFlight[job] != nil || b.doubts[job] != nil
}

// Settle learns what became of the job's earlier appends: it waits for one that
// is under way, and appends again, byte for byte, what could not be learnt. An
// event whose late first copy arrives after that is an identical repetition.
func (v *View) Settle(ctx context.Context, job intent.JobID) error {
	b := v.bucket(job)
	for {
		b.qmu.Lock()
		p, doubt := b.inFlight[job], b.doubts[job]
		b.qmu.Unlock()
		switch {
		case p != nil:
			select {
			case <-p.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		case doubt != nil:
			if _, err := b.append(ctx, doubt); err != nil {
				return fmt.Errorf("settle job %q: %w", job, err)
			}
		default:
			return nil
		}
	}
}

// appendSeen appends events, resolves an unknown outcome, and sees everything up
// to the last of them; b.reading is held. doubt tells that they may be there already.
func (b *bucketView) appendSeen(ctx context.Context, events []intent.Event, doubt bool) (int64, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		first, err := b.v.st.Append(ctx, b.n, events)
		switch outcome := store.OutcomeOf(err); {
		case outcome == store.Stored:
			return first, b.see(ctx, first, events)
		case outcome == store.NotStored && !doubt:
			return 0, err
		case outcome == store.NotStored && !transient(err):
			return 0, unknown(b.n, err) // this copy is not there, an earlier one may be
		}
		doubt = true
		first, found, rerr := b.find(ctx, events)
		switch {
		case rerr == nil && found:
			return first, nil
		case rerr != nil && !transient(rerr):
			return 0, unknown(b.n, errors.Join(err, rerr))
		}
		// Not there now: it may still arrive, and then it is the same bytes twice.
		select {
		case <-ctx.Done():
			return 0, unknown(b.n, errors.Join(err, rerr))
		case <-time.After(wait):
		}
	}
}

// find reads on to a fresh bound and tells whether the whole batch stands in what it
// read, and where. Its first event alone proves nothing: a batch may begin with one that
// Settle repeats, and an older copy of that be read now.
func (b *bucketView) find(ctx context.Context, batch []intent.Event) (at int64, found bool, err error) {
	n := 0 // events of the batch that stand one after the other from at on
	err = b.catchUpLocked(ctx, func(r *store.Record) {
		if found {
			return
		}
		if r.Event.EventID != batch[n].EventID {
			n = 0
		}
		if r.Event.EventID == batch[n].EventID {
			if n == 0 {
				at = r.Offset
			}
			n++
			found = n == len(batch)
		}
	})
	return at, found, err
}

// transient reports whether trying once more may help. Whatever says that the log
// itself is in doubt is not transient.
func transient(err error) bool {
	for _, final := range []error{
		store.ErrClosed, store.ErrPoisoned, store.ErrCorrupt, store.ErrGap, store.ErrPrefixMissing,
		store.ErrPrefixRemote, store.ErrTableChanged, store.ErrLogRegressed, store.ErrForeign,
	} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

func unknown(bucket int, err error) error {
	return &store.AppendError{Bucket: bucket, Outcome: store.Unknown, Err: err}
}

// see folds everything up to the last of events, which stand from first on;
// b.reading is held. If nobody else wrote in between there is nothing to read.
func (b *bucketView) see(ctx context.Context, first int64, events []intent.Event) error {
	if err := b.readLocked(ctx, first, nil); err != nil {
		return unknown(b.n, fmt.Errorf("read on to the own append: %w", err))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if first < b.pos {
		// Everything below pos was read, and what was appended just now was not there.
		return unknown(b.n, fmt.Errorf("%w: acknowledged at %d, seen up to %d", store.ErrLogRegressed, first, b.pos))
	}
	for i := range events {
		if err := b.foldLocked(&store.Record{Offset: first + int64(i), Event: events[i]}); err != nil {
			return unknown(b.n, err)
		}
	}
	return nil
}
