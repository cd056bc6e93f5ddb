package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/ledger"
	"github.com/intentlog/intentlog/internal/supervise"
)

// stage is where one case plays: a service with its ledger, a log, and workers.
type stage struct {
	c     testCase
	exe   string // this program
	dir   string
	place string // of the logs
	out   io.Writer

	ledger    *ledger.Ledger
	service   *ledger.Service
	url       string
	log       *caseLog
	processes []*process
	before    int // effects when they were first counted
	counted   bool
	stops     []func() error
	decisions []decision
}

// perform plays the case and judges it.
func (s *stage) perform(ctx context.Context) Result {
	r := Result{Case: s.c.name, killed: s.c.killed}
	err := s.open(ctx)
	if err == nil {
		r.Log = s.log.label
		err = s.c.play(ctx, s)
		// The figures say most where the play did not come to its end.
		err = errors.Join(err, s.judge(context.WithoutCancel(ctx), &r))
	}
	if err := errors.Join(err, s.close()); err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
	r.OK = len(r.Problems) == 0
	for _, p := range r.Problems {
		s.say("WRONG: %s", p)
	}
	return r
}

func (s *stage) open(ctx context.Context) (err error) {
	if err := freshDir(s.dir); err != nil {
		return err
	}
	if s.ledger, err = ledger.Open(filepath.Join(s.dir, "service.db")); err != nil {
		return err
	}
	s.service = ledger.NewService(s.ledger)
	var stop func() error
	if s.url, stop, err = listen(s.service); err != nil {
		return err
	}
	s.stops = append(s.stops, stop)
	s.log, err = newCaseLog(ctx, s.place, s.dir, s.c.several)
	return err
}

// say tells people what happens.
func (s *stage) say(format string, args ...any) { fmt.Fprintf(s.out, "      "+format+"\n", args...) }

// fault makes the lookup answer with f from now on.
func (s *stage) fault(f ledger.Fault) {
	if f == ledger.Healthy {
		s.say("the lookup is restored")
	} else {
		s.say("the lookup is out of order: %s", f)
	}
	s.service.SetFault(f)
}

// countEffects notes how many effects there are before anything is recovered.
func (s *stage) countEffects(ctx context.Context) error {
	snap, err := s.ledger.Snapshot(ctx)
	if err == nil && !s.counted {
		s.before, s.counted = len(snap.Effects), true
	}
	return err
}

func (s *stage) noEffectYet(ctx context.Context) error {
	snap, err := s.ledger.Snapshot(ctx)
	if err == nil && len(snap.Effects) > 0 {
		err = errors.New("there is an effect, too early for this case")
	}
	return err
}

// process is one worker process.
type process struct {
	s       *stage
	process string // its name
	child   *supervise.Child
	report  report
	told    bool // report is there
}

// start starts the worker of this case, to stand still at the barriers.
func (s *stage) start(barriers ...string) (*process, error) {
	return s.startWorker("tickets-0", barriers)
}

// startOther starts another worker, which takes over the jobs of the first.
func (s *stage) startOther(barriers ...string) (*process, error) {
	return s.startWorker(fmt.Sprintf("tickets-%d", len(s.processes)), barriers, "-take-over")
}

func (s *stage) startWorker(worker string, barriers []string, more ...string) (*process, error) {
	p := &process{s: s, process: fmt.Sprintf("process %d", len(s.processes)+1)}
	args := append([]string{
		"worker", "-service", s.url, "-log", s.log.address, "-name", worker, "-process", p.process,
		"-pause", strings.Join(barriers, ","),
	}, more...)
	if s.c.noContract {
		args = append(args, "-no-contract")
	}
	var err error
	if p.child, err = supervise.Start(s.exe, args...); err != nil {
		return nil, err
	}
	s.processes = append(s.processes, p)
	return p, nil
}

func (p *process) reached(ctx context.Context, barrier string) error {
	return p.named(p.child.Reached(ctx, barrier))
}

func (p *process) release() error { return p.named(p.child.Release()) }

func (p *process) named(err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", p.process, err)
	}
	return err
}

// doneQuietly lets the process end by itself and takes its report.
func (p *process) doneQuietly(ctx context.Context) error {
	if err := p.child.Report(ctx, &p.report); err != nil {
		return p.named(err)
	}
	p.told = true
	p.s.decisions = append(p.s.decisions, p.report.Decisions...)
	return p.named(p.child.Exited(ctx))
}

// done is doneQuietly, and tells people.
func (p *process) done(ctx context.Context) error {
	err := p.doneQuietly(ctx)
	if err == nil {
		p.s.say("%s: %s", p.process, p.report)
	}
	return err
}

// crash starts a worker, kills it at the barrier, and looks at what it left: the last
// event in the log must be of the given type.
func (s *stage) crash(ctx context.Context, barrier string, last intent.Type) error {
	p, err := s.start(barrier)
	if err != nil {
		return err
	}
	if err := p.reached(ctx, barrier); err != nil {
		return err
	}
	if err := p.child.Kill(); err != nil {
		return p.named(err)
	}
	if err := s.countEffects(ctx); err != nil {
		return err
	}
	records, err := s.log.read(ctx)
	if err != nil {
		return fmt.Errorf("read the log of a dead process: %w", err)
	}
	if n := len(records); n == 0 || records[n-1].Event.Type != last {
		return fmt.Errorf("%s left %d events, and the last is not %s", p.process, n, last)
	}
	s.say("%s: reached %s; SIGKILL, it is dead; the log ends with %s", p.process, barrier, last)
	return nil
}

// finish starts a worker and lets it end by itself.
func (s *stage) finish(ctx context.Context) error {
	p, err := s.start()
	if err != nil {
		return err
	}
	return p.done(ctx)
}

// close ends whatever is left.
func (s *stage) close() error {
	for _, p := range s.processes {
		p.child.Close()
	}
	var errs []error
	for _, stop := range s.stops {
		errs = append(errs, stop())
	}
	if s.log != nil {
		errs = append(errs, s.log.close())
	}
	if s.ledger != nil {
		errs = append(errs, s.ledger.Close())
	}
	return errors.Join(errs...)
}
