package intentlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// The errors of a [Worker.Transport], besides those of a worker.
var (
	// ErrUnnamed says that an unsafe request came without an action in its context.
	ErrUnnamed = errors.New("request has no action: use WithAction or WithJob")
	// ErrStreaming says that a body has no known length, so that it cannot be logged.
	ErrStreaming = errors.New("a streamed body cannot be logged: give it a length")
)

// OutcomeHeader is set on responses that were rebuilt from a receipt: they say
// what is known of the effect, and are not what the wire brought just now.
const OutcomeHeader = "Intentlog-Outcome"

// HeldError is the error of a wrapped call that is held: nobody can know yet
// whether its effect exists. It must not be repeated under another action ID.
type HeldError struct{ Outcome Outcome }

func (e *HeldError) Error() string {
	return fmt.Sprintf("action %q is held (%s): %s", e.Outcome.Action, e.Outcome.Reason, e.Outcome.Message)
}

// TransportOptions are the options of [Worker.Transport]; nil and zero mean the
// defaults.
type TransportOptions struct {
	// SaveHeaders are saved with the intent and sent again by a recovery, besides
	// Content-Type and Accept. Headers that carry credentials are refused. All
	// other headers of a request go out with it, and are not there in a recovery.
	SaveHeaders []string
	// MaxBody bounds a request's body in bytes. Default and maximum:
	// intent.MaxPayload.
	MaxBody int64
	// Safe sends the requests of safe methods. Nil means http.DefaultTransport.
	Safe http.RoundTripper
}

// Transport returns a RoundTripper that makes the unsafe requests of an existing
// http.Client, or of a generated SDK, durable. Name the action in the context:
//
//	client := &http.Client{Transport: w.Transport(nil)}
//	ctx = intentlog.WithAction(ctx, "order-1729", "order-1729/charge")
//	req, err := http.NewRequestWithContext(ctx, "POST", "https://pay.example/v1/charges", body)
//	resp, err := client.Do(req)
//
// The URL must lie below the Base of one of the worker's targets; that target's
// name and the rest of the URL are saved, never the URL itself. Bodies are
// buffered up to a limit; a streamed body is [ErrStreaming]. GET, HEAD, OPTIONS
// and TRACE pass through unlogged.
//
// A response is what the service answered. One that is rebuilt from the log, after
// a reconciliation or for an action that was done before, is marked by
// [OutcomeHeader]: it has the receipt's status and body; for a rejected action it is
// a 422 that carries the reason; for one that an operator confirmed, an empty 200.
//
// A held action is a *[HeldError]. So is a 3xx or 4xx that Target.Interpret does
// not call final, since by itself it proves nothing. If the context, or
// http.Client.Timeout, ends first, the effect may exist: call again with the same
// action, or let Recover find out.
// Unsafe requests are never redirected: a redirect is an answer that proves
// nothing.
func (w *Worker) Transport(opts *TransportOptions) http.RoundTripper {
	t := &transport{w: w, bases: w.opts.Targets.bases()}
	if opts != nil {
		t.opts = *opts
	}
	if t.opts.MaxBody <= 0 || t.opts.MaxBody > intent.MaxPayload {
		t.opts.MaxBody = intent.MaxPayload
	}
	if t.opts.Safe == nil {
		t.opts.Safe = http.DefaultTransport
	}
	t.save = append([]string{"Content-Type", "Accept"}, t.opts.SaveHeaders...)
	return t
}

type transport struct {
	w     *Worker
	opts  TransportOptions
	save  []string
	bases []base
}

// named is what a context says about the action of a request.
type named struct {
	job    intent.JobID
	action intent.ActionID
	handle *Job
}

type namedKey struct{}

// WithAction names the action of the unsafe request that is sent with the
// context, as the one action of a job. The ID must be unique among all jobs, since
// the service takes it for one effect: job/charge, not charge.
func WithAction(ctx context.Context, job intent.JobID, action intent.ActionID) context.Context {
	return context.WithValue(ctx, namedKey{}, named{job: job, action: action})
}

// WithJob names the action of the unsafe request that is sent with the context,
// as the next action of a job that the caller holds.
func WithJob(ctx context.Context, j *Job, action intent.ActionID) context.Context {
	return context.WithValue(ctx, namedKey{}, named{job: j.id, action: action, handle: j})
}

// exchange carries a caller's own headers to the sender, and the live answer back.
type exchange struct {
	action intent.ActionID // the only one that it is about
	header http.Header
	status int
	answer http.Header
	body   []byte
}

