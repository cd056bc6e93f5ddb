package intent_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/intentlog/intentlog/intent"
)

var lives = []life{A1, A2, A3, B1, B2, B3, C1, C2}

// grow adds to the tape one random event that its history accepts, if the draw is
// one; mostly by the owner in force, else nothing would ever happen.
func grow(t *rapid.T, tp *tape, h *intent.History) bool {
	l := rapid.SampledFrom(lives).Draw(t, "life")
	if h.Attempt > 0 && rapid.IntRange(0, 3).Draw(t, "stranger") > 0 {
		l = life{h.Owner, h.Attempt}
	}
	id := rapid.SampledFrom([]intent.ActionID{"a", "b"}).Draw(t, "action")
	payload := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "payload")
	moves := []move{
		l.claim(), l.request(id, payload), l.confirm(id, payload), l.reconciled(id, payload), l.reject(id, payload),
		l.hold(id, payload), l.compute("c"), l.computed("c", payload), l.done(),
		l.resolve(id, payload, rapid.SampledFrom([]intent.Resolve{"retry", "confirm", "reject"}).Draw(t, "how"), max(0, len(tp.holds)-1)),
	}
	if n := len(tp.events); n > 0 {
		moves = append(moves, again(rapid.IntRange(0, n-1).Draw(t, "again")))
	}
	m := rapid.SampledFrom(moves).Draw(t, "move")
	if tp.steps[l] == 0 && rapid.Bool().Draw(t, "claim_first") {
		m = l.claim()
	}
	events, step, holds := len(tp.events), tp.steps[l], len(tp.holds)
	m(tp)
	if _, err := tp.fold(); err != nil {
		tp.events, tp.steps[l], tp.holds = tp.events[:events], step, tp.holds[:holds]
		return false
	}
	return true
}

// I7: more history never turns "done" into something else, a settled action stays
// settled, and the bytes of an action never change.
func TestMoreHistoryNeverTakesBack(t *testing.T) {
	ends := 0
	rapid.Check(t, func(t *rapid.T) {
		tp := play()
		before := &intent.History{}
		for range rapid.IntRange(5, 40).Draw(t, "moves") {
			if !grow(t, tp, before) {
				continue
			}
			h, err := tp.fold()
			require.NoError(t, err)
			if before.Done {
				require.True(t, h.Done)
				require.Equal(t, before.Actions, h.Actions)
				require.Equal(t, before.Results, h.Results)
				require.Equal(t, before.Attempt, h.Attempt)
				require.Nil(t, h.Current())
				ends++
			}
			require.GreaterOrEqual(t, h.Attempt, before.Attempt)
			require.GreaterOrEqual(t, len(h.Actions), len(before.Actions))
			for i, a := range before.Actions {
				b := h.Actions[i]
				require.Equal(t, []any{a.ID, a.Digest, a.Detail, a.Requested}, []any{b.ID, b.Digest, b.Detail, b.Requested})
				if !a.Status.Open() {
					require.Equal(t, a.Status, b.Status)
				}
			}
			before = h
		}
	})
	require.NotZero(t, ends, "some histories went on after their end")
}

// Identical repetitions, as a client that repeats an unknown append makes them,
// change nothing but their count.
func TestRepetitionsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tp := play()
		h := &intent.History{}
		for range rapid.IntRange(1, 25).Draw(t, "moves") {
			grow(t, tp, h)
			var err error
			h, err = tp.fold()
			require.NoError(t, err)
		}
		want := summary(t, h)
		repeated := play()
		for i, ev := range tp.events {
			repeated.events = append(repeated.events, ev)
			if rapid.Bool().Draw(t, "repeat") {
				repeated.events = append(repeated.events, tp.events[rapid.IntRange(0, i).Draw(t, "which")])
			}
		}
		again, err := repeated.fold()
		require.NoError(t, err)
		require.Equal(t, h.Duplicate+len(repeated.events)-len(tp.events), again.Duplicate)
		again.Duplicate = h.Duplicate
		require.Equal(t, want, summary(t, again))
	})
}
