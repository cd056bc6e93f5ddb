package invariant

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

// Recorder observes a run and makes its [Trace]. Its methods, and what they return,
// may be used by many goroutines at once.
type Recorder struct {
	mu    sync.Mutex
	tick  Tick
	trace Trace
}

// NewRecorder returns a recorder that has observed nothing. A key-bound service is
// assumed until [Recorder.NotKeyBound].
func NewRecorder() *Recorder { return &Recorder{trace: Trace{KeyBound: true}} }

// NotKeyBound says that the service does not deduplicate.
func (r *Recorder) NotKeyBound() { r.trace.KeyBound = false }

// Now returns a tick after everything observed so far.
func (r *Recorder) Now() (at Tick) {
	r.note(func(t Tick) { at = t })
	return at
}

func (r *Recorder) note(fn func(Tick)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick++
	fn(r.tick)
}

// Effect notes that the service did something. Call it under the lock under which
// the service does it.
func (r *Recorder) Effect(action intent.ActionID, body []byte) {
	r.note(func(t Tick) {
		r.trace.Effects = append(r.trace.Effects, Effect{At: t, Action: action, Body: bytes.Clone(body)})
	})
}

// Sent notes a request that is about to leave, where [Recorder.Sender] does not fit.
func (r *Recorder) Sent(s Send) {
	r.note(func(t Tick) {
		s.At, s.Body = t, bytes.Clone(s.Body)
		r.trace.Sends = append(r.trace.Sends, s)
	})
}

// Recovered notes a recovery that began at from. A nil plan goes with an error.
func (r *Recorder) Recovered(who string, from Tick, plan *recovery.Plan, err error) {
	r.note(func(t Tick) {
		rec := Recovery{From: from, To: t, Who: who, Err: err}
		if plan != nil {
			rec.DryRun, rec.Bounds, rec.Decisions = plan.DryRun, plan.Bounds, plan.Decisions
		}
		r.trace.Recoveries = append(r.trace.Recoveries, rec)
	})
}

// Trace returns a copy of what was observed, with the log as honest has it.
func (r *Recorder) Trace(ctx context.Context, honest store.Store) (*Trace, error) {
	log := make([][]store.Record, honest.Buckets())
	for b := range log {
		bound, err := honest.Bound(ctx, b)
		if err == nil {
			err = honest.Read(ctx, b, 0, bound.End, func(rec *store.Record) error {
				log[b] = append(log[b], *rec)
				return nil
			})
		}
		if err != nil {
			return nil, fmt.Errorf("trace: %w", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.trace
	t.Log = log
	t.Acks, t.Seen, t.Sends = append([]Ack(nil), t.Acks...), append([]Seen(nil), t.Seen...), append([]Send(nil), t.Sends...)
	t.Effects, t.Recoveries = append([]Effect(nil), t.Effects...), append([]Recovery(nil), t.Recoveries...)
	return &t, nil
}

// Sender observes what who sends through s.
func (r *Recorder) Sender(who string, s receipt.Sender) receipt.Sender {
	return receipt.SenderFunc(func(ctx context.Context, req receipt.Request) (receipt.Answer, error) {
		r.Sent(Send{Who: who, Job: req.Job, Action: req.Intent.Action, Attempt: req.Attempt, Body: req.Intent.Payload})
		return s.Send(ctx, req)
	})
}

// Store observes what who learns through st. It must be the outermost wrapper, so
// that it observes what the worker is told and not what is true.
func (r *Recorder) Store(who string, st store.Store) store.Store {
	return &observed{Store: st, r: r, who: who, seen: make([]map[int64]bool, st.Buckets()), end: make([]int64, st.Buckets())}
}

// observed is a store whose answers are noted.
type observed struct {
	store.Store
	r   *Recorder
	who string

	// Guarded by r.mu: what was given out, dense below end.
	seen []map[int64]bool
	end  []int64
}

func (o *observed) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	first, err := o.Store.Append(ctx, bucket, events)
	if err == nil {
		o.r.note(func(t Tick) {
			o.r.trace.Acks = append(o.r.trace.Acks, Ack{At: t, Bucket: bucket, End: first + int64(len(events))})
			for i := range events {
				o.give(t, bucket, first+int64(i))
			}
		})
	}
	return first, err
}

func (o *observed) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	b, err := o.Store.Bound(ctx, bucket)
	if err == nil {
		o.r.note(func(t Tick) { o.r.trace.Acks = append(o.r.trace.Acks, Ack{At: t, Bucket: bucket, End: b.End}) })
	}
	return b, err
}

func (o *observed) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	return o.Store.Read(ctx, bucket, from, to, func(rec *store.Record) error {
		o.r.note(func(t Tick) { o.give(t, bucket, rec.Offset) })
		return fn(rec)
	})
}

// give notes that a record was given out; r.mu is held.
func (o *observed) give(t Tick, bucket int, offset int64) {
	if o.seen[bucket] == nil {
		o.seen[bucket] = map[int64]bool{}
	}
	o.seen[bucket][offset] = true
	was := o.end[bucket]
	for o.seen[bucket][o.end[bucket]] {
		delete(o.seen[bucket], o.end[bucket])
		o.end[bucket]++
	}
	if o.end[bucket] > was {
		o.r.trace.Seen = append(o.r.trace.Seen, Seen{At: t, Who: o.who, Bucket: bucket, End: o.end[bucket]})
	}
}
