package httpoutcome

import (
	"errors"
	"fmt"
	"net/http"
)

// Outcome is what one attempt proves about its effect. The zero value is Unknown: what nobody looked at is not known.
type Outcome uint8

const (
	// Unknown: a byte of the request may have been written and no complete, valid response came back.
	Unknown Outcome = iota
	// NotSent: no effect can come of this attempt.
	NotSent
	// Answered: a complete final response (status 200 to 599, whole body) was received.
	Answered
)

// String returns "unknown", "not sent" or "answered", and "outcome(N)" for a value that is none of them.
func (o Outcome) String() string {
	switch o {
	case Unknown:
		return "unknown"
	case NotSent:
		return "not sent"
	case Answered:
		return "answered"
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// DefaultLimit is the largest response body, in bytes, that is read when the caller gives a limit of 0.
const DefaultLimit = 1 << 20

var (
	// ErrTooLarge: the response body is longer than the limit, so it was not read to its end. The outcome is Unknown.
	ErrTooLarge = errors.New("response body is longer than the limit")
	// ErrNoEnd: the response body ends with the connection, so that a cut cannot be told from the end. The outcome is Unknown.
	ErrNoEnd = errors.New("response body has no declared end")
	// ErrNotFinal: the status is outside 200 to 599: informational, a protocol switch, or not a status. The outcome is Unknown.
	ErrNotFinal = errors.New("response status is not final")
	// ErrResend: the transport was about to write the request a second time, and was stopped. The outcome is Unknown.
	ErrResend = errors.New("second wire attempt refused")
)

// Result is what one attempt proved.
type Result struct {
	Outcome Outcome
	// Reason says in a few words what the outcome rests on. It holds nothing that the peer sent.
	Reason string
	// Response is set for Answered only. Its Body is a reader over the field Body below; there is nothing to close.
	Response *http.Response
	// Body is the whole response body. The caller owns it.
	Body []byte
	// WireAttempts counts how often the transport began to write the request: 0 or 1 for a request of [Begin] over an
	// http.Transport, unless its method is safe. More than 1 means that something below sent again.
	WireAttempts int
}
