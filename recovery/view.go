package recovery

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// View is what one owner has seen of a log: for each bucket a position, below
// which it has folded every record, and the histories of the jobs that are not
// done. All appends of an owner go through its View, so that an append returns
// only when everything before it has been seen too. That is the send rule: an
// owner whose append came back and whose claim is still in force may send.
//
// It keeps open jobs in full, and about 25 bytes for every finished one. All
// methods may be called by many goroutines at once.
type View struct {
	st      store.Store
	opts    ViewOptions
	buckets []*bucketView
}

// ViewOptions are the options of a View; nil and zero mean the defaults.
type ViewOptions struct {
	// AppendTimeout bounds an append with all that is needed to learn its
	// outcome. It goes on after the caller's context ended, since an append that
	// may have left cannot be taken back. Default 30 s.
	AppendTimeout time.Duration
	// MaxBatch is how many events of concurrent callers share one append.
	// Default 512.
	MaxBatch int
}

// bucketView is the view of one bucket.
type bucketView struct {
	v *View
	n int

	// mu guards the fold.
	mu     sync.Mutex
	pos    int64     // every record below has been folded
	nowMS  int64     // the log's clock when it was last heard
	nowAt  time.Time // and when that was
	open   map[intent.JobID]*intent.History
	closed map[uint64]int64                // hash of a finished job's ID: offset of its first event
	first  map[intent.JobID]int64          // offset of an open job's first event
	late   map[intent.JobID]struct{}       // finished jobs about which events came later
	broken map[intent.JobID]error          // jobs whose history breaks the rules
	sent   map[intent.JobID]int32          // the attempt in which this process sent for an open job
	ending map[intent.JobID]intent.OwnerID // who completed a job that this process is about to complete

	// reading is held by the one goroutine that reads or appends to advance pos.
	reading sync.Mutex

	// qmu guards the queue of appends, whether a goroutine drains it, the append
	// of each job that is under way, and those whose outcome could not be learnt.
	qmu      sync.Mutex
	queue    []*pending
	draining bool
	idle     sync.Cond // told when draining ends; its L is qmu
	inFlight map[intent.JobID]*pending
	doubts   map[intent.JobID][]intent.Event
}

// NewView returns a view of st that has seen nothing yet.
func NewView(st store.Store, opts *ViewOptions) *View {
	v := &View{st: st}
	if opts != nil {
		v.opts = *opts
	}
	if v.opts.AppendTimeout <= 0 {
		v.opts.AppendTimeout = 30 * time.Second
	}
	if v.opts.MaxBatch <= 0 {
		v.opts.MaxBatch = 512
	}
	for n := range st.Buckets() {
		b := &bucketView{
			v: v, n: n,
			open:   map[intent.JobID]*intent.History{},
			closed: map[uint64]int64{},
			first:  map[intent.JobID]int64{},
			late:   map[intent.JobID]struct{}{},
			broken: map[intent.JobID]error{},
			sent:   map[intent.JobID]int32{},
			ending: map[intent.JobID]intent.OwnerID{},

			inFlight: map[intent.JobID]*pending{},
			doubts:   map[intent.JobID][]intent.Event{},
		}
		b.idle.L = &b.qmu
		v.buckets = append(v.buckets, b)
	}
	return v
}

// Wait returns when no append of the view is under way any more.
func (v *View) Wait() {
	for _, b := range v.buckets {
		b.qmu.Lock()
		for b.draining {
			b.idle.Wait()
		}
		b.qmu.Unlock()
	}
}

func (v *View) bucket(job intent.JobID) *bucketView {
	return v.buckets[store.BucketFor(job, len(v.buckets))]
}

