package main

import (
	"net/http"
	"net/http/httptest"
	"sync"
)

// subscriber acts once per key, and on everything that comes without one. It cuts
// the connection instead of giving its first answer.
type subscriber struct {
	*httptest.Server

	mu    sync.Mutex
	known map[string]bool
	calls int
	acted int
}

func newSubscriber() *subscriber {
	s := &subscriber{known: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		if key == "" || !s.known[key] {
			s.acted++
			s.known[key] = true
		}
		if s.calls++; s.calls == 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	return s
}
