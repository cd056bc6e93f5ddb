package receipttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/receipt/receipttest"
)

// lie is one way in which a service does not do what it says.
type lie string

const (
	honest        lie = ""
	noKeys        lie = "keys are ignored"
	perPayload    lie = "the key is bound to each payload on its own"
	anyPayload    lie = "other bytes are accepted under the key"
	checkThenAct  lie = "the key is checked before it is taken"
	checkOnEntry  lie = "the key is checked when the request arrives, and not when it acts"
	newReference  lie = "every request gets a receipt of its own"
	neverReplays  lie = "a duplicate is for ever in flight"
	effectFirst   lie = "the effect commits before its receipt"
	receiptFirst  lie = "the receipt commits before its effect"
	earlyReceipt  lie = "the lookup finds what was only begun"
	lag           lie = "the lookup lags behind"
	flickers      lie = "the lookup finds it the first time only"
	bareNotFound  lie = "absence is a bare 404"
	hides         lie = "who has no credentials gets the document of an absence"
	forgets       lie = "keys are kept half as long as is claimed"
	alwaysPending lie = "an unknown key is in flight"
)

const (
	token     = "Bearer good"
	retention = 24 * time.Hour
)

// service speaks the receipt protocol in memory. What is durable outlives a crash.
type service struct {
	lie lie

	mu      sync.Mutex
	now     time.Duration
	kept    map[string]kept // durable
	effects int             // durable: the independent count
	begun   map[string]intent.Digest
	looked  map[string]int
	racer   map[string]chan struct{}
	held    *held
	dies    bool // the next effect is cut by a crash between its two halves
}

type kept struct {
	digest    intent.Digest
	reference string
	at        time.Duration
}

func newService(l lie) *service {
	return &service{
		lie: l, kept: map[string]kept{}, begun: map[string]intent.Digest{}, looked: map[string]int{}, racer: map[string]chan struct{}{},
	}
}

// held keeps one request.
type held struct{ arrived, let, done chan struct{} }

func (h *held) Arrived(ctx context.Context) error { return wait(ctx, h.arrived) }
func (h *held) Deliver(ctx context.Context) error { close(h.let); return wait(ctx, h.done) }

