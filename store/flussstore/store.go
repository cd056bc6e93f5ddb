package flussstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// Store is a log in a Fluss table. Its methods may be called by many goroutines
// at once, and many processes may use one table.
type Store struct {
	t          table
	name       string
	timeout    time.Duration
	durability Durability
	closed     atomic.Bool
	buckets    []progress
}

// progress is what this store knows of a bucket.
type progress struct {
	end atomic.Int64 // greatest end that was acknowledged to this store

	// mu guards the commit time at the furthest place that was read: servers stamp
	// by their own clocks, so time in a bucket could fall when the leader changes.
	mu       sync.Mutex
	readTo   int64
	commitMS int64
}

var _ store.Store = (*Store)(nil)

// Open opens the log at the cluster that the bootstrap addresses, host:port with
// commas between, belong to. It asks any server for the table's description;
// leaders are connected when they are needed.
//
// A table that does not exist is store.ErrNotFound unless Options.Create is set;
// one that is unfit is an [UnfitError]; one whose beginning is gone is
// store.ErrPrefixMissing; one that promises less than Options.Require is
// store.ErrNotDurableEnough.
func Open(ctx context.Context, bootstrap string, opts *Options) (*Store, error) {
	o := opts.withDefaults()
	t, err := openTable(ctx, bootstrap, o)
	if err != nil {
		return nil, fmt.Errorf("open log %s.%s: %w", o.Database, o.Table, err)
	}
	s, err := newStore(ctx, t, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open log %s.%s: %w", o.Database, o.Table, err), t.close())
	}
	return s, nil
}

func newStore(ctx context.Context, t table, o Options) (*Store, error) {
	s := &Store{t: t, name: o.Database + "." + o.Table, timeout: o.Timeout}
	if err := fit(s.name, t.info()); err != nil {
		return nil, err
	}
	s.buckets = make([]progress, t.info().buckets)
	for b := range s.Buckets() {
		first, err := t.earliest(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("earliest offset of bucket %d: %w", b, err)
		}
		if first > 0 {
			return nil, &store.ReadError{Bucket: b, Err: fmt.Errorf("%w: it begins at %d", store.ErrPrefixMissing, first)}
		}
	}
	// Each server tells its own settings, and a promise is that of the weakest leader.
	for b := range s.Buckets() {
		settings, err := t.settings(ctx, b)
		if err != nil {
			settings = nil // no right to see them: the durability is then unverified
		}
		d := durability(t.info(), settings)
		if b > 0 {
			d = d.weaker(s.durability)
		}
		s.durability = d
	}
	if err := s.durability.meets(o.Require); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrNotDurableEnough, err)
	}
	return s, nil
}

// Buckets returns the number of the table's buckets.
func (s *Store) Buckets() int { return len(s.buckets) }

// Durability returns what the cluster promised when the store was opened.
func (s *Store) Durability() Durability { return s.durability }

// Append adds events as one batch and returns when all in-sync replicas have it.
func (s *Store) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	if err := s.check(bucket); err != nil {
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: err}
	}
	return s.append(ctx, bucket, events)
}

// append also notices a log that gave away an offset for the second time. The batch
// is in that log, but the log is not the one that the caller knows: in doubt.
func (s *Store) append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	p := &s.buckets[bucket]
	known := p.end.Load()
	first, err := s.t.append(ctx, bucket, events)
	if err != nil {
		return 0, err
	}
	if first < known {
		err := fmt.Errorf("%w: acknowledged up to %d, appended at %d", store.ErrLogRegressed, known, first)
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.Unknown, Err: err}
	}
	p.acknowledged(first + int64(len(events)))
	return first, nil
}

func (p *progress) acknowledged(end int64) {
	for known := p.end.Load(); end > known && !p.end.CompareAndSwap(known, end); {
		known = p.end.Load()
	}
}

// Bound appends a barrier and returns the end behind it: nothing that was
// acknowledged before can stand behind it. The barrier's record carries the time.
// A barrier whose outcome is unknown is no bound, and another one is tried.
func (s *Store) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	if err := s.check(bucket); err != nil {
		return store.Bound{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	for try := 0; ; try++ {
		barrier := intent.NewBarrier(uuid.NewString(), time.Now().UnixMilli())
		first, err := s.append(ctx, bucket, []intent.Event{barrier})
		if err == nil {
			return store.Bound{End: first + 1}, nil
		}
		// A barrier that may come late does no harm, so doubt costs only another.
		if try == 2 || ctx.Err() != nil || store.OutcomeOf(err) == store.NotStored || errors.Is(err, store.ErrLogRegressed) {
			return store.Bound{}, fmt.Errorf("barrier in bucket %d: %w", bucket, err)
		}
	}
}

// Read delivers [from, to), or an error. A range that ends beyond all that this
// store was told is first compared with a new bound, which costs a barrier.
func (s *Store) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	if err := s.check(bucket); err != nil {
		return err
	}
	if from < 0 || to < from {
		return &store.ReadError{Bucket: bucket, Offset: from, Err: fmt.Errorf("%w: no range [%d, %d)", store.ErrBeyondEnd, from, to)}
	}
	p := &s.buckets[bucket]
	if to > p.end.Load() {
		b, err := s.Bound(ctx, bucket)
		if err != nil {
			return &store.ReadError{Bucket: bucket, Offset: from, Err: err}
		}
		if to > b.End {
			return &store.ReadError{Bucket: bucket, Offset: from, Err: fmt.Errorf("%w: end %d, asked up to %d", store.ErrBeyondEnd, b.End, to)}
		}
	}
	ms := p.commitAt(from)
	next := from
	err := s.t.read(ctx, bucket, from, to, func(r *store.Record) error {
		ms = max(ms, r.CommitMS)
		r.CommitMS, next = ms, r.Offset+1
		return fn(r)
	})
	p.readUpTo(next, ms)
	return err
}

// commitAt is the least commit time of a record at or behind an offset.
func (p *progress) commitAt(offset int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if offset < p.readTo {
		return 0
	}
	return p.commitMS
}

func (p *progress) readUpTo(offset, commitMS int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if offset > p.readTo {
		p.readTo, p.commitMS = offset, commitMS
	}
}

// Close closes the connections. Appends in flight are then unknown.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.t.close()
}

func (s *Store) check(bucket int) error {
	switch {
	case s.closed.Load():
		return store.ErrClosed
	case bucket < 0 || bucket >= s.Buckets():
		return fmt.Errorf("%w: %d of %d", store.ErrNoBucket, bucket, s.Buckets())
	}
	return nil
}
