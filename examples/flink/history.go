package main

import (
	"fmt"

	"github.com/intentlog/intentlog/intent"
)

// writer writes the events of one owner's attempt at a job.
type writer struct {
	job     intent.JobID
	attempt int32
	owner   intent.OwnerID
	ms      int64 // time of the next event
	step    int32
	events  []intent.Event
}

// write adds an event; a second later the next one is written.
func (w *writer) write(typ intent.Type, detail any) *writer {
	text, ok := detail.(string)
	if !ok {
		var err error
		if text, err = intent.Encode(detail); err != nil {
			panic(err) // the details below can be encoded
		}
	}
	w.step++
	e := intent.Event{
		JobID: w.job, EventID: intent.NewEventID(w.job, w.attempt, w.owner, w.step), Attempt: w.attempt, Step: w.step,
		Type: typ, EmittedAtMS: w.ms, Detail: text,
	}
	if typ != intent.Started && typ != intent.Completed {
		e.ActionID, e.PayloadDigest = intent.ActionID(w.job+"/1"), intent.DigestOf([]byte(payloadOf(w.job)))
	}
	w.ms += 1000
	w.events = append(w.events, e)
	return w
}

func payloadOf(job intent.JobID) string { return fmt.Sprintf(`{"job":%q}`, job) }

// request begins a job and asks for its action.
func request(job intent.JobID, ms int64) *writer {
	w := &writer{job: job, attempt: 1, owner: "6f1c2a34-8a5e-4b0f-9a51-0d6f2f6a7e01", ms: ms}
	return w.write(intent.Started, intent.Claim{Worker: "payments-0", Single: true}).write(intent.ActionRequested, payloadOf(job))
}

// next is another owner's next attempt.
func (w *writer) next(owner intent.OwnerID) *writer {
	n := &writer{job: w.job, attempt: w.attempt + 1, owner: owner, ms: w.ms, events: w.events}
	return n.write(intent.Started, intent.Claim{Worker: "payments-0", Single: true})
}

func (w *writer) confirm() *writer {
	detail := fmt.Sprintf(`{"action_id":"%s/1","payload_digest":"%s"}`, w.job, intent.DigestOf([]byte(payloadOf(w.job))))
	return w.write(intent.ActionConfirmed, detail).write(intent.Completed, "")
}

func (w *writer) hold(reason string) *writer {
	return w.write(intent.HoldUnknown, intent.Hold{Reason: reason})
}

func (w *writer) last() intent.Event { return w.events[len(w.events)-1] }
