package intentlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

var (
	payOne = intent.POST("pay", "/v1/charges", []byte(`{"amount":1}`))
	payTwo = intent.POST("pay", "/v1/charges", []byte(`{"amount":2}`))
)

// counted counts the calls of a store and lets a test stand in for an append.
type counted struct {
	store.Store
	calls  atomic.Int64
	append func(ctx context.Context, events []intent.Event, do func() (int64, error)) (int64, error)
}

func (c *counted) Append(ctx context.Context, b int, events []intent.Event) (int64, error) {
	c.calls.Add(1)
	do := func() (int64, error) { return c.Store.Append(context.WithoutCancel(ctx), b, events) }
	if c.append != nil {
		return c.append(ctx, events, do)
	}
	return do()
}

func (c *counted) Bound(ctx context.Context, b int) (store.Bound, error) {
	c.calls.Add(1)
	return c.Store.Bound(ctx, b)
}

func (c *counted) Read(ctx context.Context, b int, from, to int64, fn func(*store.Record) error) error {
	c.calls.Add(1)
	return c.Store.Read(ctx, b, from, to, fn)
}

func open(t *testing.T, st store.Store, name string, opts *intentlog.Options) *intentlog.Worker {
	t.Helper()
	w, err := intentlog.Open(t.Context(), st, name, opts)
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

func TestPayloadMismatchComesBeforeAnyIO(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	l.drop, l.down = true, true
	log := memstore.New(1)
	out, err := open(t, log, "w", options(l, url)).Do(ctx, "order", payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Held, out.Status)
	l.drop, l.down = false, false

	st := &counted{Store: log.Reopen()}
	w := open(t, st, "w", options(l, url)) // the next life, which has not recovered
	st.calls.Store(0)
	_, err = w.Do(ctx, "order", payTwo)
	require.ErrorIs(t, err, intentlog.ErrPayloadMismatch)
	_, err = w.Do(ctx, "order", intent.POST("pay", "/v1/refunds", payOne.Payload))
	require.ErrorIs(t, err, intentlog.ErrPayloadMismatch, "another route is another request")
	_, err = w.Do(ctx, "order", intent.POST("pay", "no path", nil))
	require.ErrorIs(t, err, intent.ErrBadRoute)
	require.Zero(t, st.calls.Load())
	require.Equal(t, 1, l.posts)
	out, err = w.Do(ctx, "order", payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Reconciled, out.Status, "settled by the way")
	require.Equal(t, 1, l.posts)
}

func TestBusyAndClosed(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	opts := options(l, url)
	inside, release := make(chan struct{}, 2), make(chan struct{})
	target := opts.Targets["pay"]
	target.Lookup = receipt.LookupFunc(func(context.Context, receipt.Request) (receipt.Finding, error) {
		inside <- struct{}{}
		<-release
		return receipt.NotFound(), nil
	})
	opts.Targets["pay"] = target
	log := memstore.New(1)
	cut := &counted{Store: log}
	dying := open(t, cut, "w", opts)
	dead, kill := context.WithCancel(ctx)
	cut.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
		defer kill()
		return do()
	}
	_, err := dying.Do(dead, "order", payOne)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, l.posts, "nothing is sent after the cancellation")

	w := open(t, log.Reopen(), "w", opts)
	done := make(chan error, 1)
	go func() { _, err := w.Recover(ctx); done <- err }()
	<-inside
	_, err = w.Recover(ctx)
	require.ErrorIs(t, err, intentlog.ErrBusy, "row_41: one recovery at a time")
	_, err = w.Do(ctx, "order", payOne)
	require.ErrorIs(t, err, intentlog.ErrBusy)
	out, err := w.Do(ctx, "another", payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, out.Status, "other jobs go on")
	close(release)
	require.NoError(t, <-done)
	out, err = w.Do(ctx, "order", payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, out.Status)

	j, err := w.Job(ctx, "third", nil)
	require.NoError(t, err)
	_, err = w.Do(ctx, "third", payOne)
	require.ErrorIs(t, err, intentlog.ErrBusy)
	require.NoError(t, w.Close())
	_, err = j.Do(ctx, payOne)
	require.ErrorIs(t, err, intentlog.ErrClosed)
	_, err = w.Do(ctx, "fourth", payOne)
	require.ErrorIs(t, err, intentlog.ErrClosed)
	_, err = w.Recover(ctx)
	require.ErrorIs(t, err, intentlog.ErrClosed)
	_, err = w.Plan(ctx)
	require.ErrorIs(t, err, intentlog.ErrClosed)
	require.ErrorIs(t, w.Resolve(ctx, "order", "order/1", intent.Resolution{}), intentlog.ErrClosed)
	require.Equal(t, 2, l.posts)
}

