package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// fate is what becomes of one request for an order. Whatever it is, the order is
// placed.
type fate string

const (
	answered fate = ""        // and the answer arrives
	silent   fate = "silent"  // the answer does not come while the client waits
	gateway  fate = "gateway" // a gateway answers 504
	reset    fate = "reset"   // the connection is reset
	hangUp   fate = "hang up" // the connection is closed, with no byte of an answer
	refused  fate = "refused" // the answer is 422 all the same
	stalled  fate = "stalled" // it is on its way until somebody releases it
	fatal    fate = "fatal"   // the client's process is killed
)

// shop is the other service: it takes orders. Its ledger counts them, and knows
// nothing of the contenders.
type shop struct {
	keys    bool          // it honours idempotency keys
	retains time.Duration // for so long

	mu      sync.Mutex
	ledger  map[string]int       // orders placed, by the order that they are for
	seen    map[string]string    // the body that came under a key, for the lookup
	known   map[string]time.Time // when a key was first seen
	fates   []fate               // of the next requests
	deadly  int                  // kill once so many orders were placed
	lag     bool                 // the lookup does not show new orders yet
	outage  bool                 // the lookup answers 503
	kill    func()
	changed chan struct{} // closed and made anew at each request and each order
	release chan struct{} // closed to let the stalled request go on
	arrived int           // requests for orders,
	handled int           // those that were dealt with, before any answer,
	placed  int           // and those that had an effect
}

func newShop() *shop {
	return &shop{
		ledger: map[string]int{}, seen: map[string]string{}, known: map[string]time.Time{},
		changed: make(chan struct{}), release: make(chan struct{}),
	}
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, isLookup := strings.CutPrefix(r.URL.Path, "/receipts/")
	switch {
	case isLookup:
		s.lookup(w, key)
	case r.Method == http.MethodPost && r.URL.Path == "/orders":
		s.order(w, r)
	}
}

func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
	var doc struct{ Order string }
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f := s.arrive()
	if f == stalled {
		<-s.release
	}
	s.place(doc.Order, r.Header.Get("Idempotency-Key"), string(text))
	switch f {
	case silent:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case gateway:
		w.WriteHeader(http.StatusGatewayTimeout)
	case refused:
		w.WriteHeader(http.StatusUnprocessableEntity)
	case reset, hangUp:
		s.cut(w, f == reset)
	case fatal:
		s.deathbed()
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"placed":true}`)
	}
}

// arrive takes the fate of a request.
func (s *shop) arrive() fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived++
	s.tell()
	if len(s.fates) == 0 {
		return answered
	}
	f := s.fates[0]
	s.fates = s.fates[1:]
	return f
}

// place has the effect, unless the key is honoured and known.
func (s *shop) place(order, key, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, again := s.known[key]
	if !s.keys || !again || time.Since(first) > s.retains {
		s.ledger[order]++
		s.placed++
		s.known[key] = time.Now()
	}
	s.seen[key] = text
	s.handled++
	s.tell()
}

// tell says that something changed; s.mu is held.
func (s *shop) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until cond holds, asked under the lock, and reports whether it came to.
func (s *shop) await(giveUp <-chan struct{}, cond func() bool) bool {
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-giveUp:
			return false
		}
	}
}

// deathbed kills the client's process once enough orders were placed, and returns
// when it is dead.
func (s *shop) deathbed() {
	var kill func()
	s.await(nil, func() bool { kill = s.kill; return s.placed >= s.deadly })
	kill()
}

// cut ends the connection: with a reset, or just so.
func (s *shop) cut(w http.ResponseWriter, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if l, ok := conn.(interface{ SetLinger(sec int) error }); ok && reset {
		_ = l.SetLinger(0)
	}
	conn.Close()
}

// lookup answers by the receipt protocol of intentlog; the status codes alone say
// enough for everybody else.
func (s *shop) lookup(w http.ResponseWriter, key string) {
	s.mu.Lock()
	text, known := s.seen[key]
	known, outage := known && !s.lag, s.outage
	s.mu.Unlock()
	if outage {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	doc := receipt.Document{Contract: receipt.DocumentVersion, Action: intent.ActionID(key), State: receipt.StateAbsent}
	status := http.StatusNotFound
	if known {
		status, doc.State = http.StatusOK, receipt.StateCommitted
		doc.Receipt = &receipt.DocumentBody{Action: doc.Action, Digest: intent.DigestOf([]byte(text))}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

// count returns how many orders were placed, and whether each of those that are
// wanted was placed once and nothing else was.
func (s *shop) count(wanted []string) (effects int, right bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	right = len(s.ledger) == len(wanted)
	for _, n := range s.ledger {
		effects += n
	}
	for _, order := range wanted {
		right = right && s.ledger[order] == 1
	}
	return effects, right
}
