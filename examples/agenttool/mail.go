package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// mail is a service that sends each mail that it is given, knows nothing of keys, and
// can be asked. It breaks down right after the first one.
type mail struct {
	*httptest.Server

	mu     sync.Mutex
	bodies map[string]string // by action ID
	sent   int
	broken bool
}

func newMail() *mail {
	m := &mail{bodies: map[string]string{}}
	m.Server = httptest.NewServer(m)
	return m
}

func (m *mail) repair() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = false
}

func (m *mail) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			m.bodies[r.Header.Get(intentlog.KeyHeader)] = string(body)
			m.sent++
		}
		m.broken = true
		panic(http.ErrAbortHandler)
	}
	id := strings.TrimPrefix(r.URL.Path, "/receipts/")
	doc := receipt.Document{Contract: receipt.DocumentVersion, Action: intent.ActionID(id), State: receipt.StateAbsent}
	status := http.StatusNotFound
	if body, ok := m.bodies[id]; ok {
		status, doc.State = http.StatusOK, receipt.StateCommitted
		doc.Receipt = &receipt.DocumentBody{Action: doc.Action, Digest: intent.DigestOf([]byte(body))}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}
