package schedule_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/figure"
	"github.com/intentlog/intentlog/internal/schedule"
	"github.com/intentlog/intentlog/internal/simworld"
)

var (
	long = flag.Bool("long", false, "explore three stops of one call, and two of every job")
	one  = flag.String("schedule", "", "the schedule that TestReplay tells")
)

// bubble runs a schedule in a bubble of its own.
func bubble(t *testing.T, s schedule.Schedule, story bool, twist func(*simworld.World)) (res schedule.Result) {
	synctest.Test(t, func(*testing.T) { res = schedule.Run(s, story, twist) })
	return res
}

// tale is the report about a schedule that broke an invariant.
func tale(t *testing.T, s schedule.Schedule, twist func(*simworld.World)) string {
	res := bubble(t, s, true, twist)
	return fmt.Sprintf("%v\n%s\nagain: go test ./internal/schedule -run TestReplay -v -schedule='%s'",
		res.Err, strings.Join(res.Story, "\n"), s)
}

// count is how many schedules ran, by kind.
type count struct {
	mu     sync.Mutex
	byKind map[string]int
	points map[simworld.Point]map[simworld.Verdict]int
}

func (c *count) add(s schedule.Schedule, res schedule.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKind[s.Kind()]++
	if last := s.Steps[len(s.Steps)-1]; last.Stop > 0 && len(res.Passed) > 0 {
		at := res.Passed[len(res.Passed)-1]
		if c.points[at] == nil {
			c.points[at] = map[simworld.Verdict]int{}
		}
		c.points[at][last.Verdict]++
	}
}

func (c *count) total() (n int) {
	for _, k := range c.byKind {
		n += k
	}
	return n
}

func (c *count) String() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c.byKind)) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, c.byKind[kind]))
	}
	return fmt.Sprintf("schedules: %d (%s)", c.total(), strings.Join(parts, ", "))
}

// Under the race detector every schedule that finds points runs, and of the others
// each stride-th, over all services and kinds.
func TestEverySchedule(t *testing.T) {
	c := &count{byKind: map[string]int{}, points: map[simworld.Point]map[simworld.Verdict]int{}}
	t.Run("terms", func(t *testing.T) {
		for _, terms := range simworld.Honest {
			for _, many := range []bool{false, true} {
				depth := 2
				switch {
				case *long && !many:
					depth = 3
				case !*long && many && terms.Name != simworld.KeyBound.Name && terms.Name != simworld.Fenced.Name:
					depth = 1
				}
				name := terms.Name + "/one"
				if many {
					name = terms.Name + "/many"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					explore(t, schedule.Schedule{Terms: terms, Many: many}, depth, c)
				})
			}
		}
	})
	t.Log(c)
	name := "schedules/run"
	if *long {
		name = "schedules/run-long"
	}
	figure.Print(t, name, c.total())
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	for p := simworld.AppendUnsent; p <= simworld.FenceSet; p++ {
		for _, v := range p.Choices() {
			require.NotZero(t, c.points[p][v], "no schedule has %v where %s", v, p)
		}
	}
}

func explore(t *testing.T, base schedule.Schedule, depth int, c *count) {
	n, ran, bad := 0, 0, 0
	defer func() { t.Logf("%d schedules to depth %d", ran, depth) }()
	schedule.Explore(base, depth, func(s schedule.Schedule) (schedule.Result, bool) {
		if n++; s.Steps[len(s.Steps)-1].Stop > 0 && n%stride != 0 {
			return schedule.Result{}, true
		}
		res := bubble(t, s, false, nil)
		c.add(s, res)
		ran++
		if res.Err != nil {
			t.Errorf("schedule %s: %s", s, tale(t, s, nil))
			bad++
		}
		return res, bad < 3
	})
}

func TestReplay(t *testing.T) {
	if *one == "" {
		t.Skip("give the name of a schedule by -schedule")
	}
	s, err := schedule.Parse(*one)
	require.NoError(t, err)
	res := bubble(t, s, true, nil)
	t.Log("\n" + strings.Join(res.Story, "\n"))
	require.NoError(t, res.Err)
}

func TestAScheduleIsKnownByItsName(t *testing.T) {
	for _, name := range []string{
		"key-bound/one/!12c2/-", "fenced/many/!3p0+14f3B2c1A0/a", "lie-keys/one/!1p0!0/b",
	} {
		s, err := schedule.Parse(name)
		require.NoError(t, err)
		require.Equal(t, name, s.String())
	}
	for _, name := range []string{"", "key-bound/one/!12c2", "unknown/one/!1c0/-", "key-bound/one/?1c0/-"} {
		_, err := schedule.Parse(name)
		require.Error(t, err, name)
	}
}

func TestTheSameScheduleIsTheSameStory(t *testing.T) {
	s, err := schedule.Parse("key-bound/many/!14p0+9c2+0/a")
	require.NoError(t, err)
	first := bubble(t, s, true, nil)
	require.NoError(t, first.Err)
	require.Equal(t, first.Story, bubble(t, s, true, nil).Story)
}
