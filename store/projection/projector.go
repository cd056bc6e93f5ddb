package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// ErrOtherLog says that the sink was filled from another log than this one.
var ErrOtherLog = errors.New("the projection is of another log")

// Projector imports a log into a sink. It remembers what it has folded, so a later
// Import reads only what is new: a few hundred bytes for each finished job, and the
// requests and results of those that are not. It is for one goroutine.
type Projector struct {
	st     store.Store
	sink   Sink
	jobs   map[intent.JobID]*intent.History
	folds  []fold // by bucket
	broken error  // what is wrong with the log, once it was seen
}

// New returns a projector from st to sink, which may be nil for a projector that only
// validates. Both stay the caller's to close.
func New(st store.Store, sink Sink) *Projector {
	return &Projector{st: st, sink: sink, jobs: map[intent.JobID]*intent.History{}, folds: make([]fold, st.Buckets())}
}

// Report counts what the log holds in [0, Ends) of its buckets.
type Report struct {
	Ends       []int64 // by bucket: where the import ends
	Events     int64   // rows that the table has after the import
	Void       int64   // those of Events that had no effect: lost claims, late owners
	Duplicates int64   // identical repetitions of an event; no rows
	Barriers   int64   // no rows
	Written    int64   // rows that this import wrote
}

// Validate folds the log up to a fresh bound and writes nothing. Its error is that
// of Import.
func (p *Projector) Validate(ctx context.Context) (Report, error) {
	if err := p.validate(ctx); err != nil {
		return Report{}, fmt.Errorf("validate: %w", err)
	}
	return p.report(), nil
}

func (p *Projector) report() Report {
	var r Report
	for _, f := range p.folds {
		r.Ends = append(r.Ends, f.to)
		r.Events += f.counts.events
		r.Void += f.counts.void
		r.Barriers += f.counts.barriers
		r.Duplicates += int64(len(f.duplicates))
	}
	return r
}

// Import validates the log up to a fresh bound, and then writes what the sink does
// not have yet. Where a bound costs a barrier, so does an import, in each bucket.
//
// A broken history is an [intent.HistoryError], and nothing was written; it is the
// same for each later call. Every other error leaves a sink that is short of rows,
// but has no wrong ones: import again.
func (p *Projector) Import(ctx context.Context) (Report, error) {
	if err := p.validate(ctx); err != nil {
		return Report{}, fmt.Errorf("import: %w", err)
	}
	report := p.report()
	for b := range p.folds {
		n, err := p.write(ctx, b)
		report.Written += n
		if err != nil {
			return report, fmt.Errorf("import bucket %d: %w", b, err)
		}
	}
	return report, nil
}

// A put is cut at so many rows, or bytes of their texts.
const (
	putRows  = 8192
	putBytes = 4 << 20
)

// put is one call of Sink.Put.
type put struct {
	rows []intent.Event
	next int64
	last intent.EventID
	size int
}

// write brings a bucket's rows into the sink. One goroutine reads ahead while
// another waits for the sink.
func (p *Projector) write(ctx context.Context, bucket int) (written int64, err error) {
	f := &p.folds[bucket]
	at, err := p.position(ctx, bucket, f.to)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	puts, done := make(chan put, 1), make(chan error, 1)
	go func() {
		for b := range puts {
			if err := p.sink.Put(ctx, bucket, b.rows, b.next, b.last); err != nil {
				cancel(err)
				done <- err
				return
			}
			written += int64(len(b.rows))
		}
		done <- nil
	}()
	var b put
	send := func() error {
		select {
		case puts <- b:
			b = put{}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	skip, _ := slices.BinarySearch(f.duplicates, at)
	err = p.st.Read(ctx, bucket, at, f.to, func(r *store.Record) error {
		b.next, b.last = r.Offset+1, r.Event.EventID
		switch {
		case skip < len(f.duplicates) && f.duplicates[skip] == r.Offset:
			skip++
		case r.Event.Type != intent.Barrier:
			b.rows = append(b.rows, r.Event)
			b.size += len(r.Event.Detail) + len(r.Event.EventID)
		}
		if len(b.rows) < putRows && b.size < putBytes {
			return nil
		}
		return send()
	})
	if err == nil && b.next > 0 {
		err = send()
	}
	close(puts)
	if failed := <-done; failed != nil {
		err = failed // the cause, also where the read ended by it
	}
	return written, err
}

// position asks the sink where to go on, and the log whether that is a place in it.
func (p *Projector) position(ctx context.Context, bucket int, end int64) (int64, error) {
	next, last, err := p.sink.Position(ctx, bucket)
	switch {
	case err != nil || next == 0:
		return 0, err
	case next < 0:
		return 0, fmt.Errorf("%w: position %d", ErrOtherLog, next)
	case next > end:
		// Another projector may have been further by now.
		b, err := p.st.Bound(ctx, bucket)
		if err != nil {
			return 0, err
		}
		if next > b.End {
			return 0, fmt.Errorf("%w: position %d, the log ends at %d", ErrOtherLog, next, b.End)
		}
	}
	err = p.st.Read(ctx, bucket, next-1, next, func(r *store.Record) error {
		if r.Event.EventID != last {
			return fmt.Errorf("%w: offset %d is %q, not %q", ErrOtherLog, r.Offset, r.Event.EventID, last)
		}
		return nil
	})
	return min(next, end), err
}
