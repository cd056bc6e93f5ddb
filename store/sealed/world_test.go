package sealed_test

import (
	"bytes"
	"context"
	"errors"
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
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sealed"
)

func key(b byte) []byte { return bytes.Repeat([]byte{b}, sealed.KeySize) }

var ring = sealed.Keys{Use: "k1", ByID: map[string][]byte{"k1": key(1)}}

const logName = "test/payments"

var modes = map[string]*sealed.Options{"encrypt": nil, "sign": {Mode: sealed.Sign}}

func wrap(t *testing.T, inner store.Store, ring sealed.Keyring, opts *sealed.Options) *sealed.Store {
	t.Helper()
	st, err := sealed.New(inner, logName, ring, opts)
	require.NoError(t, err)
	return st
}

// service counts what reaches it by itself, whatever anybody's log says.
type service struct {
	url string

	mu      sync.Mutex
	posts   int
	effects map[string]string
	down    bool // requests end without an effect, and lookups with an error
}

func newService(t *testing.T) *service {
	s := &service{effects: map[string]string{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts++
	if s.down {
		panic(http.ErrAbortHandler)
	}
	s.effects[r.Header.Get("Idempotency-Key")] = string(body)
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, "done")
}

func (s *service) Lookup(_ context.Context, r receipt.Request) (receipt.Finding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch body, known := s.effects[string(r.Intent.Action)]; {
	case s.down:
		return receipt.Finding{}, errors.New("down")
	case known:
		return receipt.Found(&receipt.Receipt{Action: r.Intent.Action, Digest: intent.DigestOf([]byte(body))}), nil
	}
	return receipt.NotFound(), nil
}

// set takes the service down or up, and forgets how many posts there were.
func (s *service) set(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.posts = down, 0
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posts
}

func (s *service) options() *intentlog.Options {
	return &intentlog.Options{Targets: intentlog.Targets{"pay": {
		Base: s.url, Lookup: s, Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever},
	}}}
}

// life lets a worker do three jobs, of which the service loses the second:
// order-1 stands at offsets 0-3, order-2 is held at 4-6, order-3 stands at 7-10.
func life(t *testing.T, s *service, st store.Store) []int64 {
	t.Helper()
	w, err := intentlog.Open(t.Context(), st, "billing-0", s.options())
	require.NoError(t, err)
	for _, job := range []intent.JobID{"order-1", "order-2", "order-3"} {
		s.set(job == "order-2")
		out, err := w.Do(t.Context(), job, intent.POST("pay", "/v1/charges", []byte(`{"order":"`+job+`","iban":"DE02 1203"}`)))
		require.NoError(t, err)
		require.Equal(t, job == "order-2", out.Status == intentlog.Held, out.Message)
	}
	s.set(false)
	require.NoError(t, w.Close())
	return w.Bookmark()
}

// recoverLog opens and recovers a log as the next life would.
func recoverLog(t *testing.T, s *service, st store.Store, opts *intentlog.Options) error {
	t.Helper()
	w, err := intentlog.Open(t.Context(), st, "billing-0", opts)
	if err != nil {
		return err
	}
	defer w.Close()
	_, err = w.Recover(t.Context())
	return err
}

// events are the events of bucket 0 as the log holds them.
func events(t *testing.T, st store.Store) (all []intent.Event) {
	t.Helper()
	b, err := st.Bound(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, st.Read(t.Context(), 0, 0, b.End, func(r *store.Record) error {
		all = append(all, r.Event)
		return nil
	}))
	return all
}

// logOf is a log of one bucket that holds just these events.
func logOf(t *testing.T, all []intent.Event) *memstore.Store {
	t.Helper()
	st := memstore.New(1)
	for _, ev := range all {
		_, err := st.Append(t.Context(), 0, []intent.Event{ev})
		require.NoError(t, err)
	}
	return st
}

// readAll reads a log to its end and returns the error.
func readAll(ctx context.Context, st store.Store) error {
	b, err := st.Bound(ctx, 0)
	if err != nil {
		return err
	}
	return st.Read(ctx, 0, 0, b.End, func(*store.Record) error { return nil })
}
