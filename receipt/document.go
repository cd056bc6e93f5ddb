package receipt

import (
	"fmt"
	"mime"
	"net/http"

	"github.com/intentlog/intentlog/intent"
)

// DocumentVersion is the contract marker of a receipt document. An answer that
// does not carry it says nothing: a proxy, a login page and a service of another
// version all answer with status codes too.
const DocumentVersion = "intentlog-receipt/1"

// State is what a receipt document says about an action.
type State string

// The states, each with the only status codes that it may come with.
const (
	StateCommitted State = "committed" // 200, or 201 for the request that had the effect
	StateAbsent    State = "absent"    // 404
	StateInFlight  State = "in_flight" // 202, or 409 for a request
	StateConflict  State = "conflict"  // 409: the key is known with another payload
	StateRejected  State = "rejected"  // 422: refused, finally and without an effect
)

// Document is what a service answers that speaks the receipt protocol: to a lookup
// by GET, and to the request itself.
//
//	{"contract":"intentlog-receipt/1","action_id":"ticket-1042/followup",
//	 "state":"committed","receipt":{"action_id":"ticket-1042/followup",
//	 "payload_digest":"9f86...","reference":"followup-7"}}
//
// Fields that are not listed here are refused: a field that is not understood may
// change the meaning.
type Document struct {
	Contract string          `json:"contract"`
	Action   intent.ActionID `json:"action_id"`
	State    State           `json:"state"`
	Receipt  *DocumentBody   `json:"receipt,omitempty"` // with StateCommitted
	Message  string          `json:"message,omitempty"` // for people
}

// DocumentBody is the receipt inside a [Document].
type DocumentBody struct {
	Action    intent.ActionID `json:"action_id"`
	Digest    intent.Digest   `json:"payload_digest"`
	Reference string          `json:"reference,omitempty"`
}

// parseDocument reads a document and checks that it is about the action, in a
// version that is known, and fits its status code.
func parseDocument(action intent.ActionID, status int, header http.Header, body []byte) (Document, error) {
	var doc Document
	if mt, _, err := mime.ParseMediaType(header.Get("Content-Type")); err != nil || mt != "application/json" {
		return doc, fmt.Errorf("status %d with content type %q, want a receipt document", status, clip(header.Get("Content-Type")))
	}
	if err := strictJSON(body, &doc); err != nil {
		return doc, fmt.Errorf("status %d: receipt document: %w", status, err)
	}
	switch {
	case doc.Contract != DocumentVersion:
		return doc, fmt.Errorf("status %d: contract %q, want %q", status, clip(doc.Contract), DocumentVersion)
	case doc.Action != action:
		return doc, fmt.Errorf("status %d: document about action %q, asked about %q", status, clip(string(doc.Action)), action)
	case !doc.State.fits(status):
		return doc, fmt.Errorf("status %d does not go with state %q", status, clip(string(doc.State)))
	case (doc.State == StateCommitted) != (doc.Receipt != nil):
		return doc, fmt.Errorf("status %d: state %q and receipt do not go together", status, doc.State)
	}
	return doc, nil
}

func (s State) fits(status int) bool {
	switch s {
	case StateCommitted:
		return status == http.StatusOK || status == http.StatusCreated
	case StateAbsent:
		return status == http.StatusNotFound
	case StateInFlight:
		return status == http.StatusAccepted || status == http.StatusConflict
	case StateConflict:
		return status == http.StatusConflict
	case StateRejected:
		return status == http.StatusUnprocessableEntity
	}
	return false
}

// receipt returns the receipt of a committed document, the whole answer in it.
func (doc Document) receipt(status int, header http.Header, body []byte) *Receipt {
	return &Receipt{
		Action: doc.Receipt.Action, Digest: doc.Receipt.Digest, Reference: doc.Receipt.Reference,
		Code: status, MediaType: header.Get("Content-Type"), Body: body,
	}
}

// Interpret reads the complete answer to a request of a service that speaks the
// receipt protocol. Anything that is no fitting [Document] is a lost answer.
func Interpret(r Request, status int, header http.Header, body []byte) Answer {
	if reason := undocumented(status); reason != ReasonNone {
		return Answer{Reason: reason, Err: fmt.Errorf("status %d", status)}
	}
	doc, err := parseDocument(r.Intent.Action, status, header, body)
	if err != nil {
		return Answer{Reason: ReasonContract, Err: err}
	}
	switch doc.State {
	case StateCommitted:
		return Answer{Result: Accepted, Receipt: doc.receipt(status, header, body)}
	case StateConflict:
		return Answer{Result: Mismatch, Reason: ReasonConflict, Err: fmt.Errorf("%s", clip(doc.Message))}
	case StateRejected:
		return Answer{Result: Refused, Reason: ReasonRefused, Err: fmt.Errorf("%s", clip(doc.Message))}
	case StateInFlight:
		return Answer{Result: Busy, Reason: ReasonInFlight}
	}
	return Answer{Reason: ReasonContract, Err: fmt.Errorf("state %q in answer to a request", doc.State)}
}

// undocumented names the reason for status codes that never carry a document.
func undocumented(status int) Reason {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return ReasonAuth
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return ReasonTransport
	case status >= 300 && status < 400:
		return ReasonContract
	}
	return ReasonNone
}