// An append of unknown outcome is settled before the job's next step: the same
// bytes again, and a late first copy is the same event.
func TestUnknownAppendIsSettledAndNeverSent(t *testing.T) {
	ctx := t.Context()
	for name, late := range map[string]bool{"the first copy is lost": false, "the first copy arrives late": true} {
		t.Run(name, func(t *testing.T) {
			l, url := newLedger(t)
			log := memstore.New(1)
			st := &counted{Store: log}
			w := open(t, st, "w", options(l, url))
			var tried [][]intent.Event
			usable := false
			st.append = func(_ context.Context, events []intent.Event, do func() (int64, error)) (int64, error) {
				tried = append(tried, append([]intent.Event(nil), events...))
				switch {
				case len(tried) == 1: // and the view cannot learn now what became of it
					return 0, errors.Join(store.ErrPoisoned, errors.New("the connection broke"))
				case !usable:
					return 0, &store.AppendError{Outcome: store.NotStored, Err: store.ErrPoisoned}
				case late && len(tried) == 5:
					if _, err := log.Append(ctx, 0, tried[0]); err != nil {
						return 0, err
					}
				}
				return do()
			}

			j, err := w.Job(ctx, "order", nil)
			require.NoError(t, err)
			defer j.Close()
			_, err = j.Do(ctx, payOne)
			require.Equal(t, store.Unknown, store.OutcomeOf(err))
			require.Zero(t, l.posts, "never from an unknown append")
			_, err = j.Do(ctx, payOne)
			require.Error(t, err, "still not settled")
			_, err = j.Compute(ctx, "c", func(context.Context) ([]byte, error) { t.Error("ran"); return nil, nil })
			require.Error(t, err)
			require.Zero(t, l.posts)

			usable = true
			out, err := j.Do(ctx, payOne)
			require.NoError(t, err)
			require.Equal(t, intentlog.Confirmed, out.Status)
			require.Equal(t, intent.ActionID("order/1"), out.Action, "a call that failed is not counted")
			require.Equal(t, 1, l.posts)
			require.Equal(t, tried[0], tried[4], "byte for byte")
			if late {
				require.Contains(t, types(t, log, "order")[2:], intent.ActionRequested)
			}
			report, err := open(t, log.Reopen(), "w", options(l, url)).Recover(ctx)
			require.NoError(t, err)
			require.Empty(t, report.Decisions)
		})
	}
}

