package httpfault

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/internal/faultproxy"
	"github.com/intentlog/intentlog/internal/figure"
	"github.com/intentlog/intentlog/recovery"
)

// faults are what can become of one frame. Those that wait are given a channel that
// is closed later.
var faults = []struct {
	name     string
	response bool // of a response, or else of a request
	silent   bool // nobody is told: the worker waits until its patience ends
	late     bool // it arrives later
	do       func(f faultproxy.Frame, later <-chan struct{}) faultproxy.Action
}{
	{"request lost", false, false, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Drop: true, Cut: true}
	}},
	{"request lost in silence", false, true, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Drop: true}
	}},
	{"request cut", false, false, false, func(f faultproxy.Frame, _ <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Replace: f.Bytes[:len(f.Bytes)-9], Cut: true}
	}},
	{"request cut in its head", false, false, false, func(f faultproxy.Frame, _ <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Replace: f.Bytes[:30], Cut: true}
	}},
	{"request arrives late", false, false, true, func(_ faultproxy.Frame, later <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Hold: later, Cut: true}
	}},
	{"request slow", false, false, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Delay: 30 * time.Millisecond}
	}},
	{"answer lost", true, false, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Drop: true, Cut: true}
	}},
	{"answer lost in silence", true, true, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Drop: true}
	}},
	{"answer cut", true, false, false, func(f faultproxy.Frame, _ <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Replace: f.Bytes[:len(f.Bytes)-9], Cut: true}
	}},
	{"answer cut in its head", true, false, false, func(f faultproxy.Frame, _ <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Replace: f.Bytes[:20], Cut: true}
	}},
	{"answer is garbage", true, false, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Replace: []byte("\x00\x01\xff garbage \r\n\r\n\r\n"), Cut: true}
	}},
	{"answer promises too much", true, false, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Replace: answer("200 OK", "application/json", 1<<40, "{"), Cut: true}
	}},
	{"answer is a proxy's page", true, false, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return whole("200 OK", "text/html", "<h1>Sign in</h1>")
	}},
	{"answer is a bare 404", true, false, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return whole("404 Not Found", "text/plain", "no such page")
	}},
	{"answer is a 502", true, false, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return whole("502 Bad Gateway", "text/html", "<h1>Bad Gateway</h1>")
	}},
	{"answer slow", true, false, false, func(faultproxy.Frame, <-chan struct{}) faultproxy.Action {
		return faultproxy.Action{Delay: 30 * time.Millisecond}
	}},
}

// answer is an answer of HTTP/1.1 that may promise more than it has.
func answer(status, mediaType string, length int, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, mediaType, length, body)
}

func whole(status, mediaType, body string) faultproxy.Action {
	return faultproxy.Action{Replace: answer(status, mediaType, len(body), body)}
}

// places are where in a call a fault may strike. To get there, the first request or
// its answer is lost.
var places = []struct {
	name            string
	lost            string
	request, answer int // the number of the frame at that place
}{
	{"call", "", 1, 1},
	{"lookup of an effect", "answer", 2, 2},
	{"lookup of nothing", "request", 2, 1},
	{"second call", "request", 3, 2},
}

// TestAFailingNetworkNeverDoublesAnEffectOrLosesIt does each fault at each place,
// once or from there on, while a worker makes a call. Then the network is well, and
// the next life recovers. A late request arrives before that, or after. The verdict
// is the invariants', over the log, the wire and the service's ledger.
func TestAFailingNetworkNeverDoublesAnEffectOrLosesIt(t *testing.T) {
	count := 0
	for _, fault := range faults {
		for _, place := range places {
			for variant := range 4 {
				ever, after := variant&1 != 0, variant&2 != 0
				if after && !fault.late {
					continue
				}
				name := fmt.Sprintf("%s/%s/ever=%t/late-after-recovery=%t", fault.name, place.name, ever, after)
				t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
					w := newWorld(t)
					later := make(chan struct{})
					requests, answers, hits := 0, 0, 0
					w.proxy.SetHook(func(f faultproxy.Frame) faultproxy.Action {
						number, at, kind := &requests, place.request, "request"
						if f.Response {
							number, at, kind = &answers, place.answer, "answer"
						}
						*number++
						switch {
						case *number == 1 && place.lost == kind:
							return faultproxy.Action{Drop: true, Cut: true}
						case f.Response == fault.response && (*number == at || ever && *number > at):
							hits++
							return fault.do(f, later)
						}
						return faultproxy.Action{}
					})
					patience := 20 * time.Second
					if fault.silent {
						patience = 300 * time.Millisecond
					}
					first := w.open(patience, time.Second)
					out := first.do()
					require.NoError(t, first.Close())
					w.proxy.SetHook(nil)
					require.Positive(t, hits, "the fault happened: %+v", out)
					deliver := func(now bool) {
						if fault.late && now {
							close(later)
							if place.lost == "request" {
								requests--
							}
							w.arrived(first.who, requests)
						}
					}
					deliver(!after)

					second := w.open(20*time.Second, time.Second)
					defer second.Close()
					from := w.record.Now()
					report, err := second.Recover(t.Context())
					require.NoError(t, err)
					w.record.Recovered(second.who, from, &recovery.Plan{Decisions: report.Decisions}, nil)
					deliver(after)

					require.Equal(t, 1, w.effects(), "first %+v, then %+v", out, report.Outcomes)
					last := out
					for _, o := range report.Outcomes {
						last = o
					}
					require.Contains(t, []recovery.Status{intentlog.Confirmed, intentlog.Reconciled}, last.Status, "%+v", last)
					w.judge()
					count++
				})
			}
		}
	}
	figure.Print(t, "http/faulty-calls", count)
	figure.Print(t, "http/kinds-of-faults", len(faults))
}
