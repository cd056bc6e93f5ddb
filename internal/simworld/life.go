package simworld

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

const forever = 1000 * time.Hour

// State is where a life stands.
type State uint8

// The states.
const (
	Running State = iota
	Paused
	Crashed
	Ended
)

// Life is one life of the worker.
type Life struct {
	Name    string
	State   State
	Passed  []Point // since it started or was resumed
	Worker  *intentlog.Worker
	Errs    []error // what the worker's own code was told
	Reports []*intentlog.Report

	w      *World
	ctx    context.Context
	cancel context.CancelFunc
	gate   chan Verdict
	states chan State
	dead   bool // set before gate is closed
}

// Script is the worker's own code.
type Script func(l *Life)

// Start begins a life; it runs until the first point where it is stopped.
func (w *World) Start(script Script) *Life {
	l := &Life{Name: string(rune('A' + len(w.lives)%26)), w: w, gate: make(chan Verdict), states: make(chan State)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	w.lives = append(w.lives, l)
	l.tell("starts")
	go func() {
		script(l)
		l.report(Ended)
	}()
	return l
}

// report tells the driver; after the burial nobody listens.
func (l *Life) report(s State) {
	select {
	case l.states <- s:
	case <-l.ctx.Done():
	}
}

// Wait returns when the life has stopped or ended.
func (l *Life) Wait() State {
	l.State = <-l.states
	if l.State == Ended {
		l.tell("ends")
		l.cancel()
	}
	return l.State
}

// Resume lets a paused life go on by the verdict.
func (l *Life) Resume(v Verdict) {
	l.State, l.Passed = Running, l.Passed[:0]
	if v.Mode == Go {
		l.tell("wakes up")
	}
	l.gate <- v
}

// at is a point. It returns nil to go on. m is on the wire there.
func (l *Life) at(p Point, m *message) error {
	if l.dead {
		return store.ErrClosed
	}
	l.Passed = append(l.Passed, p)
	var v Verdict
	if l.w.Choose != nil {
		v = l.w.Choose(l, p)
	}
	for v.Mode == Pause {
		l.tell("PAUSES: %s", p)
		l.report(Paused)
		var ok bool
		if v, ok = <-l.gate; !ok {
			return store.ErrClosed
		}
	}
	switch v.Mode {
	case Fail:
		l.tell("is told that it failed: %s", p)
		if m != nil {
			l.w.launch(m, v.Land)
		}
		return errCut
	case Crash:
		l.tell("CRASHES: %s", p)
		if m != nil {
			l.w.launch(m, v.Land)
		}
		l.report(Crashed)
		<-l.gate
		return store.ErrClosed
	}
	return nil
}

func (l *Life) tell(format string, args ...any) {
	if l.w.Story && !l.dead { // the dead run at once, and beside one another
		l.w.tell("%s", l.Name+" "+fmt.Sprintf(format, args...))
	}
}

// Open opens the worker of this life.
func (l *Life) Open() error {
	c := client{l}
	svc := receipt.Service{Sender: l.w.Recorder.Sender(l.Name, c), Lookup: c, Contract: l.w.Terms.Contract}
	if l.w.Terms.NoLookup {
		svc.Lookup = nil
	}
	if svc.Contract.Safety == receipt.Fenced {
		svc.Contract.Fence = c.Fence
	}
	st := l.w.Recorder.Store(l.Name, log{l.w.Honest.Reopen(), l})
	var err error
	l.Worker, err = intentlog.Open(l.ctx, st, "worker", &intentlog.Options{
		Service: svc,
		// A life that is stopped must not be woken by its own timers.
		Limits: recovery.Limits{Parallel: 1, InFlight: 1, Lookup: forever, Send: forever},
	})
	return l.note("open", err)
}

// Recover lets the worker recover, and notes it.
func (l *Life) Recover() error {
	from := l.w.Recorder.Now()
	report, err := l.Worker.Recover(l.ctx)
	if l.dead {
		return store.ErrClosed
	}
	var plan *recovery.Plan
	if report != nil {
		plan = &recovery.Plan{Decisions: report.Decisions, Bounds: l.Worker.Bookmark()}
		l.Reports = append(l.Reports, report)
		for _, d := range report.Decisions {
			l.tell("had decided: %s", d)
		}
	}
	l.w.Recorder.Recovered(l.Name, from, plan, err)
	return l.note("recover", err)
}

func (l *Life) note(what string, err error) error {
	if err != nil && !l.dead {
		l.tell("cannot %s: %v", what, err)
		l.Errs = append(l.Errs, fmt.Errorf("%s: %w", what, err))
	}
	return err
}

// Single does one action for a job that consists of it. Every life wants other
// bytes, so that two payloads under one action ID would be seen.
func (l *Life) Single(job intent.JobID) error {
	return l.twice(func() error {
		out, err := l.Worker.Do(l.ctx, job, intent.New("", []byte("by "+l.Name)))
		return l.done("do", out, err)
	})
}

// twice tries once more after an error, as a caller does that is still alive.
func (l *Life) twice(try func() error) error {
	err := try()
	if err == nil || l.ctx.Err() != nil || errors.Is(err, intentlog.ErrPayloadMismatch) {
		return err
	}
	time.Sleep(5 * time.Millisecond) // the same event would carry another time
	return try()
}

// Many computes, acts by the result and completes.
func (l *Life) Many(job intent.JobID) error {
	return l.twice(func() error { return l.many(job) })
}

func (l *Life) many(job intent.JobID) error {
	j, err := l.Worker.Job(l.ctx, job, &intentlog.JobOptions{ManyActions: true})
	if err != nil {
		return l.note("take the job", err)
	}
	defer j.Close()
	result, err := j.Compute(l.ctx, "text", func(context.Context) ([]byte, error) { return []byte("by " + l.Name), nil })
	if err != nil {
		return l.note("compute", err)
	}
	out, err := j.Do(l.ctx, intent.New("", result))
	if err := l.done("do", out, err); err != nil || out.Status == intentlog.Held {
		return err
	}
	return l.note("complete", j.Complete(l.ctx))
}

func (l *Life) done(what string, out intentlog.Outcome, err error) error {
	if err == nil {
		l.tell("is done with %s: %s %s", out.Action, out.Status, out.Reason)
	}
	return l.note(what, err)
}