func wait(ctx context.Context, c chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// describe is the service with every hook.
func (s *service) describe(base string, h http.Handler) receipttest.Service {
	svc := receipttest.Document(base+"/effects", base+"/receipts", &receipttest.DocumentOptions{
		Handler: h, Auth: func(r *http.Request) error { r.Header.Set("Authorization", token); return nil },
	})
	svc.Effects = func(context.Context) (int, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.effects, nil
	}
	svc.Hold = func() receipttest.Held {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = &held{make(chan struct{}), make(chan struct{}), make(chan struct{})}
		return s.held
	}
	svc.Crash = func(_ context.Context, send func()) error {
		s.mu.Lock()
		s.dies = true
		s.mu.Unlock()
		send()
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.begun)
		return nil
	}
	svc.Expire = func(_ context.Context, d time.Duration) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now += d
		return nil
	}
	svc.Retention = retention
	return svc
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	authorized := r.Header.Get("Authorization") == token
	switch {
	case r.Method == http.MethodPost && authorized:
		s.effect(w, r)
	case r.Method == http.MethodGet && (authorized || s.lie == hides):
		s.lookup(w, strings.TrimPrefix(r.URL.Path, "/receipts/"), authorized)
	default:
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// find returns what is kept of a key, if it is not too old.
func (s *service) find(key string) (kept, bool) {
	k, ok := s.kept[key]
	keep := retention
	if s.lie == forgets {
		keep /= 2
	}
	return k, ok && s.now-k.at <= keep
}

func (s *service) effect(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key, digest := r.Header.Get("Idempotency-Key"), intent.DigestOf(body)
	store := key
	if s.lie == perPayload {
		store += string(digest)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[key] = digest
	_, known := s.find(store)
	if h := s.held; h != nil {
		s.held = nil
		s.mu.Unlock()
		close(h.arrived)
		<-h.let
		s.mu.Lock()
		defer close(h.done)
	}
	if s.lie == checkThenAct && !known {
		s.meet(store)
	} else if s.lie != checkOnEntry {
		_, known = s.find(store)
	}
	if known && s.lie != noKeys {
		s.duplicate(w, key, store, digest)
		return
	}
	s.commit(store, digest)
	write(w, http.StatusCreated, s.document(key, s.kept[store]))
}

// meet waits a moment for another request that is at the same point.
func (s *service) meet(key string) {
	if other, ok := s.racer[key]; ok {
		delete(s.racer, key)
		close(other)
		return
	}
	c := make(chan struct{})
	s.racer[key] = c
	s.mu.Unlock()
	select {
	case <-c:
	case <-time.After(20 * time.Millisecond):
	}
	s.mu.Lock()
	delete(s.racer, key)
}

// commit has the effect, and dies on the way if it was told to.
func (s *service) commit(key string, digest intent.Digest) {
	k := kept{digest, fmt.Sprintf("effect-%d", s.effects+1), s.now}
	dies := s.dies
	s.dies = false
	switch {
	case dies && s.lie == effectFirst:
		s.effects++
	case dies && s.lie == receiptFirst:
		s.kept[key] = k
	default:
		s.effects++
		s.kept[key] = k
	}
	if dies {
		panic(http.ErrAbortHandler)
	}
}

func (s *service) duplicate(w http.ResponseWriter, key, store string, digest intent.Digest) {
	k := s.kept[store]
	switch {
	case s.lie == neverReplays:
		write(w, http.StatusConflict, receipt.Document{Action: intent.ActionID(key), State: receipt.StateInFlight})
	case k.digest != digest && s.lie == anyPayload:
		k.digest = digest
		write(w, http.StatusOK, s.document(key, k))
	case k.digest != digest:
		write(w, http.StatusConflict, receipt.Document{Action: intent.ActionID(key), State: receipt.StateConflict})
	default:
		if s.lie == newReference {
			s.looked[key]++
			k.reference += fmt.Sprintf("-%d", s.looked[key])
		}
		write(w, http.StatusOK, s.document(key, k))
	}
}

func (s *service) lookup(w http.ResponseWriter, key string, authorized bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked[key]++
	k, known := s.find(key)
	digest, begun := s.begun[key]
	switch {
	case !authorized, s.lie == lag && s.looked[key] == 1, s.lie == flickers && s.looked[key] > 1:
		write(w, http.StatusNotFound, receipt.Document{Action: intent.ActionID(key), State: receipt.StateAbsent})
	case !known && begun && s.lie == earlyReceipt:
		write(w, http.StatusOK, s.document(key, kept{digest: digest}))
	case known:
		write(w, http.StatusOK, s.document(key, k))
	case s.lie == bareNotFound:
		http.NotFound(w, nil)
	case s.lie == alwaysPending:
		write(w, http.StatusAccepted, receipt.Document{Action: intent.ActionID(key), State: receipt.StateInFlight})
	default:
		write(w, http.StatusNotFound, receipt.Document{Action: intent.ActionID(key), State: receipt.StateAbsent})
	}
}

func (s *service) document(key string, k kept) receipt.Document {
	return receipt.Document{Action: intent.ActionID(key), State: receipt.StateCommitted, Receipt: &receipt.DocumentBody{
		Action: intent.ActionID(key), Digest: k.digest, Reference: k.reference,
	}}
}

func write(w http.ResponseWriter, status int, doc receipt.Document) {
	doc.Contract = receipt.DocumentVersion
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// serve runs the service on a socket.
func (s *service) serve(t *testing.T) receipttest.Service {
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s.describe(srv.URL, nil)
}

var errHook = errors.New("hook is out of order")
