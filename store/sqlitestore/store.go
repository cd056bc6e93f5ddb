package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/intentlog/intentlog/store"
)

// Options say how a log is opened. The zero value is good.
type Options struct {
	// Buckets is the number of buckets: of a new log, where 0 means 1, or the number
	// that an existing log must have, where 0 means any.
	Buckets int
	// LogID is the identity of the log, a UUID in its 36-character form: of a new
	// log, where empty means a random one, or the one that an existing log must have,
	// where empty means any.
	LogID string
	// MustExist makes Open fail with [store.ErrNotFound] rather than create a log.
	MustExist bool
	// ReadOnly opens an existing log beside its writer, or without one. Appends are
	// refused with [store.ErrReadOnly].
	ReadOnly bool
	// MaxBatch is the largest batch in bytes of all its columns; 0 means 32 MiB.
	MaxBatch int
	// Logger is told of what is worth a look but fails nothing; nil is silent.
	Logger *slog.Logger
}

const defaultMaxBatch = 32 << 20

// Store is an open log. All methods are safe for concurrent use.
type Store struct {
	opts  Options
	files files
	logID string
	marks *marks // nil for a reader of a log that has none

	// Owned by Open, then by commitLoop while it is running.
	writer *conn // nil for a reader
	begin  *stmt
	insert *stmt
	commit *stmt
	row    row  // of insertRow
	buf    cbuf // its text columns
	group  group
	frames int // pages written since the last checkpoint, about

	mu      sync.Mutex
	queue   []*pending
	wake    chan struct{} // to commitLoop; nil before the first append
	running bool          // commitLoop is at work, or about to be
	// Closed when the group that is being committed has ended; nil if there is none.
	committing chan struct{}
	idle       *sync.Cond // running became false
	closed     bool
	poison     error   // the I/O error that ended writing
	ends       []int64 // per bucket: acknowledged; for a reader the highest that it returned
	clock      []int64 // per bucket: the last commit time that was given out
	readers    []*readConn
	closeErr   error
}

var _ store.Store = (*Store)(nil)

// Open opens the log at path, or creates it where there is nothing: no file of that
// name and no trace of a log that was there. It never repairs and never replaces.
// A nil opts is the zero Options. From the first append until Close a goroutine belongs
// to the store.
//
// The error wraps [store.ErrLocked] at once if another store, in this process or
// another, has the log open for writing; [store.ErrNotFound] if there is no log and
// none may be created; [store.ErrForeign], [store.ErrVersion], [store.ErrCorrupt]
// or [store.ErrLogRegressed] if what is there cannot be used.
func Open(path string, opts *Options) (*Store, error) {
	s := &Store{}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.MaxBatch <= 0 {
		s.opts.MaxBatch = defaultMaxBatch
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	s.idle = sync.NewCond(&s.mu)
	if err := s.open(path); err != nil {
		s.release(false)
		return nil, fmt.Errorf("open log %s: %w", path, err)
	}
	return s, nil
}

func (s *Store) open(path string) (err error) {
	if s.opts.Buckets < 0 || s.opts.Buckets > maxBuckets {
		return fmt.Errorf("%d buckets, at most %d", s.opts.Buckets, maxBuckets)
	}
	if s.opts.LogID != "" && !validLogID(s.opts.LogID) {
		return errors.New("the log id is no UUID in its 36-character form")
	}
	if s.files, err = locate(path); err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return s.openReader()
	}
	return s.openWriter(s.opts.MustExist)
}

// OpenReadOnly is Open of an existing log with [Options.ReadOnly] and nothing else.
func OpenReadOnly(path string) (*Store, error) { return Open(path, &Options{ReadOnly: true}) }

// LogID returns the identity of the log, a UUID.
func (s *Store) LogID() string { return s.logID }

// Buckets implements [store.Store].
func (s *Store) Buckets() int { return len(s.ends) }

// Bound implements [store.Store]. It appends nothing and, for the writer, reads
// nothing, but waits for a commit that is under way: a caller that left it learns from
// the next bound what became of it. A reader asks the file each time.
func (s *Store) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	b, err := s.bound(ctx, bucket)
	if err != nil {
		return store.Bound{}, fmt.Errorf("bound of bucket %d: %w", bucket, err)
	}
	return b, nil
}

func (s *Store) bound(ctx context.Context, bucket int) (store.Bound, error) {
	if err := s.check(ctx, bucket); err != nil {
		return store.Bound{}, err
	}
	var end, clock int64
	if s.opts.ReadOnly {
		var err error
		if end, clock, err = s.fileEnd(bucket); err != nil {
			return store.Bound{}, err
		}
	}
	s.mu.Lock()
	committing := s.committing
	s.mu.Unlock()
	if committing != nil {
		select {
		case <-committing:
		case <-ctx.Done():
			return store.Bound{}, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// After an unknown append the end is in doubt until the log is opened again.
	if s.poison != nil {
		return store.Bound{}, fmt.Errorf("%w: %w", store.ErrPoisoned, s.poison)
	}
	if s.opts.ReadOnly {
		// Two callers may return from the file in the other order; the later end is
		// as true for both.
		s.ends[bucket], s.clock[bucket] = max(s.ends[bucket], end), max(s.clock[bucket], clock)
	}
	s.clock[bucket] = max(s.clock[bucket], time.Now().UnixMilli())
	return store.Bound{End: s.ends[bucket], NowMS: s.clock[bucket]}, nil
}

// check tells what forbids to begin, or to go on.
func (s *Store) check(ctx context.Context, bucket int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkLocked(ctx, bucket)
}

func (s *Store) checkLocked(ctx context.Context, bucket int) error {
	switch {
	case s.closed:
		return store.ErrClosed
	case bucket < 0 || bucket >= len(s.ends):
		return fmt.Errorf("%w: %d of %d", store.ErrNoBucket, bucket, len(s.ends))
	}
	return ctx.Err()
}

// Close implements [store.Store]. It waits for appends, not for reads: those end
// with [store.ErrClosed] by themselves.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.closeErr
	}
	s.closed = true
	for s.running {
		s.idle.Wait()
	}
	if s.wake != nil {
		close(s.wake)
	}
	s.closeErr = s.release(s.poison == nil)
	return s.closeErr
}

// release gives everything back, the lock last. A clean end leaves all records in
// the main file; a poisoned store touches nothing more.
func (s *Store) release(clean bool) error {
	var errs []error
	for _, r := range s.readers {
		r.close()
	}
	s.readers = nil
	if s.writer != nil {
		if clean {
			errs = append(errs, s.checkpoint("PASSIVE"))
		} else {
			s.writer.keepWAL()
		}
		s.buf.free(s.writer.tls)
		errs = append(errs, s.writer.close())
		s.writer = nil
	}
	if s.marks != nil {
		errs = append(errs, s.marks.close())
		s.marks = nil
	}
	return errors.Join(errs...)
}
