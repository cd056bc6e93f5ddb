package intent_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

// The fuzzed form of a tape: an event a line, columns divided by tabs. An owner is a
// letter, a digest may be written as = and the text that it is of.
func unwritten(text string) (events []intent.Event) {
	for line := range strings.SplitSeq(text, "\n") {
		col := strings.SplitN(line, "\t", 7)
		if len(col) < 7 {
			continue
		}
		attempt, _ := strconv.ParseInt(col[1], 10, 32)
		step, _ := strconv.ParseInt(col[2], 10, 32)
		owner := map[string]intent.OwnerID{"A": uuidA, "B": uuidB, "C": uuidC}[col[0]]
		if owner == "" {
			owner = intent.OwnerID(col[0])
		}
		sum := intent.Digest(col[5])
		if of, ok := strings.CutPrefix(col[5], "="); ok {
			sum = digest(of)
		}
		events = append(events, intent.Event{
			JobID: job, EventID: intent.NewEventID(job, int32(attempt), owner, int32(step)), Attempt: int32(attempt), Step: int32(step),
			Type: intent.Type(col[3]), ActionID: intent.ActionID(col[4]), PayloadDigest: sum, Detail: col[6],
		})
	}
	return events
}

func written(tp *tape) string {
	var b strings.Builder
	for i := range tp.events {
		e := &tp.events[i]
		fmt.Fprintf(&b, "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", e.Owner(), e.Attempt, e.Step, e.Type, e.ActionID, e.PayloadDigest, e.Detail)
	}
	return b.String()
}

// FuzzHistory folds whatever a log may hold: it ends in an error that says where, or
// in a history that keeps what was settled and whose saved bytes are those asked for.
func FuzzHistory(f *testing.F) {
	for _, tp := range []*tape{
		play(A1.claim(), A1.compute("c"), A1.computed("c", "r"), A1.request("a", "x"), A1.confirm("a", "x"), A1.done()),
		play(A1.claim(), A1.request("a", "x"), B2.claim(), B2.reconciled("a", "x"), B2.confirm("a", "x"), A1.confirm("a", "x"), B2.done(), C1.claim()),
		play(A1.claim(), A1.request("a", "x"), A1.hold("a", "x"), A1.resolve("a", "x", intent.ResolveRetry, 0), A1.reject("a", "x"), A1.request("b", "y")),
	} {
		f.Add(written(tp))
	}
	f.Add("A\t1\t1\tSTARTED\t\t\t{\"worker\":\"w\"}\nA\t1\t2\tACTION_REQUESTED\ta\t=x\tx\n")
	f.Fuzz(func(t *testing.T, text string) {
		h := &intent.History{}
		settled := map[intent.ActionID]intent.Status{}
		events := unwritten(text)
		for i := range events {
			done := h.Done
			if err := h.Fold(&events[i], intent.Mark{Offset: int64(i)}); err != nil {
				var at *intent.HistoryError
				require.ErrorAs(t, err, &at)
				require.Equal(t, int64(i), at.Offset)
				return
			}
			require.True(t, h.Done || !done)
			for k := range h.Actions {
				a := &h.Actions[k]
				if was, ok := settled[a.ID]; ok {
					require.Equal(t, was, a.Status)
				}
				if !a.Status.Open() {
					settled[a.ID] = a.Status
				}
			}
		}
		for k := range h.Actions {
			in, err := h.Actions[k].Intent()
			require.NoError(t, err)
			require.Equal(t, h.Actions[k].Digest, in.Digest())
		}
		require.LessOrEqual(t, h.Void+h.Duplicate, len(events))
	})
}
