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

// payments charges on every request, and can be asked about a charge. It cuts the
// connection instead of giving its first answer.
type payments struct {
	*httptest.Server

	mu      sync.Mutex
	bodies  map[string]string
	charges int
}

func newPayments() *payments {
	p := &payments{bodies: map[string]string{}}
	p.Server = httptest.NewServer(p)
	return p
}

func (p *payments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		p.bodies[r.Header.Get(intentlog.KeyHeader)] = string(body)
		if p.charges++; p.charges == 1 {
			panic(http.ErrAbortHandler)
		}
		return
	}
	id := strings.TrimPrefix(r.URL.Path, "/receipts/")
	doc := receipt.Document{Contract: receipt.DocumentVersion, Action: intent.ActionID(id), State: receipt.StateAbsent}
	status := http.StatusNotFound
	if body, ok := p.bodies[id]; ok {
		status, doc.State = http.StatusOK, receipt.StateCommitted
		doc.Receipt = &receipt.DocumentBody{Action: doc.Action, Digest: intent.DigestOf([]byte(body)), Reference: "ch_1"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}
