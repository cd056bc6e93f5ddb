package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/invariant"
	"github.com/intentlog/intentlog/internal/schedule"
	"github.com/intentlog/intentlog/internal/simworld"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
)

// move is one turn of the random driver.
type move struct {
	Who  int // which of the lives that are stopped, or a new one
	Mode simworld.Mode
	Land simworld.Slot
}

// plan is drawn before the run, so that the run itself is repeatable.
type plan struct {
	Owners  int // lives that the faults may meet
	Buckets int
	Jobs    int
	Recover []bool // by life: it recovers before it works
	Moves   []move
}

var plans = rapid.Custom(func(t *rapid.T) plan {
	p := plan{
		Owners:  rapid.IntRange(2, 4).Draw(t, "owners"),
		Buckets: rapid.IntRange(1, 3).Draw(t, "buckets"),
		Jobs:    rapid.IntRange(1, 4).Draw(t, "jobs"),
	}
	p.Recover = rapid.SliceOfN(rapid.Bool(), p.Owners, p.Owners).Draw(t, "recover")
	// A life passes about nine points for each job; most moves let it go on.
	most := []simworld.Mode{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, simworld.Fail, simworld.Crash}
	p.Moves = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
		return move{
			Who:  rapid.IntRange(0, p.Owners).Draw(t, "who"),
			Mode: rapid.SampledFrom(most).Draw(t, "mode"),
			Land: simworld.Slot(rapid.IntRange(0, 3).Draw(t, "land")),
		}
	}), 20*p.Owners, 60*p.Owners).Draw(t, "moves")
	return p
})

// Many owners, jobs and buckets, any interleaving: every life stops at every point,
// and the draw says who goes on, and how.
func TestOwnershipByLogOrder(t *testing.T) {
	for _, terms := range simworld.Honest {
		t.Run(terms.Name, func(t *testing.T) {
			t.Parallel()
			repeat := 3 // each draws anew
			switch {
			case *long:
				repeat = 100
			case stride > 1:
				repeat = 1
			}
			for range repeat {
				check(t, terms)
			}
		})
	}
}

func check(t *testing.T, terms simworld.Terms) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plans.Draw(rt, "plan")
		var err error
		var story []string
		synctest.Test(t, func(*testing.T) { story, err = interleave(terms, p) })
		if err != nil {
			rt.Fatalf("%v\n%s", err, strings.Join(story, "\n"))
		}
	})
}

// The random driver must find what a service that breaks its word leads to, and its
// plans must be about something: owners that are fenced, sends that repeat.
func TestInterleavingsMeetWhatTheyAreFor(t *testing.T) {
	found := map[string]int{}
	for seed := range 300 / min(stride, 3) {
		p := plans.Example(seed)
		for _, terms := range []simworld.Terms{simworld.KeyBound, simworld.FalseKeys} {
			var err error
			var story []string
			synctest.Test(t, func(*testing.T) { story, err = interleave(terms, p) })
			if terms.Name == simworld.KeyBound.Name {
				require.NoError(t, err)
				text := strings.Join(story, "\n")
				for _, word := range []string{"another owner holds the job", "from its stored receipt", "claim to attempt 3", "CRASHES", "lands"} {
					found[word] += strings.Count(text, word)
				}
			} else if err != nil {
				require.ErrorContains(t, err, "I1: second effect")
				found["second effect"]++
			}
		}
	}
	t.Log(found)
	for _, word := range []string{"another owner holds the job", "from its stored receipt", "claim to attempt 3", "CRASHES", "lands", "second effect"} {
		require.Positive(t, found[word], word)
	}
}

func interleave(terms simworld.Terms, p plan) (story []string, err error) {
	w := simworld.New(terms, p.Buckets)
	w.Story = true
	w.Choose = func(*simworld.Life, simworld.Point) simworld.Verdict { return simworld.Verdict{Mode: simworld.Pause} }
	defer w.Bury()
	defer func() { story = w.Lines() }()

	var lives []*simworld.Life
	start := func(recovers bool) *simworld.Life {
		l := w.Start(func(l *simworld.Life) { work(l, p.Jobs, recovers) })
		l.Wait()
		return l
	}
	for _, m := range p.Moves {
		if m.Who >= len(lives) && len(lives) < p.Owners {
			if terms.Retention == 0 { // no pause is longer than a key is kept
				w.Pass(terms.Wait)
			}
			lives = append(lives, start(p.Recover[len(lives)]))
			continue
		}
		if len(lives) > 0 {
			if l := lives[m.Who%len(lives)]; l.State == simworld.Paused {
				l.Resume(simworld.Verdict{Mode: m.Mode, Land: m.Land})
				l.Wait()
			}
		}
	}
	w.Choose = nil // faults stop
	for _, l := range lives {
		if l.State == simworld.Paused {
			l.Resume(simworld.Verdict{})
			l.Wait()
		}
	}
	w.Flush()
	var last *simworld.Life
	for range 4 {
		w.Pass(max(terms.Wait, terms.Rest))
		last = start(true)
		lives = append(lives, last)
	}
	return nil, verdict(w, terms, lives, last)
}

// work is the code of a life: every job once.
func work(l *simworld.Life, jobs int, recovers bool) {
	if l.Open() != nil || recovers && l.Recover() != nil {
		return
	}
	for n := range jobs {
		_ = l.Single(jobName(n)) // the life notes what it was told
	}
	_ = l.Recover()
}

func jobName(n int) intent.JobID { return intent.JobID(fmt.Sprintf("job-%d", n)) }

func verdict(w *simworld.World, terms simworld.Terms, lives []*simworld.Life, last *simworld.Life) error {
	trace, err := w.Recorder.Trace(context.Background(), w.Honest)
	if err != nil {
		return err
	}
	errs := []error{invariant.Check(trace), invariant.Ended(trace), schedule.Ownership(trace)}
	if terms.Contract.Safety == receipt.None {
		errs = append(errs, schedule.OneSender(trace))
	}
	for _, l := range lives {
		for _, err := range l.Errs {
			var broken *intent.HistoryError
			if errors.Is(err, recovery.ErrBroken) || errors.As(err, &broken) {
				errs = append(errs, fmt.Errorf("life %s: %w", l.Name, err))
			}
		}
	}
	if len(last.Reports) != 2 {
		errs = append(errs, fmt.Errorf("the last life had no faults and could not recover: %v", last.Errs))
	}
	return errors.Join(errs...)
}
