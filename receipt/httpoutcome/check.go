package httpoutcome

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// check refuses what net/http would refuse before it asks for a connection. It would leave no trace of that, and an attempt without a
// trace is Unknown; so a plain mistake in a request would have to be looked up at the service.
func check(req *http.Request) error {
	switch {
	case req == nil:
		return errors.New("request is nil")
	case req.URL == nil || req.URL.Host == "":
		return errors.New("request names no host")
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return fmt.Errorf("URL scheme %q is not http or https", req.URL.Scheme)
	case req.Header == nil:
		return errors.New("request has a nil header")
	case req.Method != "" && !isToken(req.Method):
		return fmt.Errorf("method %q is not a token", req.Method)
	}
	for _, fields := range []http.Header{req.Header, req.Trailer} {
		for name, values := range fields {
			if !isToken(name) {
				return fmt.Errorf("header field name %q is not a token", name)
			}
			for _, value := range values {
				if strings.IndexFunc(value, isControl) >= 0 {
					return fmt.Errorf("header field %q has a control character in its value", name)
				}
			}
		}
	}
	return req.Context().Err()
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// isToken is the token of RFC 9110 section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
