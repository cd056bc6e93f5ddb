package intent

import (
	"fmt"
	"log/slog"
)

// Everything that holds a payload, a result or a receipt prints itself by name and
// size, so that no log line of ours or of a user's has what is inside.

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

// String names the event without its detail, which may hold a payload.
func (e Event) String() string {
	return fmt.Sprintf("%q %q action=%q detail=%d bytes", e.EventID, e.Type, e.ActionID, len(e.Detail))
}

// GoString keeps payloads out of %#v too.
func (e Event) GoString() string { return "intent.Event{" + e.String() + "}" }

// LogValue keeps payloads out of structured logs.
func (e Event) LogValue() slog.Value { return slog.StringValue(e.String()) }

// String names the action and its state, never the payload or the receipt.
func (a Action) String() string {
	return fmt.Sprintf("%s %s (detail %d bytes, receipt %d bytes)", a.ID, a.Status, len(a.Detail), len(a.Receipt))
}

// GoString keeps payloads out of %#v.
func (a Action) GoString() string { return "intent.Action{" + a.String() + "}" }

// LogValue keeps payloads out of structured logs.
func (a Action) LogValue() slog.Value { return slog.StringValue(a.String()) }

// String names the computation, never its result.
func (c Computation) String() string {
	return fmt.Sprintf("%q (%d bytes)", c.Name, len(c.Result)+len(c.Base64))
}

// GoString keeps results out of %#v.
func (c Computation) GoString() string { return "intent.Computation{" + c.String() + "}" }

// LogValue keeps results out of structured logs.
func (c Computation) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String names the job, its claim and its actions.
func (h History) String() string {
	return fmt.Sprintf("job %q attempt %d of %s, done %t, actions %v", h.Job, h.Attempt, h.Owner, h.Done, h.Actions)
}

// GoString keeps payloads out of %#v.
func (h History) GoString() string { return "intent.History{" + h.String() + "}" }

// LogValue keeps payloads out of structured logs.
func (h History) LogValue() slog.Value { return slog.StringValue(h.String()) }
