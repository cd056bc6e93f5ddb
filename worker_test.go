package intentlog_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

// ledger is a key-bound service and the independent count of its effects.
type ledger struct {
	mu      sync.Mutex
	effects map[string]string // key to payload
	posts   int
	drop    bool // commit and then cut the connection
	down    bool // the lookup is out of order
}

func newLedger(t *testing.T) (*ledger, string) {
	l := &ledger{effects: map[string]string{}}
	srv := httptest.NewServer(l)
	t.Cleanup(srv.Close)
	return l, srv.URL
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posts++
	key := r.Header.Get("Idempotency-Key")
	if old, known := l.effects[key]; known && old != string(body) {
		http.Error(w, "other payload", http.StatusConflict)
		return
	}
	l.effects[key] = string(body)
	if l.drop {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, `{"ok":true}`)
}

func (l *ledger) Lookup(_ context.Context, r receipt.Request) (receipt.Finding, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return receipt.Finding{}, io.ErrUnexpectedEOF
	}
	body, known := l.effects[string(r.Intent.Action)]
	if !known {
		return receipt.NotFound(), nil
	}
	return receipt.Found(&receipt.Receipt{Action: r.Intent.Action, Digest: intent.DigestOf([]byte(body))}), nil
}

func options(l *ledger, url string) *intentlog.Options {
	return &intentlog.Options{Targets: intentlog.Targets{"pay": {
		Base: url, Lookup: l, Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever},
	}}}
}

func TestDoRecordsIntentBeforeAndReceiptAfter(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	st := memstore.New(3)
	w, err := intentlog.Open(ctx, st, "billing-0", options(l, url))
	require.NoError(t, err)
	defer w.Close()
	out, err := w.Do(ctx, "order-1", intent.POST("pay", "/v1/charges", []byte(`{"amount":1}`)))
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, out.Status)
	require.Equal(t, []intent.Type{intent.Started, intent.ActionRequested, intent.ActionConfirmed, intent.Completed}, types(t, st, "order-1"))

	again, err := w.Do(ctx, "order-1", intent.POST("pay", "/v1/charges", []byte(`{"amount":1}`)))
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, again.Status)
	require.JSONEq(t, `{"ok":true}`, string(again.Receipt.Body))
	require.Equal(t, 1, l.posts)

	_, err = w.Do(ctx, "order-1", intent.POST("pay", "/v1/charges", []byte(`{"amount":2}`)))
	require.ErrorIs(t, err, intentlog.ErrPayloadMismatch)
	require.Equal(t, 1, l.posts)
}

func TestLostAnswerInALivingProcessIsReconciled(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	l.drop = true
	st := memstore.New(1)
	w, err := intentlog.Open(ctx, st, "billing-0", options(l, url))
	require.NoError(t, err)
	out, err := w.Do(ctx, "order-1", intent.POST("pay", "/v1/charges", []byte(`{}`)))
	require.NoError(t, err)
	require.Equal(t, intentlog.Reconciled, out.Status)
	require.Equal(t, 1, l.posts)
}

func TestHeldActionIsAskedAgainByTheNextLife(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	l.drop, l.down = true, true
	st := memstore.New(1)
	w, err := intentlog.Open(ctx, st, "billing-0", options(l, url))
	require.NoError(t, err)
	out, err := w.Do(ctx, "order-1", intent.POST("pay", "/v1/charges", []byte(`{}`)))
	require.NoError(t, err)
	require.Equal(t, intentlog.Held, out.Status)
	require.Equal(t, receipt.ReasonTransport, out.Reason)
	require.NoError(t, w.Close())

	w, err = intentlog.Open(ctx, st, "billing-0", options(l, url))
	require.NoError(t, err)
	report, err := w.Recover(ctx)
	require.NoError(t, err)
	require.Equal(t, intentlog.Held, report.Outcomes[0].Status)
	before := len(types(t, st, "order-1"))
	_, err = w.Recover(ctx)
	require.NoError(t, err)
	require.Len(t, types(t, st, "order-1"), before, "recovering twice adds nothing")

	l.down = false
	report, err = w.Recover(ctx)
	require.NoError(t, err)
	require.Equal(t, intentlog.Reconciled, report.Outcomes[0].Status)
	require.Equal(t, 1, l.posts)
}

func TestManyJobsAtOnce(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	st := memstore.New(3)
	w, err := intentlog.Open(ctx, st, "billing-0", options(l, url))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			job := intent.JobID("order-" + time.Duration(i).String())
			out, err := w.Do(ctx, job, intent.POST("pay", "/v1/charges", []byte(`{}`)))
			require.NoError(t, err)
			require.Equal(t, intentlog.Confirmed, out.Status)
		})
	}
	wg.Wait()
	require.Len(t, l.effects, 200)
}

// types lists the events of a job in log order.
func types(t *testing.T, st store.Store, job intent.JobID) (all []intent.Type) {
	t.Helper()
	b := store.BucketFor(job, st.Buckets())
	bound, err := st.Bound(t.Context(), b)
	require.NoError(t, err)
	err = st.Read(t.Context(), b, 0, bound.End, func(r *store.Record) error {
		if r.Event.JobID == job {
			all = append(all, r.Event.Type)
		}
		return nil
	})
	require.NoError(t, err)
	return all
}
