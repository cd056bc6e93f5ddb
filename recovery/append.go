package recovery

import (
	"context"
	"errors"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// pending is one caller's events on their way into the log.
type pending struct {
	ctx    context.Context // its values go with the append
	events []intent.Event  // of one job, or the claims to several
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
	p := &pending{ctx: ctx, events: events, done: make(chan struct{})}
	if err := ctx.Err(); err != nil {
		return 0, &store.AppendError{Bucket: b.n, Outcome: store.NotStored, Err: err}
	}
	b.qmu.Lock()
	for i := range events {
		b.inFlight[events[i].JobID] = p
	}
	if !b.draining && b.reading.TryLock() {
		b.draining = true
		b.qmu.Unlock()
		return b.appendAlone(p)
	}
	b.queue = append(b.queue, p)
	if !b.draining {
		b.draining = true
		go b.drain()
	}
	b.qmu.Unlock()
	select {
	case <-p.done:
		return p.first, p.err
	case <-ctx.Done():
		return 0, b.abandon(p)
	}
}

// abandon takes p out of the queue if it is still there, and returns what its caller
// is told.
func (b *bucketView) abandon(p *pending) error {
	err := &store.AppendError{Bucket: b.n, Outcome: store.Unknown, Err: p.ctx.Err()}
	b.qmu.Lock()
	defer b.qmu.Unlock()
	for i, q := range b.queue {
		if q == p {
			b.queue = append(b.queue[:i:i], b.queue[i+1:]...)
			err.Outcome = store.NotStored
			b.landed(p, 0, err)
			break
		}
	}
	return err
}

// appendAlone appends for the one caller that is there, in its own goroutine, which
// saves handing it to another. Those who come meanwhile queue up, for a goroutine that
// takes over. It also takes over if the caller leaves while the outcome is in doubt.
func (b *bucketView) appendAlone(p *pending) (first int64, err error) {
	ctx, cancel := context.WithTimeout(p.ctx, b.v.opts.AppendTimeout)
	defer cancel()
	left := false
	err = unknown(b.n, errPanic) // should the store not return
	defer func() {
		if left {
			return
		}
		b.reading.Unlock()
		b.qmu.Lock()
		defer b.qmu.Unlock()
		b.landed(p, first, err)
		if len(b.queue) > 0 {
			go b.drain()
		} else {
			b.rest()
		}
	}()
	first, err = b.appendSeen(ctx, p.events, false)
	if ended := p.ctx.Err(); ended != nil && store.OutcomeOf(err) == store.Unknown {
		left = true
		go func() {
			b.learn(p)
			b.drain()
		}()
		err = unknown(b.n, ended)
	}
	return first, err
}

// errPanic says that the store panicked in the middle of an append.
var errPanic = errors.New("the store panicked")

// learn finds out what became of an append whose caller has left; b.reading is held,
// and given back.
func (b *bucketView) learn(p *pending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), b.v.opts.AppendTimeout)
	defer cancel()
	first, found, err := b.find(ctx, p.events)
	switch {
	case err != nil && !transient(err):
		err = unknown(b.n, err)
	case err != nil || !found:
		first, err = b.appendSeen(ctx, p.events, true)
	}
	b.reading.Unlock()
	b.qmu.Lock()
	defer b.qmu.Unlock()
	b.landed(p, first, err)
}

// rest ends the draining; b.qmu is held.
func (b *bucketView) rest() {
	b.draining = false
	b.idle.Broadcast()
}

// drain appends what is queued, batch after batch, until the queue is empty.
func (b *bucketView) drain() {
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
			b.rest()
			b.qmu.Unlock()
			return
		}
		batch := b.queue[:n:n]
		b.queue = append([]*pending(nil), b.queue[n:]...)
		b.qmu.Unlock()
		b.write(batch, events)
	}
}

// write appends one batch and tells its callers.
func (b *bucketView) write(batch []*pending, n int) {
	// Not a caller's context as it is: the batch carries other callers' events too,
	// and once it may have left, its outcome must be learnt.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), b.v.opts.AppendTimeout)
	defer cancel()
	events := batch[0].events
	if len(batch) > 1 {
		events = make([]intent.Event, 0, n)
		for _, p := range batch {
			events = append(events, p.events...)
		}
	}
	b.reading.Lock()
	first, err := b.appendSeen(ctx, events, false)
	b.reading.Unlock()
	b.qmu.Lock()
	defer b.qmu.Unlock()
	for _, p := range batch {
		b.landed(p, first, err)
		first += int64(len(p.events))
	}
}

// landed tells p's caller, and takes p off the appends under way. Stored ends the
// doubts that the same events left before, Unknown makes them doubts; b.qmu is held.
func (b *bucketView) landed(p *pending, first int64, err error) {
	p.first, p.err = first, err
	outcome := store.OutcomeOf(err)
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
	close(p.done)
}
