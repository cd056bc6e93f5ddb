// Package schedule runs the real worker through every schedule of crashes, pauses
// and failures up to a depth, over the log, the network and the service of
// [simworld], and checks each run by the invariants of package invariant.
//
// A [Schedule] is a list of steps. Each step lets one life go on to its n-th point
// and does something to it there: crash, pause or a failure that it is told of.
// Behind the last step faults stop: what is paused wakes up, and new lives recover. [Explore] finds the points by running: the points of a step's life
// are known once the schedule has run that lets it end.
//
// A schedule has a name, and the name is enough to run it again.
package schedule

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/intentlog/intentlog/internal/simworld"
)

// Entry is whose turn a step is.
type Entry byte

// The entries of new lives. A letter from A on is the life of that name, which is
// paused, and goes on.
const (
	Fresh   Entry = '!' // works without looking back, as the first life does
	Recover Entry = '+' // recovers, then works
)

// Step is the turn of one life. A life that was told of a failure goes on to its
// end, unless the next step is its own too.
type Step struct {
	Entry   Entry
	Stop    int // at the n-th point from here, from 1; 0 is to run to its end
	Verdict simworld.Verdict
}

// Final is what becomes of the paused lives when faults have stopped.
type Final byte

// The ends of paused lives.
const (
	Nobody Final = '-' // no life is paused
	Before Final = 'b' // they wake up before the recovery
	After  Final = 'a' // they wake up after it
)

// Schedule is one run.
type Schedule struct {
	Terms simworld.Terms
	Many  bool // the job computes, acts and completes; else it is one call of Do
	Steps []Step
	Final Final
}

var modes = map[simworld.Mode]byte{simworld.Crash: 'c', simworld.Pause: 'p', simworld.Fail: 'f'}

// String is the name of the schedule.
func (s Schedule) String() string {
	var b strings.Builder
	job := "one"
	if s.Many {
		job = "many"
	}
	fmt.Fprintf(&b, "%s/%s/", s.Terms.Name, job)
	for _, st := range s.Steps {
		fmt.Fprintf(&b, "%c%d", st.Entry, st.Stop)
		if st.Stop > 0 {
			fmt.Fprintf(&b, "%c%d", modes[st.Verdict.Mode], st.Verdict.Land)
		}
	}
	return b.String() + "/" + string(rune(s.Final))
}

var stepForm = regexp.MustCompile(`^([!+A-Z])(\d+)(?:([cpf])([0-3]))?`)

// Parse reads the name of a schedule.
func Parse(name string) (s Schedule, err error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || len(parts[3]) != 1 {
		return s, fmt.Errorf("schedule %q: want terms/job/steps/final", name)
	}
	s.Many, s.Final = parts[1] == "many", Final(parts[3][0])
	for _, t := range append(simworld.Honest[:len(simworld.Honest):len(simworld.Honest)], simworld.Lies...) {
		if t.Name == parts[0] {
			s.Terms = t
		}
	}
	if s.Terms.Name == "" {
		return s, fmt.Errorf("schedule %q: no such terms", name)
	}
	for rest := parts[2]; rest != ""; {
		m := stepForm.FindStringSubmatch(rest)
		if m == nil {
			return s, fmt.Errorf("schedule %q: no step at %q", name, rest)
		}
		rest = rest[len(m[0]):]
		st := Step{Entry: Entry(m[1][0])}
		st.Stop, _ = strconv.Atoi(m[2]) // digits
		for mode, letter := range modes {
			if m[3] != "" && m[3][0] == letter {
				st.Verdict = simworld.Verdict{Mode: mode, Land: simworld.Slot(m[4][0] - '0')}
			}
		}
		s.Steps = append(s.Steps, st)
	}
	return s, nil
}

// with returns the schedule with one more step.
func (s Schedule) with(st Step) Schedule {
	s.Steps = append(s.Steps[:len(s.Steps):len(s.Steps)], st)
	return s
}

// Kind names the sort of schedule for counting: what was done, in order.
func (s Schedule) Kind() string {
	words := map[simworld.Mode]string{simworld.Crash: "crash", simworld.Pause: "pause", simworld.Fail: "failure", simworld.Go: "run"}
	var parts []string
	for _, st := range s.Steps {
		parts = append(parts, words[st.Verdict.Mode])
	}
	return strings.Join(parts, "+")
}
