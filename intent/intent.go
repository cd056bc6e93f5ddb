package intent

import (
	"errors"
	"fmt"
	"log/slog"
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

// Route says where a wrapped HTTP call goes. It is part of the intent: the same
// action under another route is another intent. It names a target of a registry,
// never a URL, and never holds credentials: the log is a copy of it for ever.
type Route struct {
	Method string  // an HTTP method in upper case
	Target string  // a name in the caller's registry of targets; rules of CheckID
	Path   string  // path and query below the target's base, beginning with "/"
	Header []Field // the saved headers, in order
}

// Field is one saved header line.
type Field struct{ Name, Value string }

// IsZero reports whether the route is absent.
func (r Route) IsZero() bool {
	return r.Method == "" && r.Target == "" && r.Path == "" && len(r.Header) == 0
}

// New returns an intent for a sender that knows by itself where to send.
func New(action ActionID, payload []byte) Intent { return Intent{Action: action, Payload: payload} }

// POST returns an intent to post payload to path below the named target. Its
// action ID is empty: the worker derives one from the job, or the caller sets it.
func POST(target, path string, payload []byte) Intent {
	return Intent{Route: Route{Method: "POST", Target: target, Path: path}, Payload: payload}
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
func (in Intent) Check() error {
	if err := CheckID("action id", string(in.Action)); err != nil {
		return err
	}
	if len(in.Payload) > MaxPayload {
		return fmt.Errorf("action %s: %w: %d bytes, at most %d", in.Action, ErrPayloadTooLarge, len(in.Payload), MaxPayload)
	}
	if in.Route.IsZero() {
		return nil
	}
	if err := in.Route.check(); err != nil {
		return fmt.Errorf("action %s: %w", in.Action, err)
	}
	return nil
}

// String shows the ID, the route and the payload's size, never the payload.
func (in Intent) String() string {
	if in.Route.IsZero() {
		return fmt.Sprintf("%s (%d bytes)", in.Action, len(in.Payload))
	}
	return fmt.Sprintf("%s %s %s (%d bytes)", in.Action, in.Route.Method, in.Route.Target, len(in.Payload))
}

// GoString keeps payloads out of %#v.
func (in Intent) GoString() string { return "intent.Intent{" + in.String() + "}" }

// LogValue keeps payloads out of structured logs.
func (in Intent) LogValue() slog.Value { return slog.StringValue(in.String()) }
