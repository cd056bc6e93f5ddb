package ledger

import (
	"context"
	"net/http"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// Fault is what is wrong with the receipt lookup. The effects themselves go on.
type Fault string

// The faults of a lookup.
const (
	Healthy            Fault = ""
	Unavailable        Fault = "503"
	ProxyNotFound      Fault = "404" // a page of a proxy, without the contract's document
	Unauthorized       Fault = "401"
	UnknownContract    Fault = "contract"       // a document of a version that nobody knows
	WrongReceiptAction Fault = "receipt-action" // a receipt of another action
	WrongReceiptDigest Fault = "receipt-digest" // a receipt of another payload
)

// SetFault makes every lookup answer with the fault from now on.
func (s *Service) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// DropNext makes the service cut the connection after the next effect was committed.
func (s *Service) DropNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop = true
}

// FailNext makes the service answer 500 after the next effect was committed.
func (s *Service) FailNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = true
}

// spoil puts the fault's answer in the place of a true one.
func (f Fault) spoil(c *call, rec Receipt) {
	switch f {
	case Unavailable:
		c.answer(http.StatusServiceUnavailable, "text/html", []byte("<h1>503 Service Unavailable</h1>\n"))
	case ProxyNotFound:
		c.answer(http.StatusNotFound, "text/html", []byte("<h1>404 Not Found</h1>\n"))
	case Unauthorized:
		c.answer(http.StatusUnauthorized, "text/html", []byte("<h1>401 Unauthorized</h1>\n"))
	case UnknownContract:
		c.body = []byte(strings.Replace(string(c.body), receipt.DocumentVersion, "intentlog-receipt/999", 1))
	case WrongReceiptAction:
		doc := committed(rec)
		doc.Receipt.Action = "ticket-7/followup"
		c.document(http.StatusOK, doc)
	case WrongReceiptDigest:
		doc := committed(rec)
		doc.Receipt.Digest = intent.DigestOf([]byte("another payload"))
		c.document(http.StatusOK, doc)
	}
}

// Hold is a request for an effect that is kept on its way: it has arrived, nothing
// was done about it yet, and the service does not know of it.
type Hold struct{ arrived, let, done chan struct{} }

// HoldNext makes the service keep the next request for an effect.
func (s *Service) HoldNext() *Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = &Hold{arrived: make(chan struct{}), let: make(chan struct{}), done: make(chan struct{})}
	return s.hold
}

// wait keeps the request; a nil Hold keeps nothing.
func (h *Hold) wait() {
	if h != nil {
		close(h.arrived)
		<-h.let
	}
}

// end says that the request is dealt with and on the audit.
func (h *Hold) end() {
	if h != nil {
		close(h.done)
	}
}

// Arrived waits until the request is here.
func (h *Hold) Arrived(ctx context.Context) error { return await(ctx, h.arrived) }

// Deliver lets the service have the request, and returns once it has dealt with it.
// It is called once.
func (h *Hold) Deliver(ctx context.Context) error {
	close(h.let)
	return await(ctx, h.done)
}

func await(ctx context.Context, c chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
