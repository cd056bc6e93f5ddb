package intent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

// The model explores every interleaving of up to three owners of one job whose
// appends land late, in any order or never, and which may crash anywhere. Each
// owner wants another payload. What an owner knows it reads from a History.

const (
	fresh    = 'n' // has not looked yet
	bounded  = 'r' // has read to a bound and chosen its attempt
	claiming = 'c' // waits for its claim, or for claim and intent in one batch
	asking   = 'i' // waits for its intent
	sending  = 's' // may send
	sent     = 't' // has sent, a receipt is at hand
	gone     = 'x' // stopped or crashed
)

type (
	// record is one event of the log: 'C' claim, 'I' intent, 'D' receipt.
	record struct{ kind, attempt, owner, payload, step byte }

	modelOwner struct {
		at      byte
		attempt byte
		landed  int8 // where its append landed; -1 before
		payload byte // 0 where it has none
	}

	// state is comparable; log and batches hold records of five bytes each.
	state struct {
		log     string
		owners  [3]modelOwner
		flights string // appends on the wire, each one closed by ';', sorted
		sends   string // pairs of owner and payload
	}

	model struct {
		owners       int
		fast         byte // up to this attempt, claim and intent share one batch; over 1 is a mutation
		skipSendRule bool // mutation: send without a look at what came before
		forgetIntent bool // mutation: do not look for the intent of an earlier attempt
		folded       map[string]view
	}

	// view is what a prefix of the log says.
	view struct {
		attempt, owner, payload byte
		confirmed               bool
		err                     string
	}
)

func (r record) String() string {
	return string([]byte{r.kind, '0' + r.attempt, '0' + r.owner, '0' + r.payload, '0' + r.step})
}

func (r record) event() intent.Event {
	owner := []intent.OwnerID{uuidA, uuidB, uuidC}[r.owner]
	ev := intent.Event{
		JobID: job, EventID: intent.NewEventID(job, int32(r.attempt), owner, int32(r.step)),
		Attempt: int32(r.attempt), Step: int32(r.step), Type: intent.Started, Detail: `{"worker":"w"}`,
	}
	payload := fmt.Sprintf("payload %d", r.payload)
	switch r.kind {
	case 'I':
		ev.Type, ev.ActionID, ev.PayloadDigest, ev.Detail = intent.ActionRequested, "pay", digest(payload), payload
	case 'D':
		ev.Type, ev.ActionID, ev.PayloadDigest, ev.Detail = intent.ActionConfirmed, "pay", digest(payload), receipt("pay", payload)
	}
	return ev
}

// read folds a prefix of the log by the real History.
func (m *model) read(log string) view {
	if v, known := m.folded[log]; known {
		return v
	}
	var h intent.History
	var v view
	for i := 0; i < len(log); i += 5 {
		ev := record{log[i], log[i+1] - '0', log[i+2] - '0', log[i+3] - '0', log[i+4] - '0'}.event()
		if err := h.Fold(&ev, intent.Mark{Offset: int64(i / 5)}); err != nil {
			v.err = err.Error()
		}
	}
	v.attempt = byte(h.Attempt)
	v.owner = byte(slices.Index([]intent.OwnerID{uuidA, uuidB, uuidC}, h.Owner))
	if a := h.Action("pay"); a != nil {
		for p := range byte(3) {
			if a.Detail == fmt.Sprintf("payload %d", p+1) {
				v.payload = p + 1
			}
		}
		v.confirmed = a.Status == intent.Confirmed
	}
	m.folded[log] = v
	return v
}

