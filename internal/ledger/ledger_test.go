package ledger_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/ledger"
	"github.com/intentlog/intentlog/receipt"
)

const action, payload = "ticket-1/followup", `{"outcome":"needs-followup"}`

type world struct {
	*ledger.Ledger
	*ledger.Service
	url string
	t   *testing.T
}

func newWorld(t *testing.T) *world {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "service.db"))
	require.NoError(t, err)
	s := ledger.NewService(l)
	srv := httptest.NewServer(s)
	t.Cleanup(func() {
		srv.Close()
		require.NoError(t, l.Close())
	})
	return &world{l, s, srv.URL, t}
}

func (w *world) post(body string) (int, string, error) {
	req, err := http.NewRequestWithContext(w.t.Context(), "POST", w.url+"/followups", strings.NewReader(body))
	require.NoError(w.t, err)
	req.Header.Set("Idempotency-Key", action)
	req.Header.Set(ledger.ProcessHeader, "test")
	req.GetBody = nil
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func (w *world) find() receipt.Finding {
	return receipt.Ask(w.t.Context(), receipt.HTTPLookup{
		URL: func(r receipt.Request) string { return w.url + "/receipts/" + string(r.Intent.Action) },
	}, receipt.Request{Intent: intent.New(action, []byte(payload)), Digest: intent.DigestOf([]byte(payload))})
}

func TestAKeyIsBoundToItsPayload(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, receipt.Absent, w.find().Kind)
	status, first, err := w.post(payload)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status)
	status, again, err := w.post(payload)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, first, again)
	status, _, err = w.post(`{}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, status)
	status, _, err = w.post(`not JSON`)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Equal(t, "followup-1", w.find().Receipt.Reference)

	snap, err := w.Snapshot(t.Context())
	require.NoError(t, err)
	require.Equal(t, []ledger.Effect{{Action: action, Payload: payload}}, snap.Effects)
	require.Equal(t, []ledger.Receipt{{Action: action, Digest: intent.DigestOf([]byte(payload)), Reference: "followup-1"}}, snap.Receipts)
	var statuses []int
	for _, s := range snap.Sends() {
		require.Equal(t, "test", s.Process)
		require.Equal(t, intent.DigestOf([]byte(s.Payload)), s.Digest)
		statuses = append(statuses, s.Status)
	}
	require.Equal(t, []int{201, 200, 409, 422}, statuses)
	require.Len(t, snap.Audit, 6, "lookups are on the audit too")
}

func TestFaultsOfTheLookupAreNeverAnAnswer(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.post(payload)
	require.NoError(t, err)
	for fault, reason := range map[ledger.Fault]receipt.Reason{
		ledger.Unavailable: receipt.ReasonTransport, ledger.ProxyNotFound: receipt.ReasonContract, ledger.Unauthorized: receipt.ReasonAuth,
		ledger.UnknownContract: receipt.ReasonContract, ledger.WrongReceiptAction: receipt.ReasonReceipt, ledger.WrongReceiptDigest: receipt.ReasonReceipt,
	} {
		w.SetFault(fault)
		f := w.find()
		require.Equal(t, receipt.Unknown, f.Kind, "%s", fault)
		require.Equal(t, reason, f.Reason, "%s: %v", fault, f.Err)
	}
	w.SetFault(ledger.Healthy)
	require.Equal(t, receipt.Committed, w.find().Kind)
}

func TestADroppedAnswerLeavesItsEffect(t *testing.T) {
	w := newWorld(t)
	w.DropNext()
	_, _, err := w.post(payload)
	require.Error(t, err)
	require.Equal(t, receipt.Committed, w.find().Kind)
	snap, err := w.Snapshot(t.Context())
	require.NoError(t, err)
	require.Zero(t, snap.Sends()[0].Status, "no answer was given")
}

func TestAHeldRequestIsUnknownToTheServiceUntilItIsDelivered(t *testing.T) {
	w := newWorld(t)
	h := w.HoldNext()
	answer := make(chan string)
	go func() {
		_, text, _ := w.post(payload)
		answer <- text
	}()
	require.NoError(t, h.Arrived(t.Context()))
	require.Equal(t, receipt.Absent, w.find().Kind)
	status, first, err := w.post(payload)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status)
	require.NoError(t, h.Deliver(t.Context()))
	require.Equal(t, first, <-answer, "the late one gets the receipt of the other")

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.HoldNext().Arrived(gone), context.Canceled)
}

func TestComputationsAreCounted(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		resp, err := http.Post(w.url+"/computations", "application/json", strings.NewReader(`{"ticket":"ticket-1"}`))
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.JSONEq(t, `{"outcome":"needs-followup"}`, string(text))
	}
	resp, err := http.Get(w.url + "/elsewhere")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	snap, err := w.Snapshot(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, snap.Computations)
	require.Len(t, snap.Audit, 3)
}
