package intentlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

// The errors of a worker, to be found with errors.Is.
var (
	// ErrPayloadMismatch says that the action ID already stands for another
	// request. Nothing was written and nothing was sent.
	ErrPayloadMismatch = errors.New("action id already stands for another request")
	// ErrFenced says that another owner holds the job. Outcome.Sends tells whether
	// this call had sent before it was fenced.
	ErrFenced = recovery.ErrFenced
	// ErrBusy says that this worker is at work on the job, or on a recovery.
	ErrBusy = errors.New("already at work")
	// ErrCompleted says that the job is completed and takes no further steps.
	ErrCompleted = errors.New("job is completed")
	// ErrUnsettled says that an earlier action of the job is still open, so that
	// nothing else may be done for the job. Recover asks again.
	ErrUnsettled = errors.New("an earlier action of the job is not settled")
	// ErrClosed says that the worker is closed.
	ErrClosed = errors.New("worker is closed")
	// ErrNotHeld says that an operator's decision is about a hold that does not stand.
	ErrNotHeld = recovery.ErrNotHeld
)

// Outcome is how an action ended: see [recovery.Outcome].
type Outcome = recovery.Outcome

// The ways in which an action, or a recovered job, ends. The zero status is Held.
const (
	Held       = recovery.Held
	Confirmed  = recovery.Confirmed
	Reconciled = recovery.Reconciled
	Rejected   = recovery.Rejected
	Settled    = recovery.Settled
	Resumable  = recovery.Resumable
)

// Options are the options of [Open]; nil and zero mean the defaults.
type Options struct {
	// Targets are the HTTP services that intents with a route name.
	Targets Targets
	// Service takes the intents without a route. The zero Service can send
	// nothing: they are held.
	Service receipt.Service
	// TakeOver allows Recover to take the jobs of another worker name.
	TakeOver func(worker string) bool
	// Bookmark is, for each bucket, an offset that the log once acknowledged; a
	// log that ends below it is refused. See [Worker.Bookmark].
	Bookmark []int64
	// Quarantine sets jobs with a broken history aside instead of refusing the log.
	Quarantine bool

	Limits recovery.Limits
	Logger *slog.Logger // nil discards
}

// Worker is one life of a named worker on a store. Its methods may be called by
// many goroutines at once.
type Worker struct {
	opts  Options
	st    store.Store
	owner intent.Owner
	view  *recovery.View
	exec  *recovery.Executor
	log   *slog.Logger

	// mu guards which jobs have a handle, whether a recovery runs, and closed.
	mu         sync.Mutex
	active     map[intent.JobID]bool
	recovering bool
	closed     bool
}

// Open starts a life of the named worker on st and reads the log, so that every
// job that it holds is known. The name must be stable over restarts and must not
// be shared by two workers that run at the same time: Recover takes over the open
// jobs of earlier lives of the same name. The store stays the caller's to close,
// after the worker.
func Open(ctx context.Context, st store.Store, worker string, opts *Options) (*Worker, error) {
	owner, err := intent.NewOwner(worker)
	if err != nil {
		return nil, fmt.Errorf("open worker: %w", err)
	}
	w := &Worker{st: st, owner: owner, view: recovery.NewView(st, nil), active: map[intent.JobID]bool{}}
	if opts != nil {
		w.opts = *opts
	}
	if err := w.opts.Targets.check(); err != nil {
		return nil, fmt.Errorf("open worker %q: %w", worker, err)
	}
	w.log = w.opts.Logger
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	w.exec = recovery.NewExecutor(w.view, owner, w.service, w.opts.Limits, w.log)
	if err := w.view.CatchUp(ctx); err != nil {
		return nil, fmt.Errorf("open worker %q: %w", worker, err)
	}
	if err := w.view.CheckBookmark(w.opts.Bookmark); err != nil {
		return nil, fmt.Errorf("open worker %q: %w", worker, err)
	}
	return w, nil
}

// Owner returns the worker's name and the ID of this life.
func (w *Worker) Owner() intent.Owner { return w.owner }

// Bookmark returns for each bucket an offset below which the log has acknowledged
// everything. Kept outside the log and given to a later Open, it shows a log that
// was replaced by an older copy.
func (w *Worker) Bookmark() []int64 { return w.view.Positions() }

// Report is what a recovery found and did.
type Report struct {
	Decisions []recovery.Decision // with their evidence, in order of job ID
	Outcomes  []Outcome           // how each decision ended, in the same order
	Lost      []intent.JobID      // open jobs that another owner claimed first
}

