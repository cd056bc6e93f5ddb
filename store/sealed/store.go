package sealed

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// Options are the options of a Store; nil and zero mean the defaults.
type Options struct {
	// Mode says whether details are hidden. It may change during the life of a log.
	Mode Mode
	// SignBarriers makes Bound append a sealed barrier instead of asking the inner
	// store. It is needed over a store whose own Bound appends one, such as
	// flussstore: an unsealed barrier is ErrUntrusted like any other event.
	SignBarriers bool
	// AllowPlainBarriers lets unsealed barriers through. They belong to no job and
	// cause nothing, but anybody who can append can add them. It is for a log of
	// which others, without a key, take bounds that append barriers.
	AllowPlainBarriers bool
	// AllowPlainBelow is, for each bucket, the offset below which events may be
	// unsealed: the end of the log when sealing began. Sealed events behind it
	// vouch for what stands there.
	AllowPlainBelow []int64
	// Marks are what an earlier life's [Store.Marks] returned, kept outside the log.
	Marks []Mark
	// JobKey, with Encrypt, returns a key of the job's own, [KeySize] random bytes
	// that are kept outside the log, without which its details cannot be read. To
	// erase a job, destroy its key, and return an error that wraps [ErrShredded]
	// from then on: Read then delivers a barrier in place of each of its events,
	// which stay authenticated, and nothing can be appended for the job any more.
	// Do so for finished jobs only. Appends and reads wait for it, whatever their
	// context says, so it must be quick.
	JobKey func(intent.JobID) ([]byte, error)
}

// MaxDetail returns the largest detail in bytes that can be sealed. It is above what
// an intent of [intent.MaxPayload] readable bytes needs; a payload that is no text
// may, with Encrypt, have about 800 KiB.
func (o *Options) MaxDetail() int {
	const head = len(magic+version+" sign  9223372036854775807  \n") + intent.MaxIDLength + 22 + 43
	if o != nil && o.Mode == Sign {
		return intent.MaxDetail - head
	}
	const inside = 12 + 16 + 2*sha256.Size + 1 // nonce, overhead, digest, LF
	return (intent.MaxDetail-head)/4*3 - inside
}

// Store seals what goes into another store. Its methods may be called by many
// goroutines at once, and many processes may use one log.
type Store struct {
	inner store.Store
	log   string
	ring  Keyring
	opts  Options

	// mu guards keysets, the keys that were derived so far.
	mu      sync.Mutex
	keysets map[string]*keyset
	chains  []*chain
}

var _ store.Store = (*Store)(nil)

// New returns a Store over inner. The log's name is part of every seal: it must be
// the same in all lives, and no other log that uses one of these keys may have it.
// Closing the Store closes inner.
func New(inner store.Store, log string, ring Keyring, opts *Options) (*Store, error) {
	s := &Store{inner: inner, log: log, ring: ring, keysets: map[string]*keyset{}}
	if opts != nil {
		s.opts = *opts
	}
	switch {
	case log == "":
		return nil, errors.New("sealed: the log needs a name")
	case s.opts.Mode > Sign:
		return nil, fmt.Errorf("sealed: unknown %s", s.opts.Mode)
	case s.opts.Mode == Sign && s.opts.JobKey != nil:
		return nil, errors.New("sealed: JobKey hides details, and Sign does not")
	}
	if _, err := s.keys(ring.Current()); err != nil {
		return nil, fmt.Errorf("sealed: %w", err)
	}
	for b := range inner.Buckets() {
		var m Mark
		if b < len(s.opts.Marks) {
			m = s.opts.Marks[b]
		}
		s.chains = append(s.chains, newChain(log, b, m))
	}
	return s, nil
}

// Buckets implements [store.Store].
func (s *Store) Buckets() int { return len(s.chains) }

// Marks returns, for each bucket, how much of it this store has seen and the hash
// over that. Read to a bound before to have a fresh one.
func (s *Store) Marks() []Mark {
	marks := make([]Mark, len(s.chains))
	for b, c := range s.chains {
		marks[b] = c.here()
	}
	return marks
}

