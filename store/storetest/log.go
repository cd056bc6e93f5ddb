package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// log is a store with a ledger of what was asked of it and what it answered.
type log struct {
	st     store.Store
	reopen func() (store.Store, error)
	closed bool

	mu      sync.Mutex
	batches []*batch
	n       int // events made so far
}

// batch is one append and its answer.
type batch struct {
	bucket  int
	events  []intent.Event
	outcome store.Outcome
	first   int64 // if stored
}

// end is the offset behind a stored batch.
func (b *batch) end() int64 { return b.first + int64(len(b.events)) }

func newLog(h Harness) *log { return &log{st: h.Store, reopen: h.Reopen} }

const owner = "00000000-0000-4000-8000-000000000001"

// event makes an event that there is only once.
func (l *log) event(detail string) intent.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	job := intent.JobID(fmt.Sprintf("job-%d", l.n))
	return intent.Event{
		JobID: job, EventID: intent.NewEventID(job, 1, owner, 1), Attempt: 1, Step: 1,
		Type: intent.Started, EmittedAtMS: int64(l.n), Detail: detail,
	}
}

func (l *log) events(n int) []intent.Event {
	es := make([]intent.Event, n)
	for i := range es {
		es[i] = l.event(fmt.Sprintf(`{"n":%d,"of":%d}`, i, n))
	}
	return es
}

// try appends once and notes the answer.
func (l *log) try(ctx context.Context, bucket int, events []intent.Event) (*batch, error) {
	mine := append([]intent.Event(nil), events...) // the store gets its own
	first, err := l.st.Append(ctx, bucket, mine)
	for i := range mine {
		mine[i] = intent.Event{Detail: "not yours any more"}
	}
	b := &batch{bucket: bucket, events: events, outcome: store.OutcomeOf(err), first: first}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches = append(l.batches, b)
	return b, err
}

// put appends n fresh events until a batch of them is stored.
func (l *log) put(ctx context.Context, bucket, n int) (*batch, error) {
	return l.putFunc(ctx, bucket, func() []intent.Event { return l.events(n) })
}

func (l *log) putFunc(ctx context.Context, bucket int, fresh func() []intent.Event) (*batch, error) {
	var err error
	for range 100 {
		var b *batch
		if b, err = l.try(ctx, bucket, fresh()); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("a hundred appends and none stored, at last: %w", err)
}

// putMany puts batches of growing size into every bucket.
func (l *log) putMany(ctx context.Context) error {
	for n := 1; n <= 12; n++ {
		for bucket := range l.st.Buckets() {
			if _, err := l.put(ctx, bucket, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// each runs fn in so many goroutines and returns their first error.
func each(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// read returns the records of [from, to), which it checks to be just those.
func (l *log) read(ctx context.Context, bucket int, from, to int64) ([]store.Record, error) {
	var got []store.Record
	at := from
	err := l.st.Read(ctx, bucket, from, to, func(r *store.Record) error {
		if r.Offset != at || at >= to {
			return fmt.Errorf("read of [%d, %d) in bucket %d gave offset %d, want %d", from, to, bucket, r.Offset, at)
		}
		at++
		got = append(got, *r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read of [%d, %d) in bucket %d: %w", from, to, bucket, err)
	}
	if at != to {
		return nil, fmt.Errorf("read of [%d, %d) in bucket %d ended at %d without an error", from, to, bucket, at)
	}
	return got, nil
}

// audit reads the whole log and compares it with the ledger: what was stored is
// there once, at its place and unchanged; what was not stored is not there; what is
// unknown is there whole, or not; and nothing else is there.
func (l *log) audit(ctx context.Context) error {
	if l.closed {
		return nil
	}
	for bucket := range l.st.Buckets() {
		bound, err := l.st.Bound(ctx, bucket)
		if err != nil {
			return fmt.Errorf("bound of bucket %d: %w", bucket, err)
		}
		records, err := l.read(ctx, bucket, 0, bound.End)
		if err != nil {
			return err
		}
		if err := l.compare(bucket, records); err != nil {
			return fmt.Errorf("bucket %d: %w", bucket, err)
		}
	}
	return nil
}

func (l *log) compare(bucket int, records []store.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	owners := make(map[intent.EventID]*batch)
	for _, b := range l.batches {
		for _, e := range b.events {
			owners[e.EventID] = b
		}
		if b.outcome == store.Stored && b.bucket == bucket && (b.first < 0 || b.end() > int64(len(records))) {
			return fmt.Errorf("events acknowledged at [%d, %d) are not below the bound %d", b.first, b.end(), len(records))
		}
	}
	seen := make(map[*batch]bool)
	for at := 0; at < len(records); {
		e := records[at].Event
		b := owners[e.EventID]
		switch {
		case b == nil && e.Type == intent.Barrier && strings.HasPrefix(string(e.EventID), "barrier/"):
			at++ // the store's own
			continue
		case b == nil:
			return fmt.Errorf("offset %d holds %v, which nobody appended", at, e)
		case b.outcome == store.NotStored:
			return fmt.Errorf("offset %d holds %v, which was answered as not stored", at, e)
		case b.bucket != bucket:
			return fmt.Errorf("offset %d holds %v of bucket %d", at, e, b.bucket)
		case seen[b]:
			return fmt.Errorf("offset %d holds %v for the second time, or out of order", at, e)
		case b.outcome == store.Stored && b.first != int64(at):
			return fmt.Errorf("offset %d holds %v, acknowledged in a batch at %d", at, e, b.first)
		}
		seen[b] = true
		for i, want := range b.events {
			if at+i >= len(records) {
				return fmt.Errorf("the batch at %d is torn: %d of %d events", at, i, len(b.events))
			}
			if got := records[at+i].Event; got != want {
				return fmt.Errorf("event %d of %d in the batch at %d is\n\t%v %q, want\n\t%v %q",
					i, len(b.events), at, got, got.Detail, want, want.Detail)
			}
		}
		at += len(b.events)
	}
	for _, b := range l.batches {
		if b.outcome == store.Stored && b.bucket == bucket && !seen[b] {
			return fmt.Errorf("events acknowledged at [%d, %d) are not there", b.first, b.end())
		}
	}
	return nil
}
