package httpfault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/faultproxy"
	"github.com/intentlog/intentlog/internal/invariant"
	"github.com/intentlog/intentlog/internal/ledger"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

const (
	job     intent.JobID    = "ticket-1"
	action  intent.ActionID = "ticket-1/followup"
	payload                 = `{"outcome":"needs-followup","ticket":"ticket-1"}`
)

// world is a worker's log, the service with its ledger, and the network in between.
type world struct {
	t         *testing.T
	log       store.Store
	ledger    *ledger.Ledger
	url       string
	interpret interpreter
	served    chan string // who sent a request that the service is done with
	proxy     *faultproxy.Proxy
	record    *invariant.Recorder
	lives     int
}

type interpreter = func(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer

func newWorld(t *testing.T) *world {
	t.Helper()
	l, err := ledger.Open(filepath.Join(t.TempDir(), "service.db"))
	require.NoError(t, err)
	s := ledger.NewService(l)
	served := make(chan string, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer func() { served <- r.Header.Get(ledger.ProcessHeader) }()
		s.ServeHTTP(rw, r)
	}))
	proxy := faultproxy.New(faultproxy.HTTP)
	t.Cleanup(func() {
		proxy.Close() // first, so that the server has nobody to wait for
		srv.Close()
		require.NoError(t, l.Close())
	})
	return &world{
		t: t, log: memstore.New(1), ledger: l, url: srv.URL, interpret: receipt.Interpret, served: served, proxy: proxy, record: invariant.NewRecorder(),
	}
}

// life is one life of the worker.
type life struct {
	*intentlog.Worker
	who string
	w   *world
}

// open starts a life. It gives up a request that is not answered after patience, and
// a service that says that it is at work after inFlight.
func (w *world) open(patience, inFlight time.Duration) *life {
	w.t.Helper()
	w.lives++
	who := fmt.Sprintf("life %d", w.lives)
	wire := &http.Transport{DialContext: w.proxy.Dial}
	w.t.Cleanup(wire.CloseIdleConnections)
	sign := func(req *http.Request) error {
		req.Header.Set(ledger.ProcessHeader, who)
		return nil
	}
	worker, err := intentlog.Open(w.t.Context(), w.record.Store(who, w.log), "tickets-0", &intentlog.Options{
		Targets: intentlog.Targets{"tickets": {
			Base:          w.url,
			Auth:          sign,
			Contract:      receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever},
			Transport:     observed{wire, w.record, who},
			AttemptHeader: attemptHeader,
			Interpret:     w.interpret,
			Lookup: receipt.HTTPLookup{
				Transport: wire, Auth: sign,
				URL: func(r receipt.Request) string { return w.url + "/receipts/" + string(r.Intent.Action) },
			},
		}},
		Limits: recovery.Limits{Send: patience, Lookup: patience, InFlight: inFlight, Backoff: time.Millisecond},
	})
	require.NoError(w.t, err)
	return &life{worker, who, w}
}

// do makes the call.
func (l *life) do() intentlog.Outcome {
	l.w.t.Helper()
	out, err := l.Do(l.w.t.Context(), job, intent.POST("tickets", "/followups", []byte(payload)).WithAction(action))
	require.NoError(l.w.t, err)
	return out
}

const attemptHeader = "X-Attempt"

// observed notes every request for an effect before it leaves.
type observed struct {
	http.RoundTripper
	record *invariant.Recorder
	who    string
}

func (o observed) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	attempt, err := strconv.Atoi(req.Header.Get(attemptHeader))
	if err != nil {
		return nil, err
	}
	o.record.Sent(invariant.Send{
		Who: o.who, Job: job, Action: intent.ActionID(req.Header.Get("Idempotency-Key")), Attempt: int32(attempt), Body: body,
	})
	return o.RoundTripper.RoundTrip(req)
}

// arrived waits until the service is done with n requests of a life. It is called
// once for a life.
func (w *world) arrived(who string, n int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for n > 0 {
		select {
		case from := <-w.served:
			if from == who {
				n--
			}
		case <-ctx.Done():
			w.t.Fatal("the late requests never arrived")
		}
	}
}

// judge compares the log, the wire and the ledger: each was written by another. Then
// it recovers once more, which must change nothing.
func (w *world) judge() {
	w.t.Helper()
	before := w.trace()
	require.NoError(w.t, invariant.Check(before))
	require.NoError(w.t, invariant.Ended(before))
	snap, err := w.ledger.Snapshot(w.t.Context())
	require.NoError(w.t, err)
	require.LessOrEqual(w.t, len(snap.Sends()), len(before.Sends), "what arrived, and what the worker knows of")
	for _, s := range snap.Sends() {
		require.Equal(w.t, payload, s.Payload)
		require.Equal(w.t, action, s.Action)
	}
	again := w.open(20*time.Second, time.Second)
	_, err = again.Recover(w.t.Context())
	require.NoError(w.t, err)
	require.NoError(w.t, again.Close())
	require.NoError(w.t, invariant.Quiet(before, w.trace()))
}

func (w *world) trace() *invariant.Trace {
	w.t.Helper()
	trace, err := w.record.Trace(w.t.Context(), w.log)
	require.NoError(w.t, err)
	snap, err := w.ledger.Snapshot(w.t.Context())
	require.NoError(w.t, err)
	for _, e := range snap.Effects {
		trace.Effects = append(trace.Effects, invariant.Effect{Action: e.Action, Body: []byte(e.Payload)})
	}
	return trace
}

// effects counts them in the ledger.
func (w *world) effects() int {
	w.t.Helper()
	snap, err := w.ledger.Snapshot(w.t.Context())
	require.NoError(w.t, err)
	return len(snap.Effects)
}

// post tells whether the frame is a request for an effect.
func post(f faultproxy.Frame) bool {
	return !f.Response && bytes.HasPrefix(f.Bytes, []byte("POST /followups"))
}
