package receipttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/receipt/httpoutcome"
)

// DocumentOptions are the options of [Document]; nil and zero mean the defaults.
type DocumentOptions struct {
	// Auth adds credentials. If it is set, the lookup without it becomes the
	// Service's Anonymous.
	Auth func(*http.Request) error
	// KeyHeader carries the action ID. Empty means Idempotency-Key.
	KeyHeader string
	// ContentType of the payloads. Empty means application/json.
	ContentType string
	// Transport performs the requests. Nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Handler, if set, takes the requests in this process instead of Transport.
	Handler http.Handler
}

// Document describes a service that speaks the receipt protocol of package receipt:
// requests are posted to the URL effects, and the lookup of an action is a GET of its
// ID below the URL receipts. The hooks of the result are the caller's to set.
func Document(effects, receipts string, opts *DocumentOptions) Service {
	var o DocumentOptions
	if opts != nil {
		o = *opts
	}
	if o.KeyHeader == "" {
		o.KeyHeader = "Idempotency-Key"
	}
	if o.ContentType == "" {
		o.ContentType = "application/json"
	}
	if o.Handler != nil {
		o.Transport = inProcess{o.Handler}
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	lookup := receipt.HTTPLookup{
		URL: func(r receipt.Request) string {
			return strings.TrimSuffix(receipts, "/") + "/" + string(r.Intent.Action)
		},
		Auth:      o.Auth,
		Transport: o.Transport,
	}
	svc := Service{Name: effects, Lookup: lookup, Sender: receipt.SenderFunc(o.sender(effects))}
	if o.Auth != nil {
		lookup.Auth = nil
		svc.Anonymous = lookup
	}
	return svc
}

func (o DocumentOptions) sender(url string) func(context.Context, receipt.Request) (receipt.Answer, error) {
	return func(ctx context.Context, r receipt.Request) (receipt.Answer, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(r.Intent.Payload))
		if err != nil {
			return receipt.Answer{}, fmt.Errorf("%w: the URL is not one", receipt.ErrNotSent)
		}
		req.Header.Set("Content-Type", o.ContentType)
		req.Header.Set(o.KeyHeader, string(r.Intent.Action))
		if o.Auth != nil {
			if err := o.Auth(req); err != nil {
				return receipt.Answer{}, fmt.Errorf("%w: auth: %w", receipt.ErrNotSent, err)
			}
		}
		res, err := httpoutcome.Do(o.Transport, req, receipt.MaxReceipt)
		switch res.Outcome {
		case httpoutcome.Answered:
			return receipt.Interpret(r, res.Response.StatusCode, res.Response.Header, res.Body), nil
		case httpoutcome.NotSent:
			return receipt.Answer{}, fmt.Errorf("%w: %w", receipt.ErrNotSent, err)
		}
		return receipt.Answer{Reason: receipt.ReasonTransport, Err: err}, nil
	}
}

// inProcess performs requests on a handler, each in a goroutine of its own, as a
// server does: a caller that gives up does not end it.
type inProcess struct{ h http.Handler }

func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		defer req.Body.Close()
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	in := httptest.NewRequestWithContext(context.WithoutCancel(req.Context()), req.Method, req.URL.String(), bytes.NewReader(body))
	in.Header = req.Header.Clone()
	done := make(chan *http.Response, 1)
	go func() {
		defer close(done) // without an answer, if the handler panicked
		defer func() { _ = recover() }()
		w := httptest.NewRecorder()
		t.h.ServeHTTP(w, in)
		resp := w.Result()
		resp.ContentLength, resp.Request = int64(w.Body.Len()), req
		done <- resp
	}()
	select {
	case resp, ok := <-done:
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
		return resp, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}
