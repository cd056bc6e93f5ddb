package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/schedule"
	"github.com/intentlog/intentlog/internal/simworld"
)

// A service or a log that breaks its word leads to what the library promises to
// rule out. Some schedule must show it, or the schedules show nothing.
func TestLiesAreSeen(t *testing.T) {
	for _, row := range []struct {
		name  string
		terms simworld.Terms
		depth int
		twist func(*simworld.World)
		want  string
	}{
		{"a service that binds no keys", simworld.FalseKeys, 1, nil, "I1: second effect"},
		{"a fence that holds nothing back", simworld.FalseFence, 1, nil, "I1: second effect"},
		{"a deadline that is not kept", simworld.FalseDeadline, 1, nil, "I1: second effect"},
		{"a key that is forgotten too early", simworld.Forgetful, 1, nil, "I1: second effect"},
		{"a lookup that is behind under a fence", simworld.FalseLookup, 1, nil, "I1: second effect"},
		{
			"a log that acknowledges an intent and stores nothing", simworld.KeyBound, 1,
			func(w *simworld.World) {
				w.Forgets = func(events []intent.Event) bool { return events[len(events)-1].Type == intent.ActionRequested }
			}, "I2: ",
		},
		{
			"a log that acknowledges a confirmation and stores nothing", simworld.None, 1,
			func(w *simworld.World) {
				w.Forgets = func(events []intent.Event) bool { return events[0].Type == intent.ActionConfirmed }
			}, "I4: ",
		},
		{
			"a bound that is too low", simworld.KeyBound, 1,
			func(w *simworld.World) { w.StaleBounds = 2 }, "I4: ",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var found *schedule.Schedule
			base := schedule.Schedule{Terms: row.terms}
			schedule.Explore(base, row.depth, func(s schedule.Schedule) (schedule.Result, bool) {
				res := bubble(t, s, false, row.twist)
				if res.Err != nil {
					found = &s
				}
				return res, found == nil
			})
			require.NotNil(t, found, "no schedule shows it")
			text := tale(t, *found, row.twist)
			require.Contains(t, text, row.want)
			require.Contains(t, text, "  1. A starts")
			require.Contains(t, text, "-schedule='"+found.String()+"'")
			t.Log(text)
		})
	}
}
