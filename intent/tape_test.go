package intent_test

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

// A tape is a log of one job; a move adds an event to it. A life numbers its own
// steps, so that a row of a table reads like the log: A1.claim(), A1.request(...).
type (
	tape struct {
		events []intent.Event
		steps  map[life]int32
		holds  []intent.EventID
	}
	move func(*tape)
	life struct {
		owner   intent.OwnerID
		attempt int32
	}
)

const (
	job   = intent.JobID("team/ticket-1042")
	uuidC = intent.OwnerID("0c0c0c0c-1111-4222-8333-444444444444")
)

var (
	A1, A2, A3 = life{uuidA, 1}, life{uuidA, 2}, life{uuidA, 3}
	B1, B2, B3 = life{uuidB, 1}, life{uuidB, 2}, life{uuidB, 3}
	C1, C2     = life{uuidC, 1}, life{uuidC, 2}
)

func play(moves ...move) *tape {
	tp := &tape{steps: map[life]int32{}}
	for _, m := range moves {
		m(tp)
	}
	return tp
}

// fold folds the tape and returns the history and the first error.
func (tp *tape) fold() (*intent.History, error) {
	h := &intent.History{}
	for i := range tp.events {
		if err := h.Fold(&tp.events[i], intent.Mark{Offset: int64(i), CommitMS: 1000 + int64(i)}); err != nil {
			return h, err
		}
	}
	return h, nil
}

func (l life) event(typ intent.Type, action intent.ActionID, digest intent.Digest, detail any) move {
	return func(tp *tape) {
		text, ok := detail.(string)
		if !ok {
			var err error
			if text, err = intent.Encode(detail); err != nil {
				panic(err)
			}
		}
		tp.steps[l]++
		tp.events = append(tp.events, intent.Event{
			JobID: job, EventID: intent.NewEventID(job, l.attempt, l.owner, tp.steps[l]),
			Attempt: l.attempt, Step: tp.steps[l], Type: typ, ActionID: action, PayloadDigest: digest,
			EmittedAtMS: 1_700_000_000_000 + int64(len(tp.events)), Detail: text,
		})
		if typ == intent.HoldUnknown {
			tp.holds = append(tp.holds, tp.events[len(tp.events)-1].EventID)
		}
	}
}

func (l life) claim() move {
	return l.event(intent.Started, "", "", intent.Claim{Worker: "billing-0"})
}

func (l life) request(id intent.ActionID, payload string) move {
	return l.event(intent.ActionRequested, id, digest(payload), payload)
}

func (l life) confirm(id intent.ActionID, payload string) move {
	return l.event(intent.ActionConfirmed, id, digest(payload), receipt(id, payload))
}

func (l life) reconciled(id intent.ActionID, payload string) move {
	return l.event(intent.Reconciled, id, digest(payload), receipt(id, payload))
}

func (l life) reject(id intent.ActionID, payload string) move {
	return l.event(intent.ActionRejected, id, digest(payload), intent.Hold{Reason: "refused"})
}

func (l life) hold(id intent.ActionID, payload string) move {
	return l.event(intent.HoldUnknown, id, digest(payload), intent.Hold{Reason: "transport"})
}

// resolve ends the tape's hold of that number, counted from 0.
func (l life) resolve(id intent.ActionID, payload string, how intent.Resolve, hold int) move {
	return func(tp *tape) {
		r := intent.Resolution{Decision: how, By: "alice", Reason: "asked them", Hold: "none"}
		if hold < len(tp.holds) {
			r.Hold = tp.holds[hold]
		}
		l.event(intent.HoldResolved, id, digest(payload), r)(tp)
	}
}

func (l life) compute(name string) move {
	return l.event(intent.ComputeStarted, "", "", intent.Computation{Name: name})
}

func (l life) computed(name, result string) move {
	return l.event(intent.ComputeFinished, "", digest(result), intent.NewComputation(name, []byte(result)))
}

func (l life) done() move { return l.event(intent.Completed, "", "", "{}") }

// again appends a copy of the tape's event of that number, counted from 0.
func again(i int) move {
	return func(tp *tape) { tp.events = append(tp.events, tp.events[i]) }
}

// edit changes the event that m adds.
func edit(m move, change func(*intent.Event)) move {
	return func(tp *tape) {
		m(tp)
		change(&tp.events[len(tp.events)-1])
	}
}

func detail(m move, text string) move {
	return edit(m, func(ev *intent.Event) { ev.Detail = text })
}

func digest(payload string) intent.Digest { return intent.DigestOf([]byte(payload)) }

func receipt(id intent.ActionID, payload string) string {
	return fmt.Sprintf(`{"action_id":%q,"payload_digest":%q,"code":201}`, id, digest(payload))
}

// summary is a history in one line: attempt and owner, results, actions, counts.
func summary(t require.TestingT, h *intent.History) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", h.Attempt)
	if h.Owner != "" {
		b.WriteString(strings.ToUpper(string(h.Owner[1:2])))
	}
	for _, c := range h.Results {
		result, err := c.Bytes()
		require.NoError(t, err)
		fmt.Fprintf(&b, " %s:%q", c.Name, result)
	}
	for i := range h.Actions {
		a := &h.Actions[i]
		in, err := a.Intent()
		require.NoError(t, err)
		fmt.Fprintf(&b, " %s(%s)=%s", a.ID, in.Payload, a.Status)
		for _, mark := range []struct {
			on   bool
			text string
		}{{a.Receipt != "", "+receipt"}, {a.Reconciled, "+reconciled"}, {a.ByOperator, "+operator"}} {
			if mark.on {
				b.WriteString(mark.text)
			}
		}
	}
	if h.Done {
		b.WriteString(" done")
	}
	if h.Void > 0 {
		fmt.Fprintf(&b, " void=%d", h.Void)
	}
	if h.Duplicate > 0 {
		fmt.Fprintf(&b, " dup=%d", h.Duplicate)
	}
	return b.String()
}
