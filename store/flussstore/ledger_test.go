package flussstore_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
)

// ledger is a key-bound service and the outside count of its effects.
type ledger struct {
	url string

	mu      sync.Mutex
	effects map[string]string // action to payload
	posts   int
	wrong   int // posts of a known action with another payload
}

func newLedger(t *testing.T) *ledger {
	l := &ledger{effects: map[string]string{}}
	srv := httptest.NewServer(l)
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posts++
	key := r.Header.Get(intentlog.KeyHeader)
	if old, known := l.effects[key]; known && old != string(body) {
		l.wrong++
		http.Error(w, "other payload", http.StatusConflict)
		return
	}
	l.effects[key] = string(body)
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"ok":true}`)
}

func (l *ledger) Lookup(ctx context.Context, r receipt.Request) (receipt.Finding, error) {
	if ctx.Value(interrupted{}) != nil {
		return receipt.Finding{}, io.ErrUnexpectedEOF
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	body, known := l.effects[string(r.Intent.Action)]
	if !known {
		return receipt.NotFound(), nil
	}
	return receipt.Found(&receipt.Receipt{Action: r.Intent.Action, Digest: intent.DigestOf([]byte(body))}), nil
}

// worker opens a life of a worker that sends to the ledger through a transport.
func (l *ledger) worker(t *testing.T, st store.Store, name string, transport http.RoundTripper) *intentlog.Worker {
	t.Helper()
	w, err := intentlog.Open(t.Context(), st, name, l.options(transport))
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func (l *ledger) options(transport http.RoundTripper) *intentlog.Options {
	return &intentlog.Options{
		TakeOver: func(string) bool { return true },
		Targets: intentlog.Targets{"pay": {
			Base: l.url, Lookup: l, Transport: transport,
			Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever},
		}},
	}
}

// interrupted marks the context of a call whose answers get lost.
type interrupted struct{}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func charge(body string) intent.Intent { return intent.POST("pay", "/v1/charges", []byte(body)) }
