package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/intentlog/intentlog/internal/sharedlog"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// contender is one way to have effects: a program that is given errands.
type contender struct {
	name string
	argv []string // nil: it could not be built
}

// stage is where one contender plays one case. The stage is also the queue before
// the contender: it delivers a job again until a word is said of it, as queues do.
type stage struct {
	*shop
	c      contender
	errand errand
	jobs   []string // the names by which the orders go now
	says   map[string]word
	fault  func(context.Context) error // ends what is wrong; nil: nothing is
	story  []string                    // what it took, for people
}

// life is one process of the contender.
type life struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	errs bytes.Buffer
	runs chan struct{} // closed when it has begun
	done chan struct{} // closed when it has ended
}

// start begins a life.
func (s *stage) start(ctx context.Context, e errand) (*life, error) {
	arg, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	l := &life{runs: make(chan struct{}), done: make(chan struct{})}
	l.cmd = exec.CommandContext(ctx, s.c.argv[0], append(s.c.argv[1:], string(arg))...)
	l.cmd.Stdout, l.cmd.Stderr = &l.out, &l.errs
	s.mu.Lock()
	s.kill = func() {
		<-l.runs
		_ = l.cmd.Process.Kill()
		<-l.done
	}
	s.mu.Unlock()
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	close(l.runs)
	go func() {
		_ = l.cmd.Wait() // how it ended is of no interest: what counts is what it said
		close(l.done)
	}()
	return l, nil
}

// hear waits for the end of a life and notes what was said.
func (s *stage) hear(l *life) {
	<-l.done
	lines := bufio.NewScanner(&l.out)
	for lines.Scan() {
		var w word
		if json.Unmarshal(lines.Bytes(), &w) == nil && w.Says != "" {
			s.says[w.Job] = w
		}
	}
}

// deliver gives all open jobs to one life, and waits for its end.
func (s *stage) deliver(ctx context.Context) error {
	e := s.errand
	for _, job := range s.jobs {
		if s.says[job].Says != done {
			e.Jobs = append(e.Jobs, job)
		}
	}
	if len(e.Jobs) == 0 {
		return nil
	}
	l, err := s.start(ctx, e)
	if err != nil {
		return err
	}
	s.hear(l)
	if text := l.errs.String(); strings.Contains(text, "panic:") || strings.Contains(text, "errand:") {
		return fmt.Errorf("%s: %s", s.c.name, text)
	}
	return ctx.Err()
}

// share lets the processes of intentlog share their log, as those of a fleet do; the
// embedded log is for one at a time. The others bring what they share.
func (s *stage) share() (stop func(), err error) {
	if s.c.name != intentLog {
		return func() {}, nil
	}
	st, err := sqlitestore.Open(filepath.Join(s.errand.Dir, logFile), nil)
	if err != nil {
		return nil, err
	}
	srv := httptest.NewServer(sharedlog.Handler(st))
	s.errand.Log = srv.URL
	return func() { srv.Close(); st.Close() }, nil
}

// forget makes the queue lose what was said, as if it had not been acknowledged.
func (s *stage) forget() { s.says = map[string]word{} }

// settle goes on until every job is done: a job without a word is delivered again, a
// failed one is ordered again by the customer who was told, and when one is held the
// fault ends, and if that does not help a person who read the shop's ledger decides.
func (s *stage) settle(ctx context.Context) error {
	for range 6 {
		if err := s.deliver(ctx); err != nil {
			return err
		}
		open, holds := false, false
		for i, job := range s.jobs {
			switch w := s.says[job]; w.Says {
			case done:
				if w.Why != "" {
					s.tale(w.Why)
				}
				continue
			case failed:
				s.jobs[i] = job + "_again"
				s.tale("told failed, ordered again")
			case held:
				s.tale("held (" + w.Why + ")")
				holds = true
			}
			open = true
		}
		switch {
		case !open:
			return s.end(ctx)
		case holds && s.fault != nil:
			s.tale("the fault ends")
			if err := s.end(ctx); err != nil {
				return err
			}
		case holds:
			s.errand.Operator = true
			s.tale("an operator confirms")
		}
	}
	s.tale("given up by the queue")
	return s.end(ctx)
}

// end ends what is wrong, if anything still is.
func (s *stage) end(ctx context.Context) error {
	fault := s.fault
	s.fault = nil
	if fault == nil {
		return nil
	}
	return fault(ctx)
}

// tale adds to the story what it does not end with already.
func (s *stage) tale(what string) {
	if n := len(s.story); n == 0 || s.story[n-1] != what {
		s.story = append(s.story, what)
	}
}

// play plays one case with one contender.
func (c contender) play(ctx context.Context, x exhibit, dir string, allKeys bool) (Result, error) {
	r := Result{Case: x.name, Contender: c.name, Wanted: max(1, x.orders)}
	switch why := x.without[c.name]; {
	case c.argv == nil:
		r.Note = "could not be built"
		return r, nil
	case why != "":
		r.Note = why
		return r, nil
	}
	s := &stage{shop: newShop(), c: c, says: map[string]word{}}
	s.keys, s.retains = x.keys, x.retains
	if allKeys && !s.keys {
		s.keys = true
	}
	if s.retains == 0 {
		s.retains = forever
	}
	srv := httptest.NewServer(s.shop)
	defer srv.Close()
	defer srv.CloseClientConnections()
	var wanted []string
	for n := range r.Wanted {
		wanted = append(wanted, fmt.Sprintf("order-%d", n+1))
	}
	s.jobs = append(s.jobs, wanted...)
	s.errand = errand{
		Shop: srv.URL, Dir: filepath.Join(dir, x.name, c.name), Executor: "0", Token: "tok-1", Patience: 10 * time.Second,
		Lookup: !x.blind, Keys: s.keys, Retains: s.retains,
	}
	if err := os.MkdirAll(s.errand.Dir, 0o700); err != nil {
		return r, err
	}
	if err := x.play(ctx, s); err != nil {
		return r, fmt.Errorf("case %s: %s: %w", x.name, c.name, err)
	}
	var right bool
	r.Effects, right = s.count(wanted)
	for _, job := range s.jobs {
		right = right && s.says[job].Says == done
	}
	r.OK = right
	r.Note = strings.Join(s.story, ", ")
	r.played = true
	return r, nil
}

const forever = 1<<63 - 1
