package receipt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// HTTPLookup asks a service that speaks the receipt protocol, by one GET.
//
//	answer                                             finding
//	200 and a committed document about the action      Committed, its receipt
//	404 and an absent document about the action        Absent
//	202 and an in-flight document about the action     InFlight
//	401, 403, 407                                      Unknown (auth)
//	408, 429, 5xx, no answer, a cut answer             Unknown (transport)
//	3xx, HTML, another version, another action,        Unknown (contract)
//	  a status that does not fit, a bare 404,
//	  too large, not JSON, anything else
type HTTPLookup struct {
	// URL is where to ask about a request. Required.
	URL func(r Request) string
	// Auth adds credentials. An error means that nobody can be asked.
	Auth func(*http.Request) error
	// Transport performs the GET. Nil means http.DefaultTransport. Redirects are
	// never followed.
	Transport http.RoundTripper
}

// Lookup asks about r.
func (l HTTPLookup) Lookup(ctx context.Context, r Request) (Finding, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL(r), nil)
	if err != nil {
		return Doubt(ReasonContract, errors.New("the lookup's URL is not one")), nil
	}
	req.Header.Set("Accept", "application/json")
	if l.Auth != nil {
		if err := l.Auth(req); err != nil {
			return Doubt(ReasonAuth, AuthError{err}), nil
		}
	}
	rt := l.Transport
	if rt == nil {
		rt = http.DefaultTransport
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return Doubt(ReasonTransport, withoutURL(err)), nil
	}
	defer resp.Body.Close()
	if reason := undocumented(resp.StatusCode); reason != ReasonNone {
		return Doubt(reason, fmt.Errorf("status %d", resp.StatusCode)), nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxReceipt+1))
	switch {
	case err != nil:
		return Doubt(ReasonTransport, fmt.Errorf("status %d: %w", resp.StatusCode, err)), nil
	case len(body) > MaxReceipt:
		return Doubt(ReasonContract, fmt.Errorf("status %d: more than %d bytes", resp.StatusCode, MaxReceipt)), nil
	}
	doc, err := parseDocument(r.Intent.Action, resp.StatusCode, resp.Header, body)
	if err != nil {
		return Doubt(ReasonContract, err), nil
	}
	switch {
	case doc.State == StateCommitted && resp.StatusCode == http.StatusOK:
		return Found(doc.receipt(resp.StatusCode, resp.Header, body)), nil
	case doc.State == StateAbsent:
		return NotFound(), nil
	case doc.State == StateInFlight && resp.StatusCode == http.StatusAccepted:
		return Pending(), nil
	}
	return Doubt(ReasonContract, fmt.Errorf("status %d with state %q in answer to a lookup", resp.StatusCode, doc.State)), nil
}

// withoutURL drops the URL that net/http puts into its errors.
func withoutURL(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}
