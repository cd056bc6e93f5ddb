package intent_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

// S10: what users print while they look for a fault must not show payloads.
func TestNothingPrintsPayloads(t *testing.T) {
	const secret = "4111-1111-1111-1111"
	in := intent.POST("payments", "/v1", []byte(secret)).WithAction("pay")
	tp := play(A1.claim(), A1.compute("sum"), A1.computed("sum", secret), A1.request("pay", secret),
		detail(A1.confirm("pay", secret), strings.Replace(receipt("pay", secret), "201", `"`+secret+`"`, 1)))
	h, err := tp.fold()
	require.NoError(t, err)
	require.Contains(t, h.Actions[0].Detail, secret)
	require.Contains(t, h.Actions[0].Receipt, secret)
	require.Contains(t, h.Results[0].Result, secret)

	for name, v := range map[string]any{
		"intent": in, "intent_pointer": &in, "intents": []intent.Intent{in}, "in_a_struct": struct{ In intent.Intent }{in},
		"event": tp.events[3], "event_pointer": &tp.events[3], "events": tp.events, "event_map": map[string]intent.Event{"a": tp.events[3]},
		"action": h.Actions[0], "action_pointer": &h.Actions[0], "actions": h.Actions,
		"computation": h.Results[0], "history": *h, "history_pointer": h,
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
				require.NotContains(t, fmt.Sprintf(verb, v), secret, verb)
			}
			var out bytes.Buffer
			slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v)
			require.NotContains(t, out.String(), secret)
		})
	}
	for name, v := range map[string]any{
		"intent": in, "event": &tp.events[3], "action": h.Actions[0], "computation": h.Results[0], "history": h,
	} {
		t.Run("json_log/"+name, func(t *testing.T) {
			var out bytes.Buffer
			slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v)
			require.NotContains(t, out.String(), secret)
		})
	}
	require.Equal(t, `pay POST payments (19 bytes)`, in.String())
	require.Equal(t, `pay (1 bytes)`, intent.New("pay", []byte("x")).String())
}

// S9: an event that was refused may still be printed.
func TestForeignEventsPrintSafely(t *testing.T) {
	ev := intent.Event{JobID: "\x1b[2J", EventID: "\x1b[2J", Type: "\x1b[2J", ActionID: "\x1b[2J"}
	require.NotContains(t, ev.String(), "\x1b")
	err := (&intent.History{}).Fold(&ev, intent.Mark{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\x1b")
}
