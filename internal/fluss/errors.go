package fluss

import (
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

var (
	// ErrClosed means that the client was closed.
	ErrClosed = errors.New("fluss: client is closed")
	// ErrPlaintextCredentials means that a password would have crossed a network in clear.
	ErrPlaintextCredentials = errors.New("fluss: refusing to send a password without TLS to an address that is not loopback")
	// ErrUnsupported means that the server has no version of an API that this client speaks.
	ErrUnsupported = errors.New("fluss: API not supported by the server")
	// ErrProtocol means that a server's answer contradicts the protocol.
	ErrProtocol = errors.New("fluss: protocol violation")
	// ErrNoServer means that no server of the cluster could be reached; the errors of each are joined to it.
	ErrNoServer = errors.New("fluss: no server answered")
)

// ServerError is a refusal that a server put into words.
type ServerError struct {
	API     msg.Key
	Addr    string
	Code    msg.Code
	Message string // the server's text, cut
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("fluss: %s at %s: %s (%d): %q", e.API, e.Addr, e.Code, int32(e.Code), e.Message)
}

// Is makes errors.Is(err, &ServerError{Code: c}) match any refusal with that code.
func (e *ServerError) Is(target error) bool {
	t, ok := target.(*ServerError)
	return ok && t.Code == e.Code && (t.API == 0 || t.API == e.API)
}

// maxServerText bounds how much of a server's text (often a Java stack trace) is kept.
const maxServerText = 256

func serverError(api msg.Key, addr string, code msg.Code, text string) *ServerError {
	if len(text) > maxServerText {
		text = text[:maxServerText]
	}
	return &ServerError{API: api, Addr: addr, Code: code, Message: text}
}

// CodeOf returns the code of the ServerError in err, [msg.None] when there is none.
func CodeOf(err error) msg.Code {
	var s *ServerError
	if errors.As(err, &s) {
		return s.Code
	}
	return msg.None
}

// TransportError is a request without an answer.
type TransportError struct {
	API  msg.Key
	Addr string
	// Sent reports whether any byte of the request may have left this process. While it is false the server cannot have acted.
	Sent bool
	Err  error
}

func (e *TransportError) Error() string {
	sent := "nothing sent"
	if e.Sent {
		sent = "sent, no answer"
	}
	what := "connect"
	if e.API != 0 {
		what = e.API.String()
	}
	return fmt.Sprintf("fluss: %s to %s (%s): %v", what, e.Addr, sent, e.Err)
}

func (e *TransportError) Unwrap() error { return e.Err }

// SafeToRetry reports whether err proves that the request had no effect because not a byte of it was sent.
func SafeToRetry(err error) bool {
	var t *TransportError
	return errors.As(err, &t) && !t.Sent
}

// TableChangedError means that a table is not the one that was opened: it was dropped, or dropped and created again.
type TableChangedError struct {
	Path     Path
	Was, Now int64 // table ids; Now is -1 when the table is gone
}

func (e *TableChangedError) Error() string {
	if e.Now < 0 {
		return fmt.Sprintf("fluss: table %s (id %d) no longer exists", e.Path, e.Was)
	}
	return fmt.Sprintf("fluss: table %s was recreated: id %d, opened as %d", e.Path, e.Now, e.Was)
}
