package flussstore

import (
	"context"
	"errors"
	"fmt"
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
	durability Durability
	closed     atomic.Bool
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
	s := &Store{t: t, name: o.Database + "." + o.Table}
	if err := fit(s.name, t.info()); err != nil {
		return nil, err
	}
	for b := range s.Buckets() {
		first, err := t.earliest(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("earliest offset of bucket %d: %w", b, err)
		}
		if first > 0 {
			return nil, &store.ReadError{Bucket: b, Err: fmt.Errorf("%w: it begins at %d", store.ErrPrefixMissing, first)}
		}
	}
	settings, err := t.settings(ctx, 0)
	if err != nil {
		settings = nil // no right to see them: the durability is then unverified
	}
	s.durability = durability(t.info(), settings)
	if err := s.durability.meets(o.Require); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrNotDurableEnough, err)
	}
	return s, nil
}

// Buckets returns the number of the table's buckets.
func (s *Store) Buckets() int { return s.t.info().buckets }

// Durability returns what the cluster promised when the store was opened.
func (s *Store) Durability() Durability { return s.durability }

// Append adds events as one batch and returns when all in-sync replicas have it.
func (s *Store) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	if err := s.check(bucket); err != nil {
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: err}
	}
	return s.t.append(ctx, bucket, events)
}

// Bound appends a barrier and returns the end behind it: nothing that was
// acknowledged before can stand behind it. The barrier's record carries the time.
// A barrier whose outcome is unknown is no bound, and another one is tried.
func (s *Store) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	if err := s.check(bucket); err != nil {
		return store.Bound{}, err
	}
	for try := 0; ; try++ {
		barrier := intent.NewBarrier(uuid.NewString(), time.Now().UnixMilli())
		first, err := s.t.append(ctx, bucket, []intent.Event{barrier})
		if err == nil {
			return store.Bound{End: first + 1}, nil
		}
		// A barrier that may come late does no harm, so doubt costs only another.
		if try == 2 || ctx.Err() != nil || store.OutcomeOf(err) == store.NotStored {
			return store.Bound{}, fmt.Errorf("barrier in bucket %d: %w", bucket, err)
		}
	}
}

// Read delivers [from, to), or an error.
func (s *Store) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	if err := s.check(bucket); err != nil {
		return err
	}
	if from < 0 || to < from {
		return &store.ReadError{Bucket: bucket, Offset: from, Err: fmt.Errorf("%w: no range [%d, %d)", store.ErrBeyondEnd, from, to)}
	}
	return s.t.read(ctx, bucket, from, to, fn)
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