// Append implements [store.Store]. An event that cannot be sealed is not stored.
func (s *Store) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	fail := func(err error) (int64, error) {
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: err}
	}
	if bucket < 0 || bucket >= len(s.chains) {
		return fail(fmt.Errorf("%w: %d of %d", store.ErrNoBucket, bucket, len(s.chains)))
	}
	c := s.chains[bucket]
	links := c.linksFor(events)
	out, tags := make([]intent.Event, len(events)), make([][tagSize]byte, len(events))
	for i := range events {
		var err error
		if out[i], tags[i], err = s.seal(bucket, events[i], links[i]); err != nil {
			return fail(fmt.Errorf("seal event %q: %w", events[i].EventID, err))
		}
	}
	first, err := s.inner.Append(ctx, bucket, out)
	switch store.OutcomeOf(err) {
	case store.Stored:
		c.acknowledged(first + int64(len(out)))
		if err := c.stored(first, out, tags); err != nil {
			return 0, &store.AppendError{Bucket: bucket, Outcome: store.Unknown, Err: err}
		}
		return first, nil
	case store.Unknown:
		c.inDoubt(out, links)
	}
	return 0, err
}

// Bound implements [store.Store].
func (s *Store) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	b, err := s.end(ctx, bucket)
	if err != nil {
		return b, err
	}
	if m := s.chains[bucket].mark; b.End < m.End {
		return store.Bound{}, &store.ReadError{
			Bucket: bucket, Offset: b.End, Err: fmt.Errorf("%w: it ends at %d, marked at %d", store.ErrLogRegressed, b.End, m.End),
		}
	}
	return b, nil
}

// end asks for a bound, or makes one: what was acknowledged before a barrier was
// appended stands in front of it in any store.
func (s *Store) end(ctx context.Context, bucket int) (store.Bound, error) {
	if !s.opts.SignBarriers {
		return s.inner.Bound(ctx, bucket)
	}
	for try := 0; ; try++ {
		barrier := intent.NewBarrier(rand.Text(), time.Now().UnixMilli())
		first, err := s.Append(ctx, bucket, []intent.Event{barrier})
		switch {
		case err == nil:
			return store.Bound{End: first + 1}, nil
		case try == 2 || ctx.Err() != nil || store.OutcomeOf(err) == store.NotStored:
			return store.Bound{}, fmt.Errorf("barrier in bucket %d: %w", bucket, err)
		}
		// In doubt, it may come late, which does no harm: another one is tried.
	}
}

// Read implements [store.Store]. Every record that fn sees is genuine; read in order
// from the start, as recovery does, it also stands where it was put.
func (s *Store) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	if err := s.within(ctx, bucket, to); err != nil {
		return &store.ReadError{Bucket: bucket, Offset: from, Err: err}
	}
	return s.inner.Read(ctx, bucket, from, to, func(r *store.Record) error {
		rec := *r
		if err := s.open(bucket, &rec); err != nil {
			return &store.ReadError{Bucket: bucket, Offset: r.Offset, Err: err}
		}
		return fn(&rec)
	})
}

// within refuses a range beyond the end, where the inner store would append a barrier
// of its own, without a seal, to learn what the end is.
func (s *Store) within(ctx context.Context, bucket int, to int64) error {
	if !s.opts.SignBarriers || bucket < 0 || bucket >= len(s.chains) || to <= s.chains[bucket].known() {
		return nil
	}
	b, err := s.Bound(ctx, bucket)
	if err == nil && to > b.End {
		err = fmt.Errorf("%w: end %d, asked up to %d", store.ErrBeyondEnd, b.End, to)
	}
	return err
}

// open checks a record and makes its event plain.
func (s *Store) open(bucket int, r *store.Record) error {
	c := s.chains[bucket]
	sealed := r.Event
	e, err := s.unseal(bucket, &r.Event)
	switch {
	case err != nil && s.mayBePlain(bucket, r.Offset, &sealed):
		return c.read(r.Offset, s.plainTag(bucket, &sealed))
	case e != nil && errors.Is(err, ErrShredded):
		r.Event = intent.NewBarrier(fmt.Sprintf("shredded/%d", r.Offset), sealed.EmittedAtMS)
	case err != nil:
		return err
	}
	if err := c.check(r.Offset, e.link); err != nil {
		return err
	}
	return c.read(r.Offset, e.tag)
}

// mayBePlain tells the events that need no seal.
func (s *Store) mayBePlain(bucket int, offset int64, ev *intent.Event) bool {
	if strings.HasPrefix(ev.Detail, magic) {
		return false
	}
	below := bucket < len(s.opts.AllowPlainBelow) && offset < s.opts.AllowPlainBelow[bucket]
	return below || s.opts.AllowPlainBarriers && ev.Type == intent.Barrier && ev.Check() == nil
}

// plainTag stands for an unsealed event in the hash over a bucket.
func (s *Store) plainTag(bucket int, ev *intent.Event) [tagSize]byte {
	return sha256.Sum256([]byte("plain\x00" + s.bound(bucket, &envelope{}, ev) + ev.Detail))
}

// Close implements [store.Store]: it closes the inner store.
func (s *Store) Close() error { return s.inner.Close() }
