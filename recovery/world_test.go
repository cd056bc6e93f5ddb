package recovery_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/invariant"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

const (
	job    = intent.JobID("job")
	action = intent.ActionID("job/1")
)

var (
	body     = []byte(`{"n":1}`)
	keyBound = receipt.Contract{Safety: receipt.KeyBound, Retention: 24 * time.Hour}
)

// world is one log and one service, over all the lives of their workers. Time is
// that of a synctest bubble.
type world struct {
	t   *testing.T
	log *memstore.Store
	rec *invariant.Recorder
	svc *service
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, log: memstore.New(2), rec: invariant.NewRecorder()}
	w.svc = &service{w: w, contract: keyBound, effects: map[intent.ActionID]int{}}
	return w
}

// check asks for the invariants once all is still.
func (w *world) check() {
	w.t.Helper()
	synctest.Wait()
	require.NoError(w.t, invariant.Check(w.trace()))
}

// inWorld runs a test in a world of its own and then asks for the invariants.
func inWorld(t *testing.T, run func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run(t, w)
		w.check()
	})
}

func (w *world) trace() *invariant.Trace {
	trace, err := w.rec.Trace(context.Background(), w.log)
	require.NoError(w.t, err)
	return trace
}

func (w *world) sends() int { return len(w.trace().Sends) }

// types lists the job's events in log order.
func (w *world) types() (types []intent.Type) {
	for _, r := range w.trace().Log[store.BucketFor(job, w.log.Buckets())] {
		if r.Event.JobID == job {
			types = append(types, r.Event.Type)
		}
	}
	return types
}

// service deduplicates by action ID, unless it is blind. Its hooks stand for what
// goes wrong; nil is all well.
type service struct {
	w        *world
	contract receipt.Contract
	blind    bool

	mu      sync.Mutex
	effects map[intent.ActionID]int
	asked   int

	send   func(ctx context.Context, r receipt.Request) (receipt.Answer, error)
	lookup func(ctx context.Context, r receipt.Request) (receipt.Finding, error)
}

// commit does the effect, as it does when a request arrives.
func (s *service) commit(r receipt.Request) *receipt.Receipt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.effects[r.Intent.Action] == 0 || s.blind {
		s.effects[r.Intent.Action]++
		s.w.rec.Effect(r.Intent.Action, r.Intent.Payload)
	}
	return &receipt.Receipt{Action: r.Intent.Action, Digest: r.Digest, Reference: "effect-1"}
}

func (s *service) Send(ctx context.Context, r receipt.Request) (receipt.Answer, error) {
	if s.send != nil {
		return s.send(ctx, r)
	}
	return receipt.Answer{Result: receipt.Accepted, Receipt: s.commit(r)}, nil
}

func (s *service) Lookup(ctx context.Context, r receipt.Request) (receipt.Finding, error) {
	s.mu.Lock()
	s.asked++
	known, hook := s.effects[r.Intent.Action] > 0, s.lookup
	s.mu.Unlock()
	switch {
	case hook != nil:
		return hook(ctx, r)
	case known:
		return receipt.Found(&receipt.Receipt{Action: r.Intent.Action, Digest: r.Digest, Reference: "effect-1"}), nil
	}
	return receipt.NotFound(), nil
}

// request is what a sender gets for the action of these tests.
func request(attempt int32) receipt.Request {
	return receipt.Request{Job: job, Intent: intent.New(action, body), Digest: intent.DigestOf(body), Attempt: attempt}
}

// faulty is a store in which the hooks stand for what goes wrong; do is the honest
// call behind them.
type faulty struct {
	store.Store
	append func(ctx context.Context, events []intent.Event, do func() (int64, error)) (int64, error)
	bound  func(do func() (store.Bound, error)) (store.Bound, error)
	read   func(from, to int64, fn func(*store.Record) error, do func(from, to int64, fn func(*store.Record) error) error) error
}

func (f *faulty) Append(ctx context.Context, b int, events []intent.Event) (int64, error) {
	events = slices.Clone(events) // do may be called late
	do := func() (int64, error) { return f.Store.Append(context.WithoutCancel(ctx), b, events) }
	if f.append != nil {
		return f.append(ctx, events, do)
	}
	return do()
}

func (f *faulty) Bound(ctx context.Context, b int) (store.Bound, error) {
	do := func() (store.Bound, error) { return f.Store.Bound(ctx, b) }
	if f.bound != nil {
		return f.bound(do)
	}
	return do()
}

func (f *faulty) Read(ctx context.Context, b int, from, to int64, fn func(*store.Record) error) error {
	do := func(from, to int64, fn func(*store.Record) error) error { return f.Store.Read(ctx, b, from, to, fn) }
	if f.read != nil {
		return f.read(from, to, fn, do)
	}
	return do(from, to, fn)
}