func TestJobOfManySteps(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	log := memstore.New(1)
	first := options(l, url)
	first.Limits.MaxUnsent = 1
	first.Targets["nowhere"] = intentlog.Target{Base: url, Auth: func(*http.Request) error { return errors.New("no token") }}
	w := open(t, log, "w", first)
	many := &intentlog.JobOptions{ManyActions: true}
	runs := 0
	compute := func(j *intentlog.Job) []byte {
		result, err := j.Compute(ctx, "price", func(context.Context) ([]byte, error) { runs++; return []byte{0xff, 7}, nil })
		require.NoError(t, err)
		return result
	}
	j, err := w.Job(ctx, "order", many)
	require.NoError(t, err)
	require.Equal(t, []byte{0xff, 7}, compute(j))
	_, err = j.Compute(ctx, "nested", func(ctx context.Context) ([]byte, error) { _, err := j.Do(ctx, payOne); return nil, err })
	require.ErrorContains(t, err, "at work")
	_, err = j.Compute(ctx, "large", func(context.Context) ([]byte, error) { return bytes.Repeat([]byte{1}, intent.MaxPayload+1), nil })
	require.Error(t, err, "no reader would take it, so nobody writes it")
	out, err := j.Do(ctx, payOne)
	require.NoError(t, err)
	require.Equal(t, intent.ActionID("order/1"), out.Action)
	_, err = j.Do(ctx, intent.POST("elsewhere", "/", nil).WithAction("lost"))
	require.ErrorIs(t, err, intentlog.ErrUnknownTarget)
	_, err = j.Do(ctx, intent.New("lost", nil))
	require.ErrorIs(t, err, intentlog.ErrUnknownTarget, "nor is there a sender for intents without a target")
	out, err = j.Do(ctx, intent.POST("nowhere", "/", nil))
	require.NoError(t, err)
	require.Equal(t, receipt.ReasonNotSent, out.Reason)
	require.NoError(t, w.Close())

	w = open(t, log.Reopen(), "w", options(l, url))
	report, err := w.Recover(ctx)
	require.NoError(t, err)
	require.Equal(t, receipt.ReasonTarget, report.Outcomes[0].Reason, "this life does not know the target")
	j, err = w.Job(ctx, "order", nil) // the log knows that it has many
	require.NoError(t, err)
	compute(j)
	require.Equal(t, 1, runs, "a computed result is reused")
	out, err = j.Do(ctx, payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, out.Status)
	before := types(t, log, "order")
	_, err = j.Compute(ctx, "more", func(context.Context) ([]byte, error) { t.Error("ran"); return nil, nil })
	require.ErrorIs(t, err, intentlog.ErrUnsettled)
	_, err = j.Do(ctx, payTwo.WithAction("another"))
	require.ErrorIs(t, err, intentlog.ErrUnsettled)
	require.ErrorIs(t, j.Complete(ctx), intentlog.ErrUnsettled)
	require.Equal(t, before, types(t, log, "order"))
	j.Close()

	err = w.Resolve(ctx, "order", "order/2", intent.Resolution{Decision: intent.ResolveReject, By: "ann", Reason: "no such service"})
	require.NoError(t, err)
	j, err = w.Job(ctx, "order", nil)
	require.NoError(t, err)
	_, err = j.Do(ctx, payTwo.WithAction("last"))
	require.NoError(t, err)
	require.False(t, j.Completed())
	require.NoError(t, j.Complete(ctx))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.NoError(t, j.Complete(ended), "it is done, and nothing is asked")
	_, err = j.Do(ctx, payOne.WithAction("behind"))
	require.ErrorIs(t, err, intentlog.ErrCompleted)
	_, err = j.Compute(ctx, "behind", nil)
	require.ErrorIs(t, err, intentlog.ErrCompleted)
	j.Close()
	_, err = j.Do(ctx, payOne)
	require.ErrorContains(t, err, "closed")
	require.Equal(t, 2, l.posts)
}

func TestAnotherWorkerMayBeAllowedToTakeOver(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	log := memstore.New(1)
	first := open(t, log, "first", options(l, url))
	j, err := first.Job(ctx, "order", nil)
	require.NoError(t, err)
	_, err = j.Compute(ctx, "c", func(context.Context) ([]byte, error) { return []byte("r"), nil })
	require.NoError(t, err)

	second := open(t, log.Reopen(), "second", options(l, url))
	report, err := second.Recover(ctx)
	require.NoError(t, err)
	require.Empty(t, report.Decisions)
	_, err = second.Do(ctx, "order", payOne)
	require.ErrorIs(t, err, intentlog.ErrFenced)

	opts := options(l, url)
	opts.TakeOver = func(worker string) bool { return worker == "first" }
	third := open(t, log.Reopen(), "third", opts)
	report, err = third.Recover(ctx)
	require.NoError(t, err)
	require.Equal(t, []intent.JobID{"order"}, report.Resumable())
	_, err = j.Do(ctx, payOne) // the first one wakes
	require.ErrorIs(t, err, intentlog.ErrFenced)
	require.Zero(t, l.posts)
	out, err := third.Do(ctx, "order", payTwo)
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, out.Status)
	require.Equal(t, map[string]string{"order/1": `{"amount":2}`}, l.effects)
}

func TestOperatorAllowsOneMoreSend(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	opts := options(l, url)
	target := opts.Targets["pay"]
	target.Contract, target.Lookup = receipt.Contract{}, nil
	target.Transport = refusing{}
	opts.Targets["pay"] = target
	w := open(t, memstore.New(1), "w", opts)
	out, err := w.Do(ctx, "order", payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Held, out.Status)
	out, err = w.Do(ctx, "order", payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Held, out.Status, "a hold stays")
	target.Transport = nil
	opts.Targets["pay"] = target
	require.Error(t, w.Resolve(ctx, "order", "order/1", intent.Resolution{Decision: intent.ResolveRetry}))
	require.ErrorIs(t, w.Resolve(ctx, "nothing", "order/1", intent.Resolution{Decision: intent.ResolveRetry, By: "a", Reason: "b"}), intentlog.ErrNotHeld)
	require.NoError(t, w.Resolve(ctx, "order", "order/1", intent.Resolution{Decision: intent.ResolveRetry, By: "ann", Reason: "they said so"}))
	require.Zero(t, l.posts)
	out, err = w.Do(ctx, "order", payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, out.Status)
	require.Equal(t, 1, l.posts)
}

