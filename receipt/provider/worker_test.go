package provider_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/receipt/provider"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store/memstore"
)

const (
	job     = intent.JobID("order-1")
	action  = intent.ActionID("order-1/charge")
	payload = `{"amount":1799,"idempotency_key":"order-1/charge"}`
)

// open starts a life of the worker over the fake, with the profile p.
func open(t *testing.T, f *fake, p provider.Profile, st *memstore.Store, limits recovery.Limits, lookup receipt.Lookup) *intentlog.Worker {
	t.Helper()
	limits.Backoff = time.Millisecond
	limits.InFlight = time.Millisecond
	w, err := intentlog.Open(t.Context(), st, "billing-0", &intentlog.Options{Limits: limits, Targets: intentlog.Targets{"pay": {
		Base: f.url, Lookup: lookup,
		KeyHeader: p.KeyHeader, Key: p.Key, Check: p.Check, Contract: p.Contract, Interpret: p.Interpret,
	}}})
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

func charge(body string) intent.Intent {
	return intent.POST("pay", "/v1/charges", []byte(body)).WithAction(action)
}

// each runs a test over every dialect, with a log that shares the fake's clock.
// published gives the providers without a retention the one that the fake has.
func each(t *testing.T, published bool, test func(t *testing.T, f *fake, p provider.Profile, st *memstore.Store)) {
	for _, d := range dialects() {
		t.Run(d.profile.Name, func(t *testing.T) {
			f := newFake(t, d)
			p := d.profile
			if published && p.Contract.Retention == 0 {
				p.Contract = receipt.Contract{Safety: receipt.KeyBound, Retention: 24 * time.Hour}
				f.retention = 24 * time.Hour
			}
			test(t, f, p, memstore.NewWith(1, &memstore.Options{NowMS: f.nowMS}))
		})
	}
}

func TestLostAnswerIsAskedByReplayingTheKey(t *testing.T) {
	each(t, true, func(t *testing.T, f *fake, p provider.Profile, st *memstore.Store) {
		f.set(1, false)
		out, err := open(t, f, p, st, recovery.Limits{}, nil).Do(t.Context(), job, charge(payload))
		require.NoError(t, err)
		require.Equal(t, intentlog.Confirmed, out.Status, out.Message)
		require.Equal(t, 2, out.Sends)
		effects, keys := f.seen()
		require.Equal(t, []string{payload}, effects)
		require.Equal(t, []string{string(action), string(action)}, keys)
	})
}

func TestLostAnswerIsHeldWhereNoRetentionIsPublished(t *testing.T) {
	for _, name := range []string{"square", "generic"} {
		for _, d := range dialects() {
			if d.profile.Name != name {
				continue
			}
			f := newFake(t, d)
			f.set(1, false)
			out, err := open(t, f, d.profile, memstore.New(1), recovery.Limits{}, nil).Do(t.Context(), job, charge(payload))
			require.NoError(t, err)
			require.Equal(t, intentlog.Held, out.Status)
			effects, keys := f.seen()
			require.Len(t, effects, 1)
			require.Len(t, keys, 1, "nothing is sent twice")
		}
	}
}

func TestLostAnswerIsReconciledByTheUsersLookup(t *testing.T) {
	each(t, false, func(t *testing.T, f *fake, p provider.Profile, st *memstore.Store) {
		lookup := receipt.LookupFunc(func(_ context.Context, r receipt.Request) (receipt.Finding, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if e := f.kept[string(r.Intent.Action)]; e != nil {
				return receipt.Found(&receipt.Receipt{Action: r.Intent.Action, Digest: intent.DigestOf([]byte(e.payload))}), nil
			}
			return receipt.NotFound(), nil
		})
		f.set(1, false)
		out, err := open(t, f, p, st, recovery.Limits{}, lookup).Do(t.Context(), job, charge(payload))
		require.NoError(t, err)
		require.Equal(t, intentlog.Reconciled, out.Status)
		effects, keys := f.seen()
		require.Len(t, effects, 1)
		require.Len(t, keys, 1)
	})
}

func TestRequestUnderWayIsAskedAgainUntilItEnds(t *testing.T) {
	each(t, true, func(t *testing.T, f *fake, p provider.Profile, st *memstore.Store) {
		f.set(0, true)
		out, err := open(t, f, p, st, recovery.Limits{}, nil).Do(t.Context(), job, charge(payload))
		require.NoError(t, err)
		require.Equal(t, intentlog.Confirmed, out.Status, out.Message)
		require.Equal(t, 3, out.Sends, "lost, busy, and the first answer again")
		effects, _ := f.seen()
		require.Len(t, effects, 1)
	})
}

func TestRetentionShorterThanTheIntentsAgeStopsTheRetry(t *testing.T) {
	each(t, true, func(t *testing.T, f *fake, p provider.Profile, st *memstore.Store) {
		ctx := t.Context()
		f.set(1, false)
		w := open(t, f, p, st, recovery.Limits{MaxSends: 1}, nil)
		out, err := w.Do(ctx, job, charge(payload))
		require.NoError(t, err)
		require.Equal(t, intentlog.Held, out.Status)
		require.NoError(t, w.Close())

		f.advance(p.Contract.Retention + time.Second)
		w = open(t, f, p, st, recovery.Limits{}, nil)
		report, err := w.Recover(ctx)
		require.NoError(t, err)
		require.Equal(t, intentlog.Held, report.Outcomes[0].Status)
		require.Equal(t, receipt.ReasonRetention, report.Outcomes[0].Reason)
		effects, keys := f.seen()
		require.Len(t, effects, 1)
		require.Len(t, keys, 1)

		// What was avoided: to the provider this is a new request.
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, strings.NewReader(payload))
		require.NoError(t, err)
		key := string(action)
		if p.Key != nil {
			key = p.Key(action)
		}
		if p.KeyHeader != "" {
			req.Header.Set(p.KeyHeader, key)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		effects, _ = f.seen()
		require.Len(t, effects, 2)
	})
}

func TestRetryInsideTheRetentionMakesOneEffect(t *testing.T) {
	each(t, true, func(t *testing.T, f *fake, p provider.Profile, st *memstore.Store) {
		ctx := t.Context()
		f.set(1, false)
		w := open(t, f, p, st, recovery.Limits{MaxSends: 1}, nil)
		_, err := w.Do(ctx, job, charge(payload))
		require.NoError(t, err)
		require.NoError(t, w.Close())

		f.advance(p.Contract.Retry() - time.Second)
		report, err := open(t, f, p, st, recovery.Limits{}, nil).Recover(ctx)
		require.NoError(t, err)
		require.Equal(t, intentlog.Confirmed, report.Outcomes[0].Status)
		effects, keys := f.seen()
		require.Equal(t, []string{payload}, effects)
		require.Len(t, keys, 2)
	})
}

func TestKeyThatSomebodyUsedForOtherBytesIsHeld(t *testing.T) {
	each(t, true, func(t *testing.T, f *fake, p provider.Profile, st *memstore.Store) {
		if f.mismatch.status == 0 || p.Name == "generic" {
			t.Skip("not documented by this provider")
		}
		f.kept[string(action)] = &entry{payload: "other", at: f.now}
		out, err := open(t, f, p, st, recovery.Limits{}, nil).Do(t.Context(), job, charge(payload))
		require.NoError(t, err)
		require.Equal(t, intentlog.Held, out.Status)
		require.Equal(t, receipt.ReasonConflict, out.Reason)
		effects, keys := f.seen()
		require.Empty(t, effects)
		require.Len(t, keys, 1)
	})
}

func TestKeyThatTheProviderCannotTakeIsRefusedBeforeAnythingIsLogged(t *testing.T) {
	each(t, false, func(t *testing.T, f *fake, p provider.Profile, st *memstore.Store) {
		if p.MaxKey == 0 || p.MaxKey >= intent.MaxIDLength {
			t.Skip("takes every action ID")
		}
		w := open(t, f, p, st, recovery.Limits{}, nil)
		long := intent.ActionID(strings.Repeat("x", p.MaxKey+1))
		body := strings.Replace(payload, string(action), string(long), 1)
		_, err := w.Do(t.Context(), job, intent.POST("pay", "/v1/charges", []byte(body)).WithAction(long))
		require.ErrorIs(t, err, provider.ErrKey)
		bound, err := st.Bound(t.Context(), 0)
		require.NoError(t, err)
		require.Zero(t, bound.End, "nothing was logged")
		_, keys := f.seen()
		require.Empty(t, keys)

		fits := long[1:]
		body = strings.Replace(payload, string(action), string(fits), 1)
		out, err := w.Do(t.Context(), job, intent.POST("pay", "/v1/charges", []byte(body)).WithAction(fits))
		require.NoError(t, err)
		require.Equal(t, intentlog.Confirmed, out.Status, "the job is as fresh as before")
	})
}
