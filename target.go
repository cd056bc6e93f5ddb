package intentlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/receipt/httpoutcome"
)

// KeyHeader is the header that carries the action ID unless a target says otherwise.
const KeyHeader = "Idempotency-Key"

// ErrUnknownTarget is wrapped by errors about an intent that leads to no registered
// target, nor to a sender for intents without one. Nothing was logged or sent.
var ErrUnknownTarget = errors.New("target is not registered")

// Targets are the HTTP services that intents may name. The log holds the names,
// never the URLs: where a name leads is decided when the request is sent. They must
// not change while a worker has them.
type Targets map[string]Target

// Target is one HTTP service.
type Target struct {
	// Base is the absolute URL below which the intents' paths lie. Required.
	Base string
	// Auth adds credentials to a request that is about to be sent. They are never
	// saved. An error means that nothing is sent.
	Auth func(*http.Request) error
	// Contract is what the user declares about the service. The zero Contract
	// allows no second send.
	Contract receipt.Contract
	// Lookup asks what the service committed. Nil: nobody can be asked; under
	// KeyBound the same bytes are then sent again within the retention, under any
	// other contract the action is held.
	Lookup receipt.Lookup

	// KeyHeader carries the action ID. Empty means [KeyHeader]; "-" means none,
	// for a service that takes the key in the body.
	KeyHeader string
	// Key writes the action ID into the header. Nil means as it is.
	Key func(intent.ActionID) string
	// Check refuses an intent that the service could not take, such as one with a
	// key that is too long, before anything is logged or sent. Nil refuses nothing.
	Check func(intent.Intent) error
	// DeadlineHeader carries the deadline of a NotAfter contract as an HTTP date.
	// Required by that contract, unused by the others.
	DeadlineHeader string
	// AttemptHeader carries the number of the attempt, by which a Fenced service
	// tells an earlier request from a later one. Required by that contract.
	AttemptHeader string
	// Interpret says what a complete answer means. Nil means [Interpret].
	Interpret func(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer
	// Transport sends the requests, each as one wire attempt: one that makes requests
	// of its own with the same context, for a token say, is stopped. Nil means
	// http.DefaultTransport.
	Transport http.RoundTripper
	// MaxResponse bounds the response's body in bytes. Zero means 256 KiB. An
	// answer over it is a lost answer.
	MaxResponse int64
}

// check refuses a registry that could never work.
func (ts Targets) check() error {
	for name, t := range ts {
		if err := intent.CheckID("target", name); err != nil {
			return err
		}
		u, err := url.Parse(t.Base)
		switch {
		case err != nil:
			return fmt.Errorf("target %q: base is not a URL", name) // the text may hold a secret
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return fmt.Errorf("target %q: base must be an absolute http or https URL", name)
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			return fmt.Errorf("target %q: base must have no user, query or fragment; use Auth", name)
		case t.Contract.Safety == receipt.NotAfter && t.Contract.Window <= 0:
			return fmt.Errorf("target %q: a not-after contract needs a Window", name)
		case t.Contract.Safety == receipt.Fenced && t.Contract.Fence == nil:
			return fmt.Errorf("target %q: a fenced contract needs a Fence", name)
		case t.Contract.Safety == receipt.NotAfter && t.DeadlineHeader == "":
			return fmt.Errorf("target %q: a not-after contract needs a DeadlineHeader", name)
		case t.Contract.Safety == receipt.Fenced && t.AttemptHeader == "":
			return fmt.Errorf("target %q: a fenced contract needs an AttemptHeader", name)
		}
	}
	return nil
}

// service returns the parts that act on intents for the named target.
func (ts Targets) service(name string) (receipt.Service, error) {
	t, ok := ts[name]
	if !ok {
		return receipt.Service{}, fmt.Errorf("%w: %q", ErrUnknownTarget, name)
	}
	return receipt.Service{Sender: httpSender{t}, Lookup: t.Lookup, Contract: t.Contract}, nil
}

// base is where a target's URLs begin.
type base struct {
	name   string
	url    *url.URL
	prefix string // of an escaped path
}

func (ts Targets) bases() (all []base) {
	for name, t := range ts {
		if u, err := url.Parse(t.Base); err == nil { // as Open has seen to
			all = append(all, base{name, u, strings.TrimSuffix(u.EscapedPath(), "/")})
		}
	}
	return all
}

// match finds the target that a URL lies below, the longest base first, and what
// of the URL is left.
func match(bases []base, u *url.URL) (name, path string, err error) {
	best, twice := 0, false
	for _, b := range bases {
		if b.url.Scheme != u.Scheme || !strings.EqualFold(b.url.Host, u.Host) {
			continue
		}
		rest, ok := strings.CutPrefix(u.EscapedPath(), b.prefix)
		if !ok || rest != "" && rest[0] != '/' || name != "" && len(b.prefix) < best {
			continue
		}
		if rest == "" {
			rest = "/"
		}
		if u.RawQuery != "" {
			rest += "?" + u.RawQuery
		}
		twice = name != "" && len(b.prefix) == best
		name, path, best = b.name, rest, len(b.prefix)
	}
	switch {
	case twice:
		return "", "", fmt.Errorf("%w: two targets have the base for %s://%s", ErrUnknownTarget, u.Scheme, u.Host)
	case u.Opaque != "":
		return "", "", errors.New("an opaque URL cannot be saved")
	case name == "":
		return "", "", fmt.Errorf("%w: no target has a base for %s://%s", ErrUnknownTarget, u.Scheme, u.Host)
	case u.User != nil:
		return "", "", errors.New("a URL with credentials cannot be saved: use Auth")
	}
	return name, path, nil
}

// httpSender sends the saved bytes of an intent to a target, as one wire attempt.
type httpSender struct{ t Target }

func (s httpSender) Send(ctx context.Context, r receipt.Request) (receipt.Answer, error) {
	req, err := s.request(ctx, r)
	if err != nil {
		return receipt.Answer{}, fmt.Errorf("%w: %w", receipt.ErrNotSent, err)
	}
	ex := exchangeOf(ctx, r)
	if ex != nil {
		ex.answer = nil // of an earlier send
	}
	limit := s.t.MaxResponse
	if limit == 0 {
		limit = 256 << 10
	}
	res, err := httpoutcome.Do(s.t.Transport, req, limit)
	switch res.Outcome {
	case httpoutcome.NotSent:
		return receipt.Answer{}, fmt.Errorf("%w: %w", receipt.ErrNotSent, withoutURL(err))
	case httpoutcome.Unknown:
		return receipt.Answer{Reason: receipt.ReasonTransport, Err: withoutURL(err)}, nil
	}
	if ex != nil {
		ex.status, ex.answer, ex.body = res.Response.StatusCode, res.Response.Header, res.Body
	}
	interpret := s.t.Interpret
	if interpret == nil {
		interpret = Interpret
	}
	return interpret(r, res.Response.StatusCode, res.Response.Header, res.Body), nil
}

func (s httpSender) request(ctx context.Context, r receipt.Request) (*http.Request, error) {
	base := strings.TrimSuffix(s.t.Base, "/")
	req, err := http.NewRequestWithContext(ctx, r.Intent.Route.Method, base+r.Intent.Route.Path, bytes.NewReader(r.Intent.Payload))
	if err != nil {
		return nil, errors.New("the route makes no URL")
	}
	for _, f := range r.Intent.Route.Header {
		req.Header.Add(f.Name, f.Value)
	}
	key := string(r.Intent.Action)
	if s.t.Key != nil {
		key = s.t.Key(r.Intent.Action)
	}
	name := s.t.KeyHeader
	if name == "" {
		name = KeyHeader
	}
	if name != "-" {
		req.Header.Set(name, key)
	}
	if s.t.DeadlineHeader != "" && !r.NotAfter.IsZero() {
		req.Header.Set(s.t.DeadlineHeader, r.NotAfter.UTC().Format(http.TimeFormat))
	}
	if ex := exchangeOf(ctx, r); ex != nil {
		ex.merge(req)
	}
	if s.t.AttemptHeader != "" {
		req.Header.Set(s.t.AttemptHeader, strconv.Itoa(int(r.Attempt)))
	}
	if s.t.Auth != nil {
		if err := s.t.Auth(req); err != nil {
			return nil, receipt.AuthError{Err: err}
		}
	}
	return req, nil
}

// withoutURL drops the URL that net/http puts into its errors.
func withoutURL(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// Interpret is the cautious reading of a complete answer to a request that carried
// the action ID: 2xx means that the effect exists, and the answer itself is the
// receipt; 202, 409 and 425 mean that the service is at work on the key or knows it
// with other bytes, so the lookup decides; everything else, a refusal included, proves
// nothing unless a contract says so, and the lookup decides too.
func Interpret(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
	switch {
	case status == http.StatusAccepted || status == http.StatusConflict || status == http.StatusTooEarly:
		return receipt.Answer{Result: receipt.Busy, Reason: receipt.ReasonInFlight, Err: fmt.Errorf("status %d", status)}
	case status >= 200 && status < 300:
		return receipt.Answer{Result: receipt.Accepted, Receipt: Answered(r, status, header, body)}
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired:
		return receipt.Answer{Reason: receipt.ReasonAuth, Err: fmt.Errorf("status %d", status)}
	case status >= 500:
		return receipt.Answer{Reason: receipt.ReasonTransport, Err: fmt.Errorf("status %d", status)}
	}
	return receipt.Answer{Reason: receipt.ReasonRefused, Err: fmt.Errorf("status %d", status)}
}

// Answered makes a receipt of the service's own answer to the request.
func Answered(r receipt.Request, status int, header http.Header, body []byte) *receipt.Receipt {
	return &receipt.Receipt{
		Action: r.Intent.Action, Digest: r.Digest, Code: status,
		MediaType: header.Get("Content-Type"), Body: bytes.Clone(body),
	}
}
