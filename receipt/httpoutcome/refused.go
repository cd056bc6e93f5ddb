package httpoutcome

import (
	"errors"
	"strings"
)

// What net/http's HTTP/2 client says when a peer has promised that it did not process a stream. RFC 9113 section 8.7: "The
// REFUSED_STREAM error code [...] indicates that the stream is being closed prior to any processing having occurred"; section 6.8:
// streams above the last stream identifier of a GOAWAY were not and will not be processed, and that identifier never grows.
//
// These are compared as text because the transport leaves no type: having no GetBody to retry with, it flattens the cause.
// A release of Go that words them otherwise makes them Unknown, which is safe, and our table of faults fails.
const (
	cannotRetryPrefix = "http2: Transport: cannot retry err ["
	cannotRetrySuffix = "] after Request.Body was written; define Request.GetBody to avoid this error"
	goAwayGraceful    = "http2: Transport received Server's graceful shutdown GOAWAY"
	// Only said of stream 1 when the GOAWAY carries an error code, and only when the stream is above the last identifier.
	goAwayFirst    = "http2: Transport received GOAWAY from server ErrCode:"
	streamPrefix   = "stream error: stream ID "
	refusedSuffix  = "; REFUSED_STREAM; received from peer"
	streamIDDigits = "0123456789"
)

// notProcessed reports whether err proves that the HTTP/2 peer did not process the only stream that was opened.
// Whole texts are compared, never parts: what a peer writes into a GOAWAY must not be able to look like a promise.
func notProcessed(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		text := err.Error()
		if strings.HasPrefix(text, goAwayFirst) {
			return true
		}
		if inner, ok := strings.CutPrefix(text, cannotRetryPrefix); ok {
			if text, ok = strings.CutSuffix(inner, cannotRetrySuffix); !ok {
				continue
			}
		}
		if text == goAwayGraceful {
			return true
		}
		if id, ok := strings.CutPrefix(text, streamPrefix); ok {
			if id, ok = strings.CutSuffix(id, refusedSuffix); ok && id != "" && strings.Trim(id, streamIDDigits) == "" {
				return true
			}
		}
	}
	return false
}
