package intent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/intentlog/intentlog/intent"
)

// jobEvents are the events of one ordinary job: claim, intent of 460 bytes,
// confirmation, end.
func jobEvents(i int) []intent.Event {
	name := intent.JobID(fmt.Sprintf("ticket-%d", i))
	payload := `{"note":"` + strings.Repeat("x", 449) + `"}`
	tp := play(A1.claim(), A1.request("pay", payload), A1.confirm("pay", payload), A1.done())
	for i := range tp.events {
		ev := &tp.events[i]
		ev.JobID, ev.EventID = name, intent.NewEventID(name, ev.Attempt, uuidA, ev.Step)
	}
	return tp.events
}

// BenchmarkFold is the time of one event of a log of ordinary jobs.
func BenchmarkFold(b *testing.B) {
	var events []intent.Event
	for i := range 1000 {
		events = append(events, jobEvents(i)...)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		var h intent.History
		for k := range 4 {
			if err := h.Fold(&events[n%len(events)+k], intent.Mark{Offset: int64(n)}); err != nil {
				b.Fatal(err)
			}
		}
		n += 4
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkCheck(b *testing.B) {
	events := jobEvents(1)
	b.ReportAllocs()
	for b.Loop() {
		for i := range events {
			if err := events[i].Check(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkCanonical(b *testing.B) {
	text := []byte(`{"ticket":"ticket-1042","outcome":"needs-followup","lines":[{"amount":1299,"currency":"EUR","text":"\u00e4"}]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := intent.Canonical(text); err != nil {
			b.Fatal(err)
		}
	}
}