// Resumable lists the jobs that wait for the worker's own code: no effect of
// theirs is in doubt. Continue each with [Worker.Job] or [Worker.Do].
func (r *Report) Resumable() (jobs []intent.JobID) {
	for _, o := range r.Outcomes {
		if o.Status == Resumable {
			jobs = append(jobs, o.Job)
		}
	}
	return jobs
}

// Plan asks and decides without claiming, sending or recording anything. Its
// answers are advice: another owner may act at the same time. It does not fence
// either, so what needs a fence first shows as held.
func (w *Worker) Plan(ctx context.Context) (*recovery.Plan, error) {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	opts := w.recoverOptions()
	opts.DryRun = true
	return recovery.Recover(ctx, w.st, w.owner, w.service, opts)
}

// Recover settles what earlier lives of this worker, and failed or held calls of
// this one, left open: it claims the jobs, asks the services, and carries out what
// is decided. Jobs that run in this worker are left alone. Held jobs are asked about
// again each time.
//
// With an error the report may be incomplete; nothing that it does not show was
// sent. ErrBusy says that a recovery of this worker runs already.
func (w *Worker) Recover(ctx context.Context) (*Report, error) {
	w.mu.Lock()
	switch {
	case w.closed:
		w.mu.Unlock()
		return nil, ErrClosed
	case w.recovering:
		w.mu.Unlock()
		return nil, fmt.Errorf("recover: %w", ErrBusy)
	}
	w.recovering = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.recovering = false
		w.mu.Unlock()
	}()
	var taken []intent.JobID
	defer func() {
		for _, job := range taken {
			w.release(job)
		}
	}()
	opts := w.recoverOptions()
	// A job that recovery deals with cannot be begun until it is dealt with.
	seen := map[intent.JobID]bool{}
	opts.Skip = func(job intent.JobID) bool {
		if !seen[job] {
			if w.take(job) != nil {
				return true
			}
			seen[job] = true
			taken = append(taken, job)
		}
		return false
	}
	return w.recover(ctx, opts)
}

// Resolve records an operator's decision about a held action, as told at
// [recovery.Resolve]. After ResolveRetry the next Recover, or Do, sends once more.
func (w *Worker) Resolve(ctx context.Context, job intent.JobID, action intent.ActionID, r intent.Resolution) error {
	if err := w.take(job); err != nil {
		return err
	}
	defer w.release(job)
	return recovery.Resolve(ctx, w.st, w.owner, job, action, r, w.recoverOptions())
}

func (w *Worker) recoverOptions() *recovery.Options {
	return &recovery.Options{
		View: w.view, TakeOver: w.opts.TakeOver, Quarantine: w.opts.Quarantine,
		Bookmark: w.opts.Bookmark, Limits: w.opts.Limits, Logger: w.log,
	}
}

func (w *Worker) recover(ctx context.Context, opts *recovery.Options) (*Report, error) {
	plan, err := recovery.Recover(ctx, w.st, w.owner, w.service, opts)
	if err != nil {
		return nil, err
	}
	report := &Report{Decisions: plan.Decisions, Lost: plan.Lost}
	report.Outcomes, err = plan.Apply(ctx)
	return report, err
}

// service finds the service of an intent.
func (w *Worker) service(in intent.Intent) (receipt.Service, error) {
	if in.Route.IsZero() {
		return w.opts.Service, nil
	}
	return w.opts.Targets.service(in.Route.Target)
}

// sendable refuses an intent that this worker could never send, before it is
// logged. A recovery holds such an intent of an earlier life instead.
func (w *Worker) sendable(in intent.Intent) error {
	if in.Route.IsZero() {
		if w.opts.Service.Sender == nil {
			return fmt.Errorf("%w: the intent has no route, and Options.Service no sender", ErrUnknownTarget)
		}
		return nil
	}
	t, known := w.opts.Targets[in.Route.Target]
	switch {
	case !known:
		return fmt.Errorf("%w: %q", ErrUnknownTarget, in.Route.Target)
	case t.Check != nil:
		if err := t.Check(in); err != nil {
			return fmt.Errorf("target %q: %w", in.Route.Target, err)
		}
	}
	return nil
}

// take reserves a job for one handle at a time.
func (w *Worker) take(job intent.JobID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return ErrClosed
	case w.active[job]:
		return fmt.Errorf("job %q: %w", job, ErrBusy)
	}
	w.active[job] = true
	return nil
}

func (w *Worker) release(job intent.JobID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.active, job)
}

// Close ends this life: nothing new begins, and appends that are under way end
// first. Calls of Do and Recover that are under way are not stopped, and may still
// send: let them return, or end their context, before the store is closed. Open jobs
// stay open for the next life to recover. The store is not closed.
func (w *Worker) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.view.Wait()
	return nil
}
