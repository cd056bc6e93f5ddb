package main

import (
	"fmt"
	"time"
)

// contest is a work with those who take turns at it: ours in each format, floors and peers.
type contest struct {
	work, unit string
	higher     bool // more is better
	entrants   []entrant
	pairs      [][2]int // ours and peer, by index
}

// entrant takes part in a contest: with single calls, which are timed one by one,
// or with a run that measures itself.
type entrant struct {
	name string
	call func() error
	run  func() (float64, error)
}

// callsARound is how many calls of each entrant make one round; inARow is how many
// it makes at each of its turns, after warming unmeasured ones: a caller that has
// just called finds its own code and its server's awake.
const (
	callsARound = 600
	inARow      = 50
	warming     = 5
)

// call adds single calls and returns the index of the entrant.
func (c *contest) call(name string, call func() error) int {
	c.entrants = append(c.entrants, entrant{name: name, call: call})
	return len(c.entrants) - 1
}

// run adds what measures itself and returns the index of the entrant.
func (c *contest) run(name string, run func() (float64, error)) int {
	c.entrants = append(c.entrants, entrant{name: name, run: run})
	return len(c.entrants) - 1
}

// against adds a line to the report.
func (c *contest) against(ours, peer int) { c.pairs = append(c.pairs, [2]int{ours, peer}) }

// hold lets all take turns, once to warm up and then in rounds, and reports the
// medians. On a machine that others use too, ratios mean something only if all see
// the same load: single calls take turns in short rows, and the order of the runs
// turns round in each round.
func (c *contest) hold(rounds int, r *report) error {
	figures := make([][]float64, len(c.entrants))
	for round := range rounds + 1 {
		got := make([]float64, len(c.entrants))
		if err := c.timeCalls(got); err != nil {
			return err
		}
		for i := range c.entrants {
			if round%2 == 1 {
				i = len(c.entrants) - 1 - i
			}
			e := &c.entrants[i]
			if e.run == nil {
				continue
			}
			var err error
			if got[i], err = e.run(); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
		for i := range got {
			if round > 0 {
				figures[i] = append(figures[i], got[i])
			}
		}
	}
	for _, p := range c.pairs {
		ours, peer := median(figures[p[0]]), median(figures[p[1]])
		name := fmt.Sprintf("%s; ours %s", c.entrants[p[1]].name, c.entrants[p[0]].name)
		if c.higher {
			r.higher(c.work, ours, peer, name, c.unit)
		} else {
			r.lower(c.work, ours, peer, name, c.unit)
		}
	}
	return nil
}

// timeCalls measures the entrants with single calls, in microseconds.
func (c *contest) timeCalls(got []float64) error {
	took := make([][]float64, len(c.entrants))
	for range callsARound / inARow {
		for i := range c.entrants {
			e := &c.entrants[i]
			if e.call == nil {
				continue
			}
			for n := range warming + inARow {
				start := time.Now()
				if err := e.call(); err != nil {
					return fmt.Errorf("%s: %w", e.name, err)
				}
				if n >= warming {
					took[i] = append(took[i], float64(time.Since(start).Nanoseconds())/1e3)
				}
			}
		}
	}
	for i := range got {
		got[i] = median(took[i])
	}
	return nil
}
