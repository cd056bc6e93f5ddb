// Package memstore keeps a log in memory. It is the reference implementation of
// [store.Store]: the contract in the fewest lines. It is for tests and for trying
// things out; what it stores ends with the process.
//
//	st := memstore.New(1)
//
// Several handles may share one log, as several processes share a real one: see
// [Store.Reopen].
package memstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// Options change how a log behaves. The zero value is good.
type Options struct {
	// NowMS is the log's clock in Unix ms; nil means the time package. It is called
	// under the log's lock. A clock that goes back is held at its last value in
	// each bucket.
	NowMS func() int64
}

// Store is a handle on a log in memory. All methods are safe for concurrent use.
type Store struct {
	log    *log
	closed atomic.Bool
}

var _ store.Store = (*Store)(nil)

// log is what the handles share.
type log struct {
	nowMS func() int64

	mu      sync.Mutex
	buckets [][]store.Record // only ever appended to; a record never changes
	clock   []int64          // per bucket: the last time that was given out
}

// New returns an empty log with the given number of buckets, at least 1.
func New(buckets int) *Store { return NewWith(buckets, nil) }

// NewWith is [New] with options.
func NewWith(buckets int, opts *Options) *Store {
	buckets = max(buckets, 1)
	l := &log{
		nowMS:   func() int64 { return time.Now().UnixMilli() },
		buckets: make([][]store.Record, buckets),
		clock:   make([]int64, buckets),
	}
	if opts != nil && opts.NowMS != nil {
		l.nowMS = opts.NowMS
	}
	return &Store{log: l}
}

// Reopen returns a fresh handle on the same log, whether s is closed or not: what
// another process, or this one in its next life, would have.
func (s *Store) Reopen() *Store { return &Store{log: s.log} }

// Buckets implements [store.Store].
func (s *Store) Buckets() int { return len(s.log.buckets) }

// Append implements [store.Store]. It never ends Unknown.
func (s *Store) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	err := s.check(ctx, bucket)
	if err == nil && len(events) == 0 {
		err = errors.New("no events")
	}
	if err != nil {
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: err}
	}
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	first, now := int64(len(l.buckets[bucket])), l.tickLocked(bucket)
	l.buckets[bucket] = slices.Grow(l.buckets[bucket], len(events))
	for i, e := range events {
		l.buckets[bucket] = append(l.buckets[bucket], store.Record{Offset: first + int64(i), CommitMS: now, Event: e})
	}
	return first, nil
}

// Bound implements [store.Store]. It appends nothing.
func (s *Store) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	if err := s.check(ctx, bucket); err != nil {
		return store.Bound{}, fmt.Errorf("bound of bucket %d: %w", bucket, err)
	}
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	return store.Bound{End: int64(len(l.buckets[bucket])), NowMS: l.tickLocked(bucket)}, nil
}

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	fail := func(at int64, err error) error { return &store.ReadError{Bucket: bucket, Offset: at, Err: err} }
	if err := s.check(ctx, bucket); err != nil {
		return fail(from, err)
	}
	if from < 0 || from > to {
		return fail(from, fmt.Errorf("no such range [%d, %d)", from, to))
	}
	s.log.mu.Lock()
	records := s.log.buckets[bucket]
	s.log.mu.Unlock()
	if end := int64(len(records)); to > end {
		return fail(min(from, end), fmt.Errorf("%w: end %d, asked up to %d", store.ErrBeyondEnd, end, to))
	}
	for _, r := range records[from:to] { // r is a copy: fn cannot change the log
		if err := s.check(ctx, bucket); err != nil {
			return fail(r.Offset, err)
		}
		if err := fn(&r); err != nil {
			return err
		}
	}
	return nil
}

// Close implements [store.Store]. The log lives on in its other handles.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// check tells what forbids to begin, or to go on.
func (s *Store) check(ctx context.Context, bucket int) error {
	switch {
	case s.closed.Load():
		return store.ErrClosed
	case bucket < 0 || bucket >= len(s.log.buckets):
		return fmt.Errorf("%w: %d of %d", store.ErrNoBucket, bucket, len(s.log.buckets))
	}
	return ctx.Err()
}

// tickLocked reads the clock, which never falls within a bucket.
func (l *log) tickLocked(bucket int) int64 {
	l.clock[bucket] = max(l.clock[bucket], l.nowMS())
	return l.clock[bucket]
}
