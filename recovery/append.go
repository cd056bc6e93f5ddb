package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// pending is one caller's events on their way into the log.
type pending struct {
	events []intent.Event // of one job, or the claims to several
	first  int64
	err    error
	done   chan struct{}
}

// maxBatchBytes bounds what callers share, so that one large payload does not make
// the append of many small ones too large for its store.
const maxBatchBytes = 1 << 20

func (p *pending) size() (n int) {
	for i := range p.events {
		n += len(p.events[i].Detail)
	}
	return n
}

// Append adds the events of one job as one batch, and returns when they are
// durable and everything below them has been seen. Callers that append to one
// bucket at the same time share appends.
//
// An append whose outcome is unknown is resolved here: a bound is taken, the log
// is read up to it, and the same bytes are appended again if they are not there.
// If that fails too, or if ctx ends first, the error's outcome is Unknown: the
// events may be in the log or may arrive in it later, and nobody may act on them.
//
// At most one append of a job may be under way. After one of unknown outcome the
// job's next step must come after [View.Settle].
func (v *View) Append(ctx context.Context, events []intent.Event) (first int64, err error) {
	return v.bucket(events[0].JobID).append(ctx, events)
}

func (b *bucketView) append(ctx context.Context, events []intent.Event) (first int64, err error) {
	p := &pending{events: events, done: make(chan struct{})}
	if err := ctx.Err(); err != nil {
		return 0, &store.AppendError{Bucket: b.n, Outcome: store.NotStored, Err: err}
	}
	b.qmu.Lock()
	b.queue = append(b.queue, p)
	for i := range events {
		b.inFlight[events[i].JobID] = p
	}
	if !b.draining {
		b.draining = true
		// Not the caller's context: the batch carries other callers' events too,
		// and once it may have left, its outcome must be learnt.
		go b.drain(context.WithoutCancel(ctx))
	}
	b.qmu.Unlock()
	select {
	case <-p.done:
		return p.first, p.err
	case <-ctx.Done():
		return 0, &store.AppendError{Bucket: b.n, Outcome: b.abandon(p), Err: ctx.Err()}
	}
}

// abandon takes p out of the queue if it is still there.
func (b *bucketView) abandon(p *pending) store.Outcome {
	b.qmu.Lock()
	defer b.qmu.Unlock()
	for i, q := range b.queue {
		if q == p {
			b.queue = append(b.queue[:i:i], b.queue[i+1:]...)
			b.landed(p, store.NotStored)
			return store.NotStored
		}
	}
	return store.Unknown
}

// drain appends what is queued, batch after batch, until the queue is empty.
func (b *bucketView) drain(ctx context.Context) {
	for {
		b.qmu.Lock()
		n, events, size := 0, 0, 0
		for ; n < len(b.queue); n++ {
			p := b.queue[n]
			if n > 0 && (events+len(p.events) > b.v.opts.MaxBatch || size+p.size() > maxBatchBytes) {
				break
			}
			events, size = events+len(p.events), size+p.size()
		}
		if n == 0 {
			b.draining = false
			b.idle.Broadcast()
			b.qmu.Unlock()
			return
		}
		batch := b.queue[:n:n]
		b.queue = append([]*pending(nil), b.queue[n:]...)
		b.qmu.Unlock()
		b.write(ctx, batch, events)
	}
}

// write appends one batch and tells its callers.
func (b *bucketView) write(ctx context.Context, batch []*pending, n int) {
	ctx, cancel := context.WithTimeout(ctx, b.v.opts.AppendTimeout)
	defer cancel()
	events := batch[0].events
	if len(batch) > 1 {
		events = make([]intent.Event, 0, n)
		for _, p := range batch {
			events = append(events, p.events...)
		}
	}
	first, err := b.appendSeen(ctx, events)
	b.qmu.Lock()
	defer b.qmu.Unlock()
	for _, p := range batch {
		p.first, p.err = first, err
		first += int64(len(p.events))
		b.landed(p, store.OutcomeOf(err))
		close(p.done)
	}
}

// landed takes p off the appends under way. Stored ends the doubts that the same
// events left before, Unknown makes them doubts; b.qmu is held.
func (b *bucketView) landed(p *pending, outcome store.Outcome) {
	for i := range p.events {
		if job := p.events[i].JobID; b.inFlight[job] == p {
			delete(b.inFlight, job)
			if outcome != store.NotStored {
				delete(b.doubts, job)
			}
		}
	}
	if outcome == store.Unknown {
		for i := range p.events {
			job := p.events[i].JobID
			b.doubts[job] = append(b.doubts[job], p.events[i])
		}
	}
}

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
// to the last of them.
func (b *bucketView) appendSeen(ctx context.Context, events []intent.Event) (int64, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	doubt := false
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
		first, found, rerr := b.find(ctx, events[0].EventID)
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

// find reads on to a fresh bound and tells whether the event was among what it read.
func (b *bucketView) find(ctx context.Context, id intent.EventID) (at int64, found bool, err error) {
	err = b.catchUpLocked(ctx, func(r *store.Record) {
		if !found && r.Event.EventID == id {
			at, found = r.Offset, true
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
