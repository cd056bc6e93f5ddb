package schedule

import "github.com/intentlog/intentlog/internal/simworld"

// Explore calls run for every schedule with exactly depth stops, and for those with
// fewer whose last step runs to its end: these find the points for the others. run
// must run it; it returns false to end the exploration.
func Explore(base Schedule, depth int, run func(Schedule) (Result, bool)) bool {
	base.Final = Nobody
	return (&explorer{run}).from(base, nil, depth)
}

type explorer struct {
	run func(Schedule) (Result, bool)
}

// from explores everything behind a prefix. paused are the lives that are paused
// behind it.
func (e *explorer) from(prefix Schedule, paused []Entry, depth int) bool {
	for _, entry := range entries(prefix, paused) {
		// The turn without a stop tells which points there are.
		s := prefix.with(Step{Entry: entry})
		res, ok := e.finals(s, without(paused, entry))
		if !ok {
			return false
		}
		for i, p := range res.Passed {
			for _, v := range p.Choices() {
				s := prefix.with(Step{Entry: entry, Stop: i + 1, Verdict: v})
				now := without(paused, entry)
				if v.Mode == simworld.Pause {
					now = append(now, s.actor())
				}
				if depth > 1 {
					ok = e.from(s, now, depth-1)
				} else {
					_, ok = e.finals(s, now)
				}
				if !ok {
					return false
				}
			}
		}
	}
	return true
}

// finals runs a schedule with each end that paused lives can have.
func (e *explorer) finals(s Schedule, paused []Entry) (res Result, ok bool) {
	if len(paused) == 0 {
		s.Final = Nobody
		return e.run(s)
	}
	s.Final = After
	res, ok = e.run(s)
	if last := s.Steps[len(s.Steps)-1]; ok && (last.Verdict.Mode != simworld.Pause || len(paused) > 1) {
		// Waking up the one that fell asleep last, with nobody in between, is nothing.
		s.Final = Before
		_, ok = e.run(s)
	}
	return res, ok
}

// entries lists whose turn may be next.
func entries(s Schedule, paused []Entry) (next []Entry) {
	if len(s.Steps) == 0 {
		return []Entry{Fresh}
	}
	next = []Entry{Recover, Fresh}
	last := s.Steps[len(s.Steps)-1]
	if last.Verdict.Mode == simworld.Fail {
		next = append(next, s.actor())
	}
	for _, p := range paused {
		if p != s.actor() {
			next = append(next, p)
		}
	}
	return next
}

// actor is the life of the last step.
func (s Schedule) actor() Entry {
	lives := 0
	for _, st := range s.Steps {
		if st.Entry == Fresh || st.Entry == Recover {
			lives++
		}
	}
	if last := s.Steps[len(s.Steps)-1].Entry; last != Fresh && last != Recover {
		return last
	}
	return Entry('A' + lives - 1)
}

func without(all []Entry, one Entry) (rest []Entry) {
	for _, e := range all {
		if e != one {
			rest = append(rest, e)
		}
	}
	return rest
}
