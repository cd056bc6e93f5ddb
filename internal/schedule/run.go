package schedule

import (
	"fmt"
	"slices"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/simworld"
)

const job = intent.JobID("job")

// rounds is how many recoveries may be needed once faults have stopped: one to
// send, some for a lookup that lags or a deadline that must pass.
const rounds = 5

// Result is what came of a schedule.
type Result struct {
	Passed []simworld.Point // by the life of the last step, in that step
	Paused []Entry          // lives that were paused when the steps ended
	Err    error            // violations, joined
	Story  []string         // if it was asked for
}

// Run runs a schedule in the current synctest bubble. twist, which may be nil,
// changes the world before it begins.
func Run(s Schedule, story bool, twist func(*simworld.World)) Result {
	w := simworld.New(s.Terms, 1)
	w.Story = story
	if twist != nil {
		twist(w)
	}
	r := &runner{Schedule: s, w: w}
	w.Choose = r.choose
	defer w.Bury()
	err := r.run()
	return Result{Passed: r.passed, Paused: r.paused, Err: err, Story: w.Lines()}
}

type runner struct {
	Schedule
	w      *simworld.World
	lives  []*simworld.Life
	stop   int // the point of the running life at which v is due
	v      simworld.Verdict
	passed []simworld.Point
	paused []Entry
	failed int // index + 1 of the life that is about to be told of a failure
	told   simworld.Verdict
	finals []*simworld.Life
}

func (r *runner) choose(l *simworld.Life, _ simworld.Point) simworld.Verdict {
	if r.stop == 0 || len(l.Passed) != r.stop {
		return simworld.Verdict{}
	}
	v := r.v
	r.stop = 0
	if v.Mode == simworld.Fail {
		// It is told when its next turn comes, so that this turn may have a stop of
		// its own.
		r.told, v = v, simworld.Verdict{Mode: simworld.Pause}
	}
	return v
}

func (r *runner) run() error {
	for i, st := range r.Steps {
		if err := r.step(i, st); err != nil {
			return err
		}
	}
	r.endFailed()
	for i, l := range r.lives {
		if l.State == simworld.Paused {
			r.paused = append(r.paused, Entry('A'+byte(i)))
		}
	}
	r.settle()
	return r.check()
}

// step is the turn of one life.
func (r *runner) step(i int, st Step) error {
	turn := simworld.Verdict{}
	n := int(st.Entry) - 'A'
	fresh := st.Entry == Fresh || st.Entry == Recover
	if r.failed > 0 && (fresh || n != r.failed-1) {
		r.endFailed()
	}
	if fresh {
		if i > 0 {
			r.w.Pass(r.Terms.Wait)
		}
		n = len(r.lives)
		r.stop, r.v = st.Stop, st.Verdict
		r.start(st.Entry)
	} else {
		if n < 0 || n >= len(r.lives) || r.lives[n].State != simworld.Paused {
			return fmt.Errorf("step %d: life %c is not paused", i+1, st.Entry)
		}
		if r.failed == n+1 {
			turn, r.failed = r.told, 0
		}
		r.stop, r.v = st.Stop, st.Verdict
		r.lives[n].Resume(turn)
		r.lives[n].Wait()
	}
	l := r.lives[n]
	r.passed = slices.Clone(l.Passed)
	if st.Stop > 0 && l.State == simworld.Ended {
		return fmt.Errorf("step %d: life %s has only %d points", i+1, l.Name, len(l.Passed))
	}
	if st.Verdict.Mode == simworld.Fail {
		r.failed = n + 1
	}
	return nil
}

// endFailed tells a life of its failure and lets it go on to its end.
func (r *runner) endFailed() {
	if r.failed > 0 {
		l := r.lives[r.failed-1]
		r.failed, r.stop = 0, 0
		l.Resume(r.told)
		l.Wait()
	}
}

func (r *runner) start(e Entry) *simworld.Life {
	l := r.w.Start(func(l *simworld.Life) {
		if l.Open() != nil {
			return
		}
		if e == Recover && l.Recover() != nil {
			return
		}
		if r.Many {
			_ = l.Many(job) // the life notes what it was told
		} else {
			_ = l.Single(job)
		}
	})
	r.lives = append(r.lives, l)
	l.Wait()
	return l
}

// settle is the time without faults.
func (r *runner) settle() {
	if r.Final == Before {
		r.wake()
	}
	for n := range rounds {
		r.w.Pass(max(r.Terms.Wait, r.Terms.Rest))
		r.finals = append(r.finals, r.start(Recover))
		if n == 0 {
			if r.Final == After {
				r.wake()
			}
			r.w.Flush() // what is late lands behind everything
		} else if r.history().Done {
			return
		}
	}
}

func (r *runner) wake() {
	for _, l := range r.lives {
		if l.State == simworld.Paused {
			l.Resume(simworld.Verdict{})
			l.Wait()
		}
	}
}
