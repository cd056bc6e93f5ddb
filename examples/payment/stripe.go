package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
)

// stripe is a fake of the part of Stripe that matters here: the answer to the first
// request with a key is kept, and given to every other request with that key. It
// makes its first charge, and then cuts the connection instead of answering.
type stripe struct {
	*httptest.Server

	mu      sync.Mutex
	kept    map[string]string // answers by key
	seen    []string          // keys in the order of the requests
	charges int
}

func newStripe() *stripe {
	s := &stripe{kept: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.charge))
	return s
}

func (s *stripe) charge(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	s.seen = append(s.seen, key)
	answer, again := s.kept[key]
	if !again {
		s.charges++
		answer = fmt.Sprintf(`{"id":"ch_%d","amount":%s,"paid":true}`, s.charges, r.FormValue("amount"))
		s.kept[key] = answer
	}
	if len(s.seen) == 1 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, answer)
}
