package recovery

import (
	"context"
	"fmt"
	"hash/maphash"
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
// It keeps open jobs in full, and about 25 bytes for every finished one and for
// every action. All methods may be called by many goroutines at once.
type View struct {
	st      store.Store
	opts    ViewOptions
	buckets []*bucketView

	// amu guards which job each action ID stands for, by hashes of both.
	amu     sync.Mutex
	actions map[uint64]uint64
}

// ViewOptions are the options of a View; nil and zero mean the defaults.
type ViewOptions struct {
	// AppendTimeout bounds an append with all that is needed to learn its
	// outcome. It goes on after the caller's context ended, since an append that
	// may have left cannot be taken back, and may then last as long once more.
	// Default 30 s.
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
	open   map[intent.JobID]*openJob
	closed map[uint64]int64                // hash of a finished job's ID: offset of its first event
	late   map[intent.JobID]struct{}       // finished jobs about which events came later
	broken map[intent.JobID]error          // jobs whose history breaks the rules
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

// openJob is what is known of a job that is not done.
type openJob struct {
	intent.History
	first int64 // offset of its first event
	sent  int32 // the attempt in which this process may have sent for it
}

// NewView returns a view of st that has seen nothing yet.
func NewView(st store.Store, opts *ViewOptions) *View {
	v := &View{st: st, actions: map[uint64]uint64{}}
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
			open:   map[intent.JobID]*openJob{},
			closed: map[uint64]int64{},
			late:   map[intent.JobID]struct{}{},
			broken: map[intent.JobID]error{},
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

// Reserve notes that an action ID stands for an action of the job, and reports
// whether it may: an ID that stands for another job's action may not. It knows the
// actions that this owner has seen, in all buckets, and those that it reserved.
func (v *View) Reserve(action intent.ActionID, job intent.JobID) bool {
	a, j := maphash.String(jobSeed, string(action)), jobHash(job)
	v.amu.Lock()
	defer v.amu.Unlock()
	if other, taken := v.actions[a]; taken {
		return other == j
	}
	v.actions[a] = j
	return true
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

// CheckBookmark reports a log that ends below what it once acknowledged, by the
// offsets of an earlier [View.Positions]: store.ErrLogRegressed. It looks at what
// was seen so far; call it after [View.CatchUp].
func (v *View) CheckBookmark(bookmark []int64) error {
	for n, end := range v.Positions() {
		if n < len(bookmark) && end < bookmark[n] {
			return &store.ReadError{
				Bucket: n, Offset: end,
				Err: fmt.Errorf("%w: it ends at %d, acknowledged up to %d", store.ErrLogRegressed, end, bookmark[n]),
			}
		}
	}
	return nil
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
	return readWhole(ctx, b.v.st, b.n, from, to, func(r *store.Record) error {
		if each != nil {
			each(r)
		}
		return b.fold(r)
	})
}
