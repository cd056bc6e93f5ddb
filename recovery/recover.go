package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
)

// Decision is what is to be done about one job, and on what evidence.
type Decision struct {
	Job     intent.JobID
	Attempt int32 // the attempt that this owner claimed for it
	Kind    Kind
	Reason  receipt.Reason // with HoldUnknown
	Message string         // with HoldUnknown: what was seen, at most 256 bytes

	Action  intent.ActionID  // the open action, or the last one; empty if there is none
	Held    bool             // the action was held before
	Hold    intent.EventID   // by this event; empty if it was not held
	Finding receipt.Kind     // what the lookup said
	Receipt *receipt.Receipt // with Reconcile
	Safety  receipt.Safety   // what the contract declares
	Age     time.Duration    // of the intent, by the log's clock; 0 if it was not needed

	forced bool // an operator's decision, which needs no proof of safety
}

// String tells the decision in one line.
func (d Decision) String() string {
	s := fmt.Sprintf("%s: %s", d.Job, d.Kind)
	if d.Action != "" {
		s += " " + string(d.Action)
	}
	if d.Reason != receipt.ReasonNone {
		s += " (" + string(d.Reason) + ")"
	}
	return s
}

// Plan is the result of a [Recover]: decisions that nobody has carried out yet.
type Plan struct {
	Decisions []Decision     // in order of job ID
	Lost      []intent.JobID // claimed, but another owner's claim came first, or the job was finished meanwhile
	Bounds    []int64        // per bucket, the offset below which everything was seen
	DryRun    bool

	exec    *Executor
	applied atomic.Bool
}

// Recover reads the log to a linearizable bound, claims the open jobs whose last
// owner had owner's worker name, asks about their open actions and decides. It
// sends nothing to any service and records no outcome.
//
// An error means that no decision was made: the log could not be read completely
// or breaks the rules, or ctx ended. Claims may have been appended; the next
// Recover takes them into account.
func Recover(ctx context.Context, st store.Store, owner intent.Owner, services Services, opts *Options) (*Plan, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.View == nil {
		o.View = NewView(st, nil)
		defer o.View.Wait()
	}
	r := newRecovering(o, owner, services)
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	if !o.DryRun {
		if err := r.claimAll(ctx); err != nil {
			return nil, err
		}
	}
	return r.decideAll(ctx)
}

// recovering is one run of Recover.
type recovering struct {
	*Executor
	opts Options
	mine map[intent.JobID]int32 // the attempts that this run stands on
}

func newRecovering(o Options, owner intent.Owner, services Services) *recovering {
	x := NewExecutor(o.View, owner, services, o.Limits, o.Logger)
	x.dry = o.DryRun
	return &recovering{Executor: x, opts: o, mine: map[intent.JobID]int32{}}
}

// read sees the whole log and refuses one that cannot be trusted.
func (r *recovering) read(ctx context.Context) error {
	if err := r.view.CatchUp(ctx); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if err := r.view.CheckBookmark(r.opts.Bookmark); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	var all []error
	for _, b := range r.view.buckets {
		if err := b.recheck(ctx); err != nil {
			return fmt.Errorf("recover: %w", err)
		}
		all = append(all, b.brokenErrors()...)
	}
	if len(all) > 0 && !r.opts.Quarantine {
		return fmt.Errorf("recover: %w: %w", ErrBroken, errors.Join(all...))
	}
	return nil
}

// recheck folds the finished jobs anew about which events came later.
func (b *bucketView) recheck(ctx context.Context) error {
	b.mu.Lock()
	late := b.late
	b.late = map[intent.JobID]struct{}{}
	b.mu.Unlock()
	defer func() { // what an error left over is looked at next time
		b.mu.Lock()
		defer b.mu.Unlock()
		maps.Copy(b.late, late)
	}()
	if len(late) == 0 {
		return nil
	}
	jobs, err := b.refoldAll(ctx, late)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for job, got := range jobs {
		switch {
		case got.err != nil:
			b.breakJob(job, got.err)
		case !got.Done && b.open[job] == nil:
			// Another job of the same hash was finished; this one is open.
			b.open[got.Job] = &got.openJob
		}
	}
	clear(late)
	return nil
}

func (b *bucketView) brokenErrors() (all []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, job := range sortedKeys(b.broken) {
		all = append(all, b.broken[job])
	}
	return all
}

// decideAll asks and decides, with bounded concurrency.
func (r *recovering) decideAll(ctx context.Context) (*Plan, error) {
	p := &Plan{DryRun: r.opts.DryRun, exec: r.Executor}
	type result struct {
		d   Decision
		own bool
		err error
	}
	var jobs []intent.JobID
	for _, b := range r.view.buckets {
		if r.opts.DryRun {
			jobs = append(jobs, r.candidates(b)...)
		}
		if r.opts.Quarantine {
			p.Decisions = append(p.Decisions, b.quarantined()...)
		}
	}
	if !r.opts.DryRun {
		jobs = sortedKeys(r.mine)
	}
	results := make([]result, len(jobs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, r.limits.Parallel)
	for i, job := range jobs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			d, own, err := r.consider(ctx, job)
			results[i] = result{d, own, err}
		})
	}
	wg.Wait()
	for i, res := range results {
		switch {
		case res.err != nil:
			return nil, fmt.Errorf("recover job %q: %w", jobs[i], res.err)
		case res.own:
			p.Decisions = append(p.Decisions, res.d)
			r.logger.InfoContext(ctx, "decided", "job", res.d.Job, "attempt", res.d.Attempt,
				"action", res.d.Action, "decision", res.d.Kind.String(), "reason", string(res.d.Reason))
		default:
			p.Lost = append(p.Lost, jobs[i])
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	slices.SortFunc(p.Decisions, func(a, b Decision) int {
		if a.Job < b.Job {
			return -1
		}
		return 1
	})
	p.Bounds = r.view.Positions()
	return p, nil
}

// consider decides about one job; own is false if it is not this owner's.
func (r *recovering) consider(ctx context.Context, job intent.JobID) (d Decision, own bool, err error) {
	attempt := r.mine[job]
	var st state
	r.view.bucket(job).peek(job, func(h *openJob) {
		if h != nil && (r.opts.DryRun || h.Owned(attempt, r.owner.ID)) {
			own, st = true, stateOf(&h.History)
		}
	})
	if !own {
		return Decision{}, false, nil
	}
	if r.opts.DryRun { // as if it were claimed now
		st.attempt, st.prior = st.attempt+1, st.claimed
		st.claimed = intent.Mark{Offset: math.MaxInt64, CommitMS: r.view.bucket(job).now()}
	}
	d, err = r.decide(ctx, st, 0)
	return d, true, err
}

func (b *bucketView) quarantined() (all []Decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, job := range sortedKeys(b.broken) {
		all = append(all, Decision{
			Job: job, Reason: receipt.ReasonHistory,
			Message: receipt.Doubt(receipt.ReasonHistory, b.broken[job]).Message(),
		})
	}
	return all
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