// refusing answers nothing.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("broken") }

// What NotAfter and Fenced contracts need reaches the service.
func TestContractsTravelWithTheRequest(t *testing.T) {
	ctx := t.Context()
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(http.StatusCreated)
	}))
	defer srv.Close()
	opts := &intentlog.Options{Targets: intentlog.Targets{
		"late": {Base: srv.URL, DeadlineHeader: "X-Not-After", Contract: receipt.Contract{Safety: receipt.NotAfter, Window: time.Hour}},
		"fenced": {Base: srv.URL, AttemptHeader: "X-Attempt", Contract: receipt.Contract{
			Safety: receipt.Fenced, Fence: func(context.Context, receipt.Request) error { return nil },
		}},
	}}
	w := open(t, memstore.New(1), "w", opts)
	_, err := w.Do(ctx, "a", intent.POST("late", "/", nil))
	require.NoError(t, err)
	deadline, err := http.ParseTime(got.Get("X-Not-After"))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), deadline, time.Minute)
	_, err = w.Do(ctx, "b", intent.POST("fenced", "/", nil))
	require.NoError(t, err)
	require.Equal(t, "1", got.Get("X-Attempt"))
	require.Empty(t, got.Get("X-Not-After"))

	for name, target := range map[string]intentlog.Target{
		"no deadline": {Base: srv.URL, Contract: receipt.Contract{Safety: receipt.NotAfter}},
		"no attempt":  {Base: srv.URL, Contract: receipt.Contract{Safety: receipt.Fenced}},
		"a password":  {Base: "https://u:secret@example.com"},
		"a query":     {Base: "https://example.com/?key=secret"},
		"no URL":      {Base: "secret\x7f"},
		"no host":     {Base: "file:///etc"},
	} {
		_, err := intentlog.Open(ctx, memstore.New(1), "w", &intentlog.Options{Targets: intentlog.Targets{"t": target}})
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "secret", name)
	}
}

func TestInterpret(t *testing.T) {
	r := receipt.Request{Intent: payOne.WithAction("a"), Digest: payOne.Digest()}
	for status, want := range map[int]receipt.Result{
		200: receipt.Accepted, 201: receipt.Accepted, 204: receipt.Accepted, // row_29: existing equals created
		202: receipt.Busy, 409: receipt.Busy, 425: receipt.Busy,
		301: receipt.Lost, 400: receipt.Lost, 401: receipt.Lost, 404: receipt.Lost, 422: receipt.Lost, 500: receipt.Lost,
	} {
		a := intentlog.Interpret(r, status, http.Header{}, nil)
		require.Equal(t, want, a.Result, "%d", status)
		require.Equal(t, want == receipt.Accepted, a.Reason == "", "%d", status)
	}
}

// Neither credentials nor payloads come out in errors, outcomes, logs, or in the log.
func TestSecretsStayInside(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	var logged bytes.Buffer
	opts := options(l, url)
	opts.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	target := opts.Targets["pay"]
	fail := false
	target.Auth = func(r *http.Request) error {
		if fail {
			return errors.New("vault says: hunter2")
		}
		r.Header.Set("Authorization", "Bearer hunter2")
		return nil
	}
	opts.Targets["pay"] = target
	log := memstore.New(1)
	w := open(t, log, "w", opts)
	secret := intent.POST("pay", "/v1", []byte(`{"card":"4111"}`))
	sent, err := w.Do(ctx, "a", secret)
	require.NoError(t, err)
	fail = true
	held, err := w.Do(ctx, "b", secret)
	require.NoError(t, err)
	require.Equal(t, receipt.ReasonNotSent, held.Reason)
	report, err := w.Recover(ctx)
	require.NoError(t, err)
	_, wrong := w.Do(ctx, "a", intent.POST("pay", "/v1", []byte(`{"card":"4222"}`)))
	require.Error(t, wrong)
	for _, text := range []string{
		logged.String(), fmt.Sprintf("%+v %#v", held, held), fmt.Sprintf("%+v", sent), fmt.Sprintf("%+v", report), wrong.Error(), fmt.Sprintf("%+v %#v", secret, secret),
	} {
		require.NotContains(t, text, "hunter2")
		require.NotContains(t, text, "4111")
		require.NotContains(t, text, "4222")
	}
	bound, err := log.Bound(ctx, 0)
	require.NoError(t, err)
	require.NoError(t, log.Read(ctx, 0, 0, bound.End, func(r *store.Record) error {
		require.NotContains(t, r.Event.Detail, "hunter2")
		return nil
	}))
}
