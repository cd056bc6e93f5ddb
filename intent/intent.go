package intent

import (
	"errors"
	"fmt"
	"slices"
)

// MaxPayload is the largest payload of an intent in bytes.
const MaxPayload = 1 << 20

// ErrPayloadTooLarge is wrapped by errors about a payload over [MaxPayload].
var ErrPayloadTooLarge = errors.New("payload too large")

// Intent is one effect that is wanted from another service. The caller owns
// Payload and must not change it while the Intent is in use.
type Intent struct {
	Action  ActionID // stable over attempts; the other service's idempotency key
	Route   Route    // where to send; zero where the sender knows by itself
	Payload []byte   // the body that the other service sees, never rewritten
}

// New returns an intent for a sender that knows by itself where to send.
func New(action ActionID, payload []byte) Intent { return Intent{Action: action, Payload: payload} }

// POST returns an intent to post payload to path below the named target, with no
// headers saved: see [Intent.WithHeader]. Its action ID is empty: the worker derives one from the job, or the caller sets it.
func POST(target, path string, payload []byte) Intent {
	return Intent{Route: Route{Method: "POST", Target: target, Path: path}, Payload: payload}
}

// WithHeader returns a copy of the intent that saves one more header line, such as
// a Content-Type. A header that carries credentials is refused when the intent is
// logged: those are added when it is sent.
func (in Intent) WithHeader(name, value string) Intent {
	in.Route.Header = append(slices.Clone(in.Route.Header), Field{Name: name, Value: value})
	return in
}

// WithAction returns a copy of the intent under another action ID.
func (in Intent) WithAction(id ActionID) Intent {
	in.Action = id
	return in
}

// Digest returns the SHA-256 of the payload.
func (in Intent) Digest() Digest { return DigestOf(in.Payload) }

// Check reports whether the intent can be logged: the ID and the route follow
// their rules, the payload is within [MaxPayload].
func (in Intent) Check() error { return in.check(len(in.Payload)) }

func (in Intent) check(size int) error {
	if err := CheckID("action id", string(in.Action)); err != nil {
		return err
	}
	if size > MaxPayload {
		return fmt.Errorf("action %s: %w: %d bytes, at most %d", in.Action, ErrPayloadTooLarge, size, MaxPayload)
	}
	if in.Route.IsZero() {
		return nil
	}
	if err := in.Route.check(); err != nil {
		return fmt.Errorf("action %s: %w", in.Action, err)
	}
	return nil
}
