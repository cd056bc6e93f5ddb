package receipt_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

var (
	payload = []byte(`{"n":1}`)
	req     = receipt.Request{Job: "job", Intent: intent.New("job/1", payload), Digest: intent.DigestOf(payload), Attempt: 1}
	fits    = receipt.Receipt{Action: "job/1", Digest: intent.DigestOf(payload)}
)

// misfits are receipts that are not about the request.
func misfits() map[string]*receipt.Receipt {
	change := func(fn func(*receipt.Receipt)) *receipt.Receipt {
		r := fits
		fn(&r)
		return &r
	}
	return map[string]*receipt.Receipt{
		"none":           nil,
		"another action": change(func(r *receipt.Receipt) { r.Action = "job/2" }),
		"another digest": change(func(r *receipt.Receipt) { r.Digest = intent.DigestOf(nil) }),
		"no digest":      change(func(r *receipt.Receipt) { r.Digest = "" }),
		"too large":      change(func(r *receipt.Receipt) { r.Body = make([]byte, receipt.MaxReceipt+1) }),
	}
}

func TestAskReturnsAFindingThatHoldsTogether(t *testing.T) {
	boom := errors.New("boom")
	type answer struct {
		f   receipt.Finding
		err error
	}
	for name, row := range map[string]struct {
		in     answer
		kind   receipt.Kind
		reason receipt.Reason
	}{
		"the zero finding":            {answer{}, receipt.Unknown, receipt.ReasonUnreported},
		"committed":                   {answer{f: receipt.Found(&fits)}, receipt.Committed, ""},
		"absent":                      {answer{f: receipt.NotFound()}, receipt.Absent, ""},
		"in flight":                   {answer{f: receipt.Pending()}, receipt.InFlight, ""},
		"absent with an error":        {answer{receipt.NotFound(), boom}, receipt.Unknown, receipt.ReasonTransport},
		"committed with an error":     {answer{receipt.Found(&fits), boom}, receipt.Unknown, receipt.ReasonTransport},
		"a reason and an error":       {answer{receipt.Doubt(receipt.ReasonAuth, nil), boom}, receipt.Unknown, receipt.ReasonAuth},
		"a kind that there is not":    {answer{f: receipt.Finding{Kind: 9}}, receipt.Unknown, receipt.ReasonContract},
		"absent with a receipt":       {answer{f: receipt.Finding{Kind: receipt.Absent, Receipt: &fits, Reason: "x"}}, receipt.Absent, ""},
		"a word of the user's":        {answer{f: receipt.Doubt("maintenance", boom)}, receipt.Unknown, "maintenance"},
		"a text in place of a word":   {answer{f: receipt.Doubt("down\n\x1b[31m", boom)}, receipt.Unknown, receipt.ReasonUnreported},
		"a reason that is recovery's": {answer{f: receipt.Doubt(receipt.ReasonHistory, boom)}, receipt.Unknown, receipt.ReasonUnreported},
	} {
		t.Run(name, func(t *testing.T) {
			f := receipt.Ask(t.Context(), receipt.LookupFunc(func(context.Context, receipt.Request) (receipt.Finding, error) {
				return row.in.f, row.in.err
			}), req)
			require.Equal(t, row.kind, f.Kind)
			require.Equal(t, row.reason, f.Reason)
			require.Equal(t, row.kind == receipt.Committed, f.Receipt != nil)
		})
	}
	for name, r := range misfits() {
		f := receipt.Ask(t.Context(), receipt.LookupFunc(func(context.Context, receipt.Request) (receipt.Finding, error) {
			return receipt.Found(r), nil
		}), req)
		require.Equal(t, receipt.ReasonReceipt, f.Reason, name)
		require.Equal(t, receipt.Unknown, f.Kind, name)
		require.ErrorIs(t, f.Err, receipt.ErrBadReceipt, name)
	}
	require.Equal(t, receipt.ReasonNoLookup, receipt.Ask(t.Context(), nil, req).Reason)
	require.Equal(t, receipt.ReasonPanic, receipt.Ask(t.Context(), receipt.LookupFunc(nil), req).Reason)
}

func TestAskEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := receipt.Ask(ctx, receipt.LookupFunc(func(context.Context, receipt.Request) (receipt.Finding, error) {
			<-release // deaf to its context
			return receipt.NotFound(), nil
		}), req)
		require.Equal(t, receipt.ReasonTransport, f.Reason)
		require.ErrorIs(t, f.Err, context.DeadlineExceeded)
		close(release)
	})
}

func TestSendReturnsAnAnswerThatHoldsTogether(t *testing.T) {
	send := func(a receipt.Answer, err error) receipt.Answer {
		return receipt.Send(t.Context(), receipt.SenderFunc(func(context.Context, receipt.Request) (receipt.Answer, error) { return a, err }), req)
	}
	require.Equal(t, receipt.Accepted, send(receipt.Answer{Result: receipt.Accepted, Receipt: &fits}, nil).Result)
	require.Equal(t, receipt.Refused, send(receipt.Answer{Result: receipt.Refused}, nil).Result)
	require.Equal(t, receipt.Lost, send(receipt.Answer{}, nil).Result)
	require.Equal(t, receipt.Lost, send(receipt.Answer{Result: receipt.Accepted, Receipt: &fits}, errors.New("x")).Result)
	require.Equal(t, receipt.Lost, send(receipt.Answer{Result: receipt.Refused}, errors.New("x")).Result)
	require.Equal(t, receipt.Lost, send(receipt.Answer{Result: 9}, nil).Result)
	require.Equal(t, receipt.Unsent, send(receipt.Answer{}, fmt.Errorf("dial: %w", receipt.ErrNotSent)).Result)
	require.Equal(t, receipt.Unsent, receipt.Send(t.Context(), nil, req).Result)
	panics := receipt.Send(t.Context(), receipt.SenderFunc(func(context.Context, receipt.Request) (receipt.Answer, error) { panic("x") }), req)
	require.Equal(t, receipt.Answer{Reason: receipt.ReasonPanic, Err: panics.Err}, panics, "it may have sent")
	for name, r := range misfits() {
		a := send(receipt.Answer{Result: receipt.Accepted, Receipt: r}, nil)
		require.Equal(t, receipt.Lost, a.Result, name)
		require.Equal(t, receipt.ReasonReceipt, a.Reason, name)
		require.Nil(t, a.Receipt, name)
	}
}

func TestMessagesAreShortAndHarmless(t *testing.T) {
	f := receipt.Doubt(receipt.ReasonTransport, errors.New("a\nb\x1b[31m\u0085\xff"+strings.Repeat("ü", 400)))
	require.LessOrEqual(t, len(f.Message()), 256)
	require.True(t, strings.HasPrefix(f.Message(), "a?b?[31m??ü"), f.Message())
	require.Empty(t, receipt.Finding{}.Message())
	require.Equal(t, "boom", receipt.Answer{Err: errors.New("boom")}.Message())
}

func TestContractArithmetic(t *testing.T) {
	const day = 24 * time.Hour
	for _, row := range []struct {
		c    receipt.Contract
		want time.Duration
		why  string
	}{
		{receipt.Contract{}, 0, "no retention is no retry"},
		{receipt.Contract{Retention: 10 * day}, 9 * day, "a tenth is the margin"},
		{receipt.Contract{Retention: 10 * day, Margin: day / 24}, 10*day - day/24, "the stated margin"},
		{receipt.Contract{Retention: day, Margin: 2 * day}, 0, "a margin over the retention"},
		{receipt.Contract{Retention: -day}, 0, "less than nothing"},
		{receipt.Contract{Retention: 10 * day, Margin: -day}, 9 * day, "a margin never adds"},
		{receipt.Contract{Retention: receipt.Forever}, receipt.Forever, "for ever"},
		{receipt.Contract{Retention: receipt.Forever, Margin: day}, receipt.Forever, "for ever, whatever the margin"},
		{receipt.Contract{Retention: receipt.Forever - 1, Margin: 1}, receipt.Forever - 2, "no overflow"},
	} {
		require.Equal(t, row.want, row.c.Retry(), row.why)
	}
	require.Equal(t, time.Minute, receipt.Contract{}.SkewOrDefault())
	require.Equal(t, time.Minute, receipt.Contract{Skew: -time.Hour}.SkewOrDefault())
	require.Equal(t, time.Second, receipt.Contract{Skew: time.Second}.SkewOrDefault())
}
