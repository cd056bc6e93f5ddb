package httpoutcome

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Do sends req once through rt and reads the whole response, at most limit bytes of body (0 means [DefaultLimit]).
// A nil rt is http.DefaultTransport. The error is nil exactly when the outcome is Answered, and wraps the transport's error
// else. Deadlines come with the request's context: when it ends, Do returns and the outcome says what is proved by then.
//
// A RoundTripper is asked and not an http.Client, for a Client follows redirects and adds what it likes. From a Client pass its
// Transport; its Timeout and cookie jar are then not used.
func Do(rt http.RoundTripper, req *http.Request, limit int64) (Result, error) {
	if rt == nil {
		rt = http.DefaultTransport
	}
	a, err := Begin(req)
	if err != nil {
		if req != nil && req.Body != nil {
			_ = req.Body.Close() // as every RoundTripper must
		}
		return Result{Outcome: NotSent, Reason: "request cannot be sent"}, fmt.Errorf("http attempt: %s: %w", NotSent, err)
	}
	resp, err := rt.RoundTrip(a.Request())
	return a.Finish(resp, err, limit)
}

// Finish reads what RoundTrip returned and judges the attempt. It reads at most limit bytes of body (0 means [DefaultLimit]),
// closes the response's body, and releases the attempt's context. The error is nil exactly when the outcome is Answered.
func (a *Attempt) Finish(resp *http.Response, err error, limit int64) (Result, error) {
	defer a.cancel(nil)
	if err != nil || resp == nil {
		return a.failed(err)
	}
	body, err := readAll(resp, limit)
	if err != nil {
		a.cancel(nil) // before the close: a body that still waits for the peer must not hold us
		_ = resp.Body.Close()
		return a.result(Unknown, "response not complete"), a.wrap(Unknown, err)
	}
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.Request = a.original
	res := a.result(Answered, "complete response")
	res.Response, res.Body = resp, body
	return res, nil
}

// failed judges an attempt without a response.
func (a *Attempt) failed(err error) (Result, error) {
	if err == nil {
		err = errors.New("transport returned neither response nor error")
	}
	outcome, reason := a.judge(err)
	return a.result(outcome, reason), a.wrap(outcome, err)
}

func (a *Attempt) judge(err error) (Outcome, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.got && a.wire == 1 && !a.heard && !a.refused && notProcessed(err):
		return NotSent, "HTTP/2 peer did not process the stream"
	case a.got:
		// Even when no header field was reported: HTTP/2 may return from a cancelled request while another goroutine
		// still encodes it.
		return Unknown, "sent or begun, no response"
	case a.asked:
		return NotSent, "no connection"
	}
	return Unknown, "transport reports nothing"
}

func (a *Attempt) result(o Outcome, reason string) Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Result{Outcome: o, Reason: reason, WireAttempts: a.wire}
}

// wrap names the method only: a URL may hold what must not be logged.
func (a *Attempt) wrap(o Outcome, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused {
		err = fmt.Errorf("%w: %w", ErrResend, err)
	}
	method := a.original.Method
	if method == "" {
		method = http.MethodGet
	}
	return fmt.Errorf("http %s: %s: %w", method, o, err)
}

// readAll returns the whole body, or an error if it is not sure that this is the whole of a final response.
func readAll(resp *http.Response, limit int64) ([]byte, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 599 {
		return nil, fmt.Errorf("%w: %d", ErrNotFinal, resp.StatusCode)
	}
	if limit <= 0 {
		limit = DefaultLimit
	}
	// ReadAll grows with what arrives; the declared length sizes nothing.
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) == limit {
		if n, err := io.ReadFull(resp.Body, make([]byte, 1)); n > 0 {
			return nil, fmt.Errorf("%w of %d bytes", ErrTooLarge, limit)
		} else if err != io.EOF {
			return nil, err
		}
	}
	if !endKnown(resp, len(body)) {
		return nil, ErrNoEnd
	}
	return body, nil
}

// endKnown says whether the end of the body was marked by the message itself. RFC 9112 section 8 lets a client take the close
// of the connection for the end; a server that died in the middle looks the same, so we do not.
func endKnown(resp *http.Response, n int) bool {
	switch {
	case resp.ProtoMajor != 1, resp.ContentLength >= 0:
		return true // HTTP/2 marks the end of a stream; net/http checks a declared length
	case len(resp.TransferEncoding) > 0 && resp.TransferEncoding[len(resp.TransferEncoding)-1] == "chunked":
		return true
	case resp.Uncompressed:
		return n > 0 // gzip has an end of its own, which net/http checked; no bytes at all is no gzip
	}
	return resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified ||
		resp.Request != nil && resp.Request.Method == http.MethodHead
}
