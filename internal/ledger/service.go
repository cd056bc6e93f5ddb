package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

const (
	effectPath = "/followups"
	// ProcessHeader names the process that sends a request, for the audit.
	ProcessHeader = "X-Process"
	// Outcome is the outcome of every computation.
	Outcome = "needs-followup"

	maxBody = 1 << 20
)

// Service is the HTTP service over a ledger. It is safe for concurrent use.
type Service struct {
	ledger *Ledger
	mux    *http.ServeMux

	// mu guards the faults.
	mu    sync.Mutex
	fault Fault
	drop  bool
	fail  bool
	hold  *Hold
}

// NewService returns a service that behaves.
func NewService(l *Ledger) *Service {
	s := &Service{ledger: l, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /computations", s.compute)
	s.mux.HandleFunc("POST "+effectPath, s.effect)
	s.mux.HandleFunc("GET /receipts/{action...}", s.lookup)
	s.mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		callOf(r).answer(http.StatusNotFound, "text/plain", nil)
	})
	return s
}

// ServeHTTP puts the request on the audit and then answers it.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Not the request's context: what arrived is dealt with, whether the client waits or not.
	ctx := context.WithoutCancel(r.Context())
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // half a request is none; the connection ends here
	}
	entry := Request{Process: r.Header.Get(ProcessHeader), Method: r.Method, Path: r.URL.Path, Payload: string(body)}
	entry.Action = intent.ActionID(r.Header.Get("Idempotency-Key"))
	if len(body) > 0 {
		entry.Digest = intent.DigestOf(body)
	}
	id, err := s.ledger.arrived(ctx, entry)
	if err != nil {
		http.Error(w, "the ledger is out of order", http.StatusInternalServerError)
		return
	}
	c := call{Request: entry}
	defer func() { c.held.end() }()
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(ctx, callKey{}, &c)))
	if c.status == 0 {
		panic(http.ErrAbortHandler) // no answer: the connection is cut
	}
	if err := s.ledger.answered(ctx, id, c.status); err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", c.mediaType)
	w.WriteHeader(c.status)
	_, _ = w.Write(c.body) // a client that is gone is none of our business
}

// call is a request under way, and its answer once there is one.
type call struct {
	Request
	held      *Hold // nil for all but a request that was held
	status    int
	mediaType string
	body      []byte
}

type callKey struct{}

func callOf(r *http.Request) *call { return r.Context().Value(callKey{}).(*call) }

func (c *call) answer(status int, mediaType string, body []byte) {
	c.status, c.mediaType, c.body = status, mediaType, body
}

func (c *call) document(status int, doc receipt.Document) {
	doc.Contract = receipt.DocumentVersion
	c.json(status, doc)
}

func (c *call) json(status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, nil
	}
	c.answer(status, "application/json", body)
}

// compute counts a computation and answers with its outcome.
func (s *Service) compute(_ http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	var ask struct {
		Ticket string `json:"ticket"`
	}
	if json.Unmarshal([]byte(c.Payload), &ask) != nil || s.ledger.Compute(r.Context(), ask.Ticket, Outcome) != nil {
		c.answer(http.StatusBadRequest, "text/plain", nil)
		return
	}
	c.json(http.StatusOK, map[string]string{"outcome": Outcome})
}

// effect has the effect, at most once per key.
func (s *Service) effect(_ http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	s.mu.Lock()
	hold, drop, fail := s.hold, s.drop, s.fail
	s.hold, s.drop, s.fail = nil, false, false
	s.mu.Unlock()
	c.held = hold
	hold.wait()
	if intent.CheckID("key", string(c.Action)) != nil {
		c.answer(http.StatusBadRequest, "text/plain", []byte("no usable Idempotency-Key\n"))
		return
	}
	if !json.Valid([]byte(c.Payload)) {
		c.document(http.StatusUnprocessableEntity, receipt.Document{Action: c.Action, State: receipt.StateRejected, Message: "not JSON"})
		return
	}
	rec, created, err := s.ledger.Commit(r.Context(), c.Action, []byte(c.Payload))
	switch {
	case errors.Is(err, ErrOtherPayload):
		c.document(http.StatusConflict, receipt.Document{Action: c.Action, State: receipt.StateConflict, Message: err.Error()})
	case err != nil || fail:
		c.answer(http.StatusInternalServerError, "text/plain", nil)
	case drop:
		// no answer
	case created:
		c.document(http.StatusCreated, committed(rec))
	default:
		c.document(http.StatusOK, committed(rec))
	}
}

func committed(r Receipt) receipt.Document {
	return receipt.Document{Action: r.Action, State: receipt.StateCommitted, Receipt: &receipt.DocumentBody{
		Action: r.Action, Digest: r.Digest, Reference: r.Reference,
	}}
}

// lookup tells what became of an action.
func (s *Service) lookup(_ http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	c.Action = intent.ActionID(r.PathValue("action"))
	rec, known, err := s.ledger.Find(r.Context(), c.Action)
	switch {
	case err != nil:
		c.answer(http.StatusInternalServerError, "text/plain", nil)
		return
	case known:
		c.document(http.StatusOK, committed(rec))
	default:
		c.document(http.StatusNotFound, receipt.Document{Action: c.Action, State: receipt.StateAbsent})
	}
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	fault.spoil(c, rec)
}