// next calls yield with every state that can follow s.
func (m *model) next(s state, yield func(state)) {
	flights := strings.SplitAfter(s.flights, ";")
	flights = flights[:len(flights)-1]
	for i, f := range flights { // an append lands, its batch as a whole
		n := s
		n.flights = strings.Join(slices.Concat(flights[:i], flights[i+1:]), "")
		if o := &n.owners[f[2]-'0']; o.landed < 0 && (o.at == claiming || o.at == asking) {
			o.landed = int8(len(s.log) / 5)
		}
		n.log += strings.TrimSuffix(f, ";")
		yield(n)
	}
	for i := range m.owners {
		was := s.owners[i]
		if was.at == gone {
			continue
		}
		o := byte(i)
		to := func(next modelOwner, records ...record) {
			n := s
			n.owners[i] = next
			if len(records) > 0 {
				batch := ""
				for _, r := range records {
					batch += r.String()
				}
				all := append(slices.Clone(flights), batch+";")
				slices.Sort(all)
				n.flights = strings.Join(all, "")
			}
			if was.at == sending && next.at == sent {
				n.sends += string([]byte{'0' + o, '0' + was.payload})
			}
			yield(n)
		}
		stop := modelOwner{at: gone}
		to(stop) // it crashes
		switch was.at {
		case fresh:
			if v := m.read(s.log); v.confirmed {
				to(stop)
			} else {
				to(modelOwner{at: bounded, attempt: v.attempt + 1})
			}
		case bounded:
			claim := record{'C', was.attempt, o, 0, 1}
			if was.attempt <= m.fast {
				to(modelOwner{claiming, was.attempt, -1, o + 1}, claim, record{'I', was.attempt, o, o + 1, 2})
			} else {
				to(modelOwner{claiming, was.attempt, -1, 0}, claim)
			}
		case claiming:
			if was.landed < 0 {
				continue
			}
			end := int(was.landed) + 1
			if was.payload != 0 {
				end++
			}
			v := m.read(s.log[:5*end])
			switch {
			case v.attempt != was.attempt || v.owner != o || v.confirmed:
				to(stop)
			case v.payload != 0 && !m.forgetIntent: // its own, or key-bound: the saved bytes again
				to(modelOwner{at: sending, attempt: was.attempt, payload: v.payload})
			default:
				to(modelOwner{asking, was.attempt, -1, o + 1}, record{'I', was.attempt, o, o + 1, 2})
			}
		case asking:
			if was.landed < 0 {
				continue
			}
			v := m.read(s.log[:5*int(was.landed)])
			if m.skipSendRule || v.attempt == was.attempt && v.owner == o {
				to(modelOwner{at: sending, attempt: was.attempt, payload: was.payload})
			} else {
				to(stop)
			}
		case sending:
			to(modelOwner{at: sent, attempt: was.attempt, payload: was.payload})
		case sent:
			step := byte(2) // behind its claim, or behind its claim and its intent
			if was.payload == o+1 {
				step = 3
			}
			to(stop, record{'D', was.attempt, o, was.payload, step})
		}
	}
}

// violation tells what is wrong in s.
func (m *model) violation(s state) string {
	v := m.read(s.log)
	if v.err != "" {
		return v.err
	}
	for i := 1; i < len(s.sends); i += 2 {
		if s.sends[i] != s.sends[1] {
			return "two payloads sent under one action ID"
		}
		if v.payload != s.sends[i]-'0' {
			return "a sent intent is not effective in the log"
		}
	}
	return ""
}

// explore visits every state; it returns how many there are and the first violation.
func (m *model) explore() (states int, violation string) {
	m.folded = map[string]view{}
	start := state{owners: [3]modelOwner{{at: gone}, {at: gone}, {at: gone}}}
	for i := range m.owners {
		start.owners[i].at = fresh
	}
	seen := map[state]bool{start: true}
	for queue := []state{start}; len(queue) > 0; {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		states++
		if bad := m.violation(s); bad != "" {
			return states, fmt.Sprintf("%s: log %s, sends %s", bad, s.log, s.sends)
		}
		m.next(s, func(n state) {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		})
	}
	return states, ""
}

func TestOwnershipByLogOrder(t *testing.T) {
	for owners := 1; owners <= 3; owners++ {
		for fast := range byte(2) {
			states, violation := (&model{owners: owners, fast: fast}).explore()
			require.Empty(t, violation)
			t.Logf("%d owners, fast path up to attempt %d: %d states", owners, fast, states)
		}
	}
}

// The model can fail: each rule that is left out leads to a violation.
func TestOwnershipNeedsEachRule(t *testing.T) {
	for name, m := range map[string]*model{
		"fast_path_in_attempt_1_only": {owners: 3, fast: 9},
		"send_rule":                   {owners: 3, skipSendRule: true},
		"read_on_to_the_own_claim":    {owners: 2, forgetIntent: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, violation := m.explore()
			require.NotEmpty(t, violation)
			t.Log(violation)
		})
	}
}