// CatchUp sees every record that was acknowledged, by anyone, before it was
// called, in all buckets.
func (v *View) CatchUp(ctx context.Context) error {
	for _, b := range v.buckets {
		if err := b.catchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Positions returns for each bucket the offset below which everything was seen.
func (v *View) Positions() []int64 {
	out := make([]int64, len(v.buckets))
	for i, b := range v.buckets {
		b.mu.Lock()
		out[i] = b.pos
		b.mu.Unlock()
	}
	return out
}

func (b *bucketView) catchUp(ctx context.Context) error {
	b.reading.Lock()
	defer b.reading.Unlock()
	return b.catchUpLocked(ctx, nil)
}

// catchUpLocked reads on to a fresh bound; b.reading is held. each, if not nil,
// sees every record.
func (b *bucketView) catchUpLocked(ctx context.Context, each func(*store.Record)) error {
	bound, err := b.v.st.Bound(ctx, b.n)
	if err != nil {
		return fmt.Errorf("bound of bucket %d: %w", b.n, err)
	}
	b.mu.Lock()
	pos := b.pos
	b.heard(bound.NowMS)
	b.mu.Unlock()
	if bound.End < pos {
		return &store.ReadError{Bucket: b.n, Offset: pos, Err: fmt.Errorf("%w: bound %d, seen up to %d", store.ErrLogRegressed, bound.End, pos)}
	}
	return b.readLocked(ctx, bound.End, each)
}

// readLocked folds [pos, to); b.reading is held.
func (b *bucketView) readLocked(ctx context.Context, to int64, each func(*store.Record)) error {
	b.mu.Lock()
	from := b.pos
	b.mu.Unlock()
	if from >= to {
		return nil
	}
	next := from
	err := readAhead(ctx, b.v.st, b.n, from, to, func(r *store.Record) error {
		if r.Offset != next {
			return &store.ReadError{Bucket: b.n, Offset: next, Err: fmt.Errorf("%w: got offset %d", store.ErrGap, r.Offset)}
		}
		next++
		if each != nil {
			each(r)
		}
		return b.fold(r)
	})
	if err == nil && next != to {
		// The store says that it delivered [from, to); a short read is never an absence.
		err = &store.ReadError{Bucket: b.n, Offset: next, Err: fmt.Errorf("%w: read ended before %d", store.ErrGap, to)}
	}
	return err
}

// fold takes one record and advances pos behind it.
func (b *bucketView) fold(r *store.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.foldLocked(r)
}

func (b *bucketView) foldLocked(r *store.Record) error {
	if r.Offset != b.pos {
		return &store.ReadError{Bucket: b.n, Offset: b.pos, Err: fmt.Errorf("%w: folded offset %d", store.ErrGap, r.Offset)}
	}
	b.pos++
	b.heard(r.CommitMS)
	ev := &r.Event
	h, known := b.open[ev.JobID]
	if !known {
		if err := b.admit(r); err != nil {
			b.breakJob(ev.JobID, err)
			return nil
		}
		_, done := b.closed[jobHash(ev.JobID)]
		switch {
		case ev.Type == intent.Barrier || b.broken[ev.JobID] != nil:
			return nil
		case done:
			// Nothing about a finished job can change what is to be done. Recover
			// looks at it again, to see whether its history is still sound.
			b.late[intent.JobID(strings.Clone(string(ev.JobID)))] = struct{}{}
			return nil
		}
		h = &intent.History{}
	}
	if err := h.Fold(ev, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}); err != nil {
		b.breakJob(ev.JobID, err)
		return nil
	}
	if !known {
		b.open[h.Job], b.first[h.Job] = h, r.Offset
	}
	if h.Done {
		b.closed[jobHash(h.Job)] = b.first[h.Job]
		if _, asked := b.ending[h.Job]; asked {
			b.ending[h.Job] = h.Owner
		}
		b.drop(h.Job)
	}
	return nil
}

// admit checks the first event of a job, or a barrier.
func (b *bucketView) admit(r *store.Record) error {
	err := r.Event.Check()
	if err == nil && r.Event.Type != intent.Barrier && store.BucketFor(r.Event.JobID, len(b.v.buckets)) != b.n {
		err = fmt.Errorf("%w: a job of another bucket than %d", intent.ErrMalformed, b.n)
	}
	if err != nil {
		return &intent.HistoryError{Job: r.Event.JobID, Event: r.Event.EventID, Offset: r.Offset, Err: err}
	}
	return nil
}

// breakJob sets a job aside whose history breaks the rules: nothing is ever done
// about it, and Recover reports it.
func (b *bucketView) breakJob(job intent.JobID, err error) {
	job = intent.JobID(strings.Clone(string(job)))
	if b.broken[job] == nil {
		b.broken[job] = err
	}
	b.drop(job)
}

func (b *bucketView) drop(job intent.JobID) {
	delete(b.open, job)
	delete(b.first, job)
	delete(b.sent, job)
}

// jobSeed is random in every process, so that nobody can prepare job IDs of one hash.
var jobSeed = maphash.MakeSeed()

func jobHash(job intent.JobID) uint64 { return maphash.String(jobSeed, string(job)) }

// errEnough ends a read early.
var errEnough = errors.New("enough")

// refold folds one job anew from offset from up to pos, at most until it is done
// if untilDone. It returns nil if the log holds no event of the job there.
func (b *bucketView) refold(ctx context.Context, job intent.JobID, from int64, untilDone bool) (*intent.History, error) {
	b.mu.Lock()
	to := b.pos
	b.mu.Unlock()
	var h *intent.History
	err := b.v.st.Read(ctx, b.n, from, to, func(r *store.Record) error {
		if r.Event.JobID != job {
			return nil
		}
		if h == nil {
			h = &intent.History{}
		}
		if err := h.Fold(&r.Event, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}); err != nil {
			return err
		}
		if h.Done && untilDone {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return h, nil
}

// Lookup calls fn with the job's history, under the view's lock: fn must be quick
// and must not keep the history. A job without events has the zero History. For a
// finished job its part of the log is read again.
func (v *View) Lookup(ctx context.Context, job intent.JobID, fn func(*intent.History)) error {
	b := v.bucket(job)
	b.mu.Lock()
	if err := b.broken[job]; err != nil {
		b.mu.Unlock()
		return err
	}
	if h := b.open[job]; h != nil {
		fn(h)
		b.mu.Unlock()
		return nil
	}
	first, done := b.closed[jobHash(job)]
	b.mu.Unlock()
	h := &intent.History{}
	if done {
		old, err := b.refold(ctx, job, first, true)
		if err != nil {
			return fmt.Errorf("read finished job %q: %w", job, err)
		}
		if old != nil {
			h = old
		}
	}
	fn(h)
	return nil
}

// peek calls fn with the history of an open job, or with nil.
func (b *bucketView) peek(job intent.JobID, fn func(*intent.History)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn(b.open[job])
}

// sending notes that a request of the job may leave in attempt.
func (b *bucketView) sending(job intent.JobID, attempt int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[job] != nil {
		b.sent[job] = attempt
	}
}

// now is the log's clock: what it said when it was last read, and the time that
// this process has lived through since. A wall clock decides nothing. It is 0 as
// long as the log has told no time.
func (b *bucketView) now() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nowMS == 0 {
		return 0
	}
	return b.nowMS + time.Since(b.nowAt).Milliseconds()
}

// heard notes what the log's clock says; b.mu is held.
func (b *bucketView) heard(ms int64) {
	if ms > b.nowMS {
		b.nowMS, b.nowAt = ms, time.Now()
	}
}

// commitMS returns the log's time of the record at an offset.
func (b *bucketView) commitMS(ctx context.Context, offset int64) (ms int64, err error) {
	err = b.v.st.Read(ctx, b.n, offset, offset+1, func(r *store.Record) error {
		ms = r.CommitMS
		return nil
	})
	return ms, err
}
