package httpoutcome

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// Attempt watches one attempt from [Begin] to [Attempt.Finish]. The transport may call its hooks from any goroutine; Finish
// is called once.
type Attempt struct {
	original *http.Request
	guarded  *http.Request
	cancel   context.CancelCauseFunc
	safe     bool // the method is safe: net/http may re-send it

	mu      sync.Mutex
	asked   bool // the transport reported GetConn: it can be judged by what it reports
	got     bool // a connection was handed to the request: bytes may have been written
	begun   bool // the current connection saw the first header field
	wire    int  // connections that saw a first header field
	heard   bool // the peer began to answer
	refused bool // a second wire attempt was stopped
}

// Begin prepares one attempt to send req. The request to give to the transport is [Attempt.Request]; req itself is not
// changed, its body is used up. Every Begin needs its Finish, which releases the context that the request carries. An error means
// that the request is one which net/http would refuse, or that its context has ended: it was not sent, and is not to be sent.
//
// The prepared request cannot be sent twice by net/http:
//
//   - GetBody is dropped, so that a body that was touched cannot be rewound.
//   - If there is no body, the fields Idempotency-Key and X-Idempotency-Key are put under lower-case keys of the header map. Field
//     names mean the same in any case, but http.Transport looks for the canonical one to call a POST replayable. (A body that
//     is empty but not nil would do as well, but turns "Content-Length: 0" into chunked coding, which some services refuse.)
//   - If the transport still asks for a connection after it began to write, the context is cancelled. HTTP/2 checks it
//     before it writes a header, so there the second attempt is never written.
//
// Requests with a safe method are only watched.
func Begin(req *http.Request) (*Attempt, error) {
	if err := check(req); err != nil {
		return nil, err
	}
	a := &Attempt{original: req}
	ctx, cancel := context.WithCancelCause(req.Context())
	a.cancel = cancel
	a.guarded = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:          func(string) { a.connection(false) },
		GotConn:          func(httptrace.GotConnInfo) { a.connection(true) },
		WroteHeaderField: func(string, []string) { a.wrote() },
		// Reported for informational responses too: a peer that began to answer has processed something.
		GotFirstResponseByte: func() { a.mu.Lock(); a.heard = true; a.mu.Unlock() },
	}))
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		a.safe = true
		return a, nil
	}
	a.guarded.GetBody = nil
	if req.Body == nil || req.Body == http.NoBody {
		a.guarded.Header = hideKeys(req.Header)
	}
	return a, nil
}

// Request is the request to hand to the transport, once.
func (a *Attempt) Request() *http.Request { return a.guarded }

// connection records that the transport asked for a connection or got one, and stops it when it has written before.
func (a *Attempt) connection(got bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = true
	if got {
		a.got, a.begun = true, false
	}
	if a.wire > 0 && !a.safe {
		a.refused = true
		a.cancel(ErrResend)
	}
}

// wrote records that a header field was encoded. It is reported before the bytes leave, so it can only err to the careful side.
func (a *Attempt) wrote() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		a.begun = true
		a.wire++
	}
}

// hideKeys returns h with the two idempotency fields under lower-case keys; h itself, if it has neither.
func hideKeys(h http.Header) http.Header {
	key, xkey := h["Idempotency-Key"], h["X-Idempotency-Key"]
	if key == nil && xkey == nil {
		return h
	}
	h = h.Clone()
	delete(h, "Idempotency-Key")
	delete(h, "X-Idempotency-Key")
	if key != nil {
		h["idempotency-key"] = key
	}
	if xkey != nil {
		h["x-idempotency-key"] = xkey
	}
	return h
}