type exchangeKey struct{}

// RoundTrip performs one request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return t.opts.Safe.RoundTrip(req)
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	ctx := req.Context()
	name, ok := ctx.Value(namedKey{}).(named)
	if !ok {
		return nil, fmt.Errorf("%s to %s: %w", req.Method, req.URL.Host, ErrUnnamed)
	}
	in, err := t.intent(req)
	if err != nil {
		return nil, fmt.Errorf("action %q: %w", name.action, err)
	}
	in.Action = name.action
	ex := &exchange{action: name.action, header: req.Header}
	ctx = context.WithValue(ctx, exchangeKey{}, ex)
	var out Outcome
	if name.handle != nil {
		out, err = name.handle.Do(ctx, in)
	} else {
		out, err = t.w.Do(ctx, name.job, in)
	}
	switch {
	case err != nil:
		return nil, err
	case out.Status == Held:
		return nil, &HeldError{out}
	case ex.answered(out):
		return response(req, ex.status, ex.answer, ex.body), nil
	}
	return rebuilt(req, out)
}

// answered reports whether the last answer on the wire is what the outcome rests on.
func (ex *exchange) answered(out Outcome) bool {
	switch {
	case ex.answer == nil:
		return false
	case out.Status == Confirmed:
		return out.Receipt != nil && out.Receipt.Code == ex.status && bytes.Equal(out.Receipt.Body, ex.body)
	}
	return out.Status == Rejected
}

// exchangeOf returns the exchange of the call that sends this request, or nil.
func exchangeOf(ctx context.Context, r receipt.Request) *exchange {
	if ex, ok := ctx.Value(exchangeKey{}).(*exchange); ok && ex.action == r.Intent.Action {
		return ex
	}
	return nil // an earlier action of the job is settled on the way
}

// intent makes the intent of a request.
func (t *transport) intent(req *http.Request) (in intent.Intent, err error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
	case req.ContentLength < 0 || req.ContentLength == 0:
		return in, ErrStreaming // 0 with a body means that the length is not known
	case req.ContentLength > t.opts.MaxBody:
		return in, fmt.Errorf("%w: %d bytes, at most %d", intent.ErrPayloadTooLarge, req.ContentLength, t.opts.MaxBody)
	default:
		// One byte more than was announced shows a body that is longer.
		body, err := io.ReadAll(io.LimitReader(req.Body, req.ContentLength+1))
		if err != nil {
			return in, fmt.Errorf("read body: %w", err)
		}
		if int64(len(body)) != req.ContentLength {
			return in, fmt.Errorf("body of %d bytes or more, announced as %d", len(body), req.ContentLength)
		}
		in.Payload = body
	}
	in.Route.Method = req.Method
	if in.Route.Target, in.Route.Path, err = match(t.bases, req.URL); err != nil {
		return in, err
	}
	for _, name := range t.save {
		for _, v := range req.Header.Values(name) {
			in.Route.Header = append(in.Route.Header, intent.Field{Name: http.CanonicalHeaderKey(name), Value: v})
		}
	}
	return in, nil
}

// merge adds the caller's own headers to a request that is about to be sent, but
// for those that are saved or that name the key: these the intent decides. What the
// answer is encoded by is left to net/http, so that a receipt can be read later.
func (ex *exchange) merge(req *http.Request) {
	for name, values := range ex.header {
		name = http.CanonicalHeaderKey(name)
		if _, decided := req.Header[name]; !decided && name != "Accept-Encoding" {
			req.Header[name] = slices.Clone(values)
		}
	}
}

func response(req *http.Request, status int, header http.Header, body []byte) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// rebuilt makes a response of a receipt: of a reconciliation, or of an action that
// was done before.
func rebuilt(req *http.Request, out Outcome) (*http.Response, error) {
	r := out.Receipt
	switch {
	case r != nil:
	case out.Status == Rejected:
		r = &receipt.Receipt{Code: http.StatusUnprocessableEntity, MediaType: "text/plain", Body: []byte(out.Message)}
	default:
		r = &receipt.Receipt{} // an operator's word: that the effect exists, and nothing more
	}
	status := r.Code
	if status == 0 {
		status = http.StatusOK
	}
	header := http.Header{OutcomeHeader: {out.Status.String()}}
	if r.MediaType != "" {
		header.Set("Content-Type", r.MediaType)
	}
	return response(req, status, header, r.Body), nil
}