// life is one process lifetime of a worker.
type life struct {
	w     *world
	name  string
	owner intent.Owner
	st    *faulty
	view  *recovery.View
	exec  *recovery.Executor
	opts  recovery.Options
}

// life begins a life. Names of one worker differ in what follows the dash.
func (w *world) life(name string) *life {
	l := &life{w: w, name: name, st: &faulty{Store: w.log.Reopen()}}
	worker, _, _ := strings.Cut(name, "-")
	owner, err := intent.NewOwner(worker)
	require.NoError(w.t, err)
	l.owner = owner
	l.view = recovery.NewView(w.rec.Store(name, l.st), nil)
	l.exec = recovery.NewExecutor(l.view, owner, l.services, recovery.Limits{}, nil)
	l.opts.View = l.view
	require.NoError(w.t, l.view.CatchUp(context.Background()))
	return l
}

func (l *life) services(intent.Intent) (receipt.Service, error) {
	return receipt.Service{Sender: l.w.rec.Sender(l.name, l.w.svc), Lookup: l.w.svc, Contract: l.w.svc.contract}, nil
}

// events returns the events of a fresh job up to its intent.
func (l *life) events() []intent.Event {
	return []intent.Event{
		{JobID: job, Type: intent.Started, Detail: `{"worker":"` + l.owner.Worker + `","single":true}`},
		{
			JobID: job, Type: intent.ActionRequested, ActionID: action, PayloadDigest: intent.DigestOf(body),
			Detail: string(body), EmittedAtMS: time.Now().UnixMilli(),
		},
	}
}

// ask logs the intent of a fresh job.
func (l *life) ask() error {
	_, err := l.exec.Append(context.Background(), job, 1, l.events())
	return err
}

// die makes every later call of the life's store fail.
func (l *life) die() {
	l.st.append = func(context.Context, []intent.Event, func() (int64, error)) (int64, error) {
		return 0, &store.AppendError{Outcome: store.NotStored, Err: store.ErrClosed}
	}
	l.st.bound = func(func() (store.Bound, error)) (store.Bound, error) { return store.Bound{}, store.ErrClosed }
}

func (l *life) decide(ctx context.Context) (*recovery.Plan, error) {
	from := l.w.rec.Now()
	plan, err := recovery.Recover(ctx, nil, l.owner, l.services, &l.opts)
	l.w.rec.Recovered(l.name, from, plan, err)
	return plan, err
}

// recover recovers, and returns the one decision and its outcome.
func (l *life) recover() (recovery.Decision, recovery.Outcome) {
	l.w.t.Helper()
	plan, err := l.decide(context.Background())
	require.NoError(l.w.t, err)
	require.Len(l.w.t, plan.Decisions, 1)
	out, err := plan.Apply(context.Background())
	require.NoError(l.w.t, err)
	return plan.Decisions[0], out[0]
}

// quiet recovers once more and asks that this sends and appends nothing but claims.
func (l *life) quiet() {
	l.w.t.Helper()
	before := l.w.trace()
	plan, err := l.decide(context.Background())
	require.NoError(l.w.t, err)
	_, err = plan.Apply(context.Background())
	require.NoError(l.w.t, err)
	require.NoError(l.w.t, invariant.Quiet(before, l.w.trace()))
}

// held asks for a hold for the reason, of which nothing was sent.
func (l *life) held(reason receipt.Reason) {
	l.w.t.Helper()
	before := l.w.sends()
	d, out := l.recover()
	require.Equal(l.w.t, recovery.HoldUnknown, d.Kind)
	require.Equal(l.w.t, recovery.Held, out.Status)
	require.Equal(l.w.t, reason, out.Reason)
	require.Equal(l.w.t, before, l.w.sends(), "a hold sends nothing")
}

// reconciled asks for a reconciliation, of which nothing was sent.
func (l *life) reconciled() {
	l.w.t.Helper()
	before := l.w.sends()
	d, out := l.recover()
	require.Equal(l.w.t, recovery.Reconcile, d.Kind)
	require.Equal(l.w.t, recovery.Reconciled, out.Status)
	require.Equal(l.w.t, before, l.w.sends(), "a reconciliation sends nothing")
	require.Equal(l.w.t, []intent.Type{intent.Reconciled, intent.ActionConfirmed, intent.Completed}, last(l.w.types(), 3))
}

// retried asks for a retry that is confirmed.
func (l *life) retried() {
	l.w.t.Helper()
	d, out := l.recover()
	require.Equal(l.w.t, recovery.Retry, d.Kind, "%s %s", d, d.Message)
	require.Equal(l.w.t, recovery.Confirmed, out.Status)
	require.Equal(l.w.t, 1, l.w.svc.effects[action])
	require.Equal(l.w.t, []intent.Type{intent.ActionConfirmed, intent.Completed}, last(l.w.types(), 2))
}

func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

var errAck = &store.AppendError{Outcome: store.Unknown, Err: errors.New("the acknowledgement was lost")}
