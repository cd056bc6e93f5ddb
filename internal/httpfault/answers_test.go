package httpfault

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/faultproxy"
	"github.com/intentlog/intentlog/internal/invariant"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
)

// document is an answer of the receipt protocol about the action.
func document(t *testing.T, status string, state receipt.State) faultproxy.Action {
	t.Helper()
	body, err := json.Marshal(receipt.Document{Contract: receipt.DocumentVersion, Action: action, State: state})
	require.NoError(t, err)
	return whole(status, "application/json", string(body))
}

func TestAnAnswerOf409InProgressIsWaitedForAndThenReconciled(t *testing.T) {
	w := newWorld(t)
	answers := 0
	w.proxy.SetHook(func(f faultproxy.Frame) faultproxy.Action {
		if !f.Response {
			return faultproxy.Action{}
		}
		switch answers++; answers {
		case 1: // the service has the effect, and says that it is still at work
			return document(t, "409 Conflict", receipt.StateInFlight)
		case 2, 3: // so does its lookup
			return document(t, "202 Accepted", receipt.StateInFlight)
		}
		return faultproxy.Action{}
	})
	l := w.open(20*time.Second, 20*time.Second)
	out := l.do()
	require.Equal(t, intentlog.Reconciled, out.Status, "%+v", out)
	require.Equal(t, 1, out.Sends)
	require.Equal(t, 4, answers)
	require.Equal(t, 1, w.effects())
	require.NoError(t, l.Close())
	w.judge()
}

func TestAnAnswerOf409InProgressThatNeverEndsIsHeld(t *testing.T) {
	w := newWorld(t)
	w.proxy.SetHook(func(f faultproxy.Frame) faultproxy.Action {
		switch {
		case f.Response && f.N == 1:
			return document(t, "409 Conflict", receipt.StateInFlight)
		case f.Response:
			return document(t, "202 Accepted", receipt.StateInFlight)
		}
		return faultproxy.Action{}
	})
	l := w.open(20*time.Second, 50*time.Millisecond)
	out := l.do()
	require.Equal(t, intentlog.Held, out.Status, "%+v", out)
	require.Equal(t, receipt.ReasonInFlight, out.Reason)
	require.Equal(t, 1, out.Sends)
	require.NoError(t, l.Close())
}

func TestAnAnswerOf422IsFinalOnlyByTheContract(t *testing.T) {
	refused := intent.POST("tickets", "/followups", []byte("not JSON")).WithAction(action)
	for _, c := range []struct {
		why       string
		interpret interpreter
		status    recovery.Status
		reason    receipt.Reason
		sends     int
	}{
		{"the receipt protocol says that a rejected document is final", receipt.Interpret, intentlog.Rejected, receipt.ReasonRefused, 1},
		{"a bare status proves nothing, so the key is replayed a bounded number of times", intentlog.Interpret, intentlog.Held, receipt.ReasonAttempts, 3},
	} {
		w := newWorld(t)
		w.interpret = c.interpret
		l := w.open(20*time.Second, time.Second)
		out, err := l.Do(t.Context(), job, refused)
		require.NoError(t, err)
		got := fmt.Sprintf("%s %s %d", out.Status, out.Reason, out.Sends)
		require.Equal(t, fmt.Sprintf("%s %s %d", c.status, c.reason, c.sends), got, c.why)
		require.Zero(t, w.effects())
		again, err := l.Do(t.Context(), job, refused)
		require.NoError(t, err)
		require.Equal(t, out.Status, again.Status)
		require.Zero(t, again.Sends, "what is settled or held is not sent again")
		require.NoError(t, l.Close())
	}
}

// TestAServiceThatForgetsKeysShowsAsADoubledEffect is about the verdict: it can fail.
func TestAServiceThatForgetsKeysShowsAsADoubledEffect(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.ledger.IgnoreKeys())
	later := make(chan struct{})
	w.proxy.SetHook(func(f faultproxy.Frame) faultproxy.Action {
		if post(f) {
			return faultproxy.Action{Hold: later, Cut: true}
		}
		return faultproxy.Action{Drop: true, Cut: true}
	})
	first := w.open(20*time.Second, time.Second)
	require.Equal(t, intentlog.Held, first.do().Status)
	require.NoError(t, first.Close())
	w.proxy.SetHook(nil)
	second := w.open(20*time.Second, time.Second)
	_, err := second.Recover(t.Context())
	require.NoError(t, err)
	require.NoError(t, second.Close())
	close(later)
	w.arrived(first.who, 1)
	require.Equal(t, 2, w.effects())
	require.ErrorContains(t, invariant.OneEffect(w.trace()), "I1: second effect")
}
