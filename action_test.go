package intentlog_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

// oneCharge has one action ID for all jobs, as it must not be.
var oneCharge = payOne.WithAction("charge")

// jobsApart are jobs of different buckets.
func jobsApart(t *testing.T, buckets int) []intent.JobID {
	byBucket := map[int]intent.JobID{}
	for i := 0; len(byBucket) < buckets; i++ {
		job := intent.JobID(fmt.Sprintf("order-%d", i))
		byBucket[store.BucketFor(job, buckets)] = job
	}
	var jobs []intent.JobID
	for b := range buckets {
		jobs = append(jobs, byBucket[b])
	}
	return jobs
}

// To the service one action ID is one effect, whichever job it comes from.
func TestAnActionIDOfAnotherJobIsRefusedBeforeAnyIO(t *testing.T) {
	ctx := t.Context()
	l, url := newLedger(t)
	log := memstore.New(2)
	jobs := jobsApart(t, 2)
	sameBucket := intent.JobID("order-x")
	for i := 0; store.BucketFor(sameBucket, 2) != 0; i++ {
		sameBucket = intent.JobID(fmt.Sprintf("order-x%d", i))
	}
	st := &counted{Store: log}
	w := open(t, st, "w", options(l, url))
	out, err := w.Do(ctx, jobs[0], oneCharge)
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, out.Status)

	reopened := &counted{Store: log.Reopen()}
	for name, life := range map[string]struct {
		w  *intentlog.Worker
		st *counted
	}{"this life": {w, st}, "the next life": {open(t, reopened, "w", options(l, url)), reopened}} {
		life.st.calls.Store(0)
		for _, job := range []intent.JobID{sameBucket, jobs[1]} {
			_, err := life.w.Do(ctx, job, oneCharge)
			require.ErrorIs(t, err, intentlog.ErrPayloadMismatch, "%s, the same bytes", name)
			_, err = life.w.Do(ctx, job, payTwo.WithAction("charge"))
			require.ErrorIs(t, err, intentlog.ErrPayloadMismatch, "%s, other bytes", name)
		}
		require.Zero(t, life.st.calls.Load(), name)
	}
	require.Equal(t, 1, l.posts)
	out, err = w.Do(ctx, jobs[0], oneCharge)
	require.NoError(t, err, "its own job may ask again")
	require.Equal(t, intentlog.Confirmed, out.Status)
}

func TestOfManyJobsWithOneNewActionIDOneWins(t *testing.T) {
	l, url := newLedger(t)
	w := open(t, memstore.New(3), "w", options(l, url))
	errs := make([]error, 8)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			<-begin
			_, errs[i] = w.Do(t.Context(), intent.JobID(fmt.Sprintf("order-%d", i)), oneCharge)
		})
	}
	close(begin)
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.ErrorIs(t, err, intentlog.ErrPayloadMismatch)
	}
	require.Equal(t, 1, won)
	require.Equal(t, 1, l.posts)
}

// serves is a service without a target, and without a promise, that counts what it is sent.
func serves(sends *int, answer func(r receipt.Request) receipt.Answer) *intentlog.Options {
	return &intentlog.Options{Service: receipt.Service{Sender: receipt.SenderFunc(
		func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
			*sends++
			return answer(r), nil
		},
	)}}
}

func accepted(r receipt.Request) receipt.Answer {
	return receipt.Answer{Result: receipt.Accepted, Receipt: &receipt.Receipt{Action: r.Intent.Action, Digest: r.Digest, Code: 201}}
}

// unsent lets a life log an intent, and ends the caller's context before its send.
func unsent(t *testing.T, log store.Store, opts *intentlog.Options) *intentlog.Worker {
	t.Helper()
	st := &counted{Store: log}
	w := open(t, st, "w", opts)
	ctx, cancel := context.WithCancel(t.Context())
	st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
		defer cancel()
		return do()
	}
	_, err := w.Do(ctx, "order", intent.New("order/1", []byte("b")))
	require.ErrorIs(t, err, context.Canceled)
	st.append = nil
	return w
}

func TestAnIntentThatThisLifeNeverSentIsSentByTheNextDo(t *testing.T) {
	log, sends := memstore.New(1), 0
	w := unsent(t, log, serves(&sends, accepted))
	require.Zero(t, sends)
	for range 2 {
		out, err := w.Do(t.Context(), "order", intent.New("order/1", []byte("b")))
		require.NoError(t, err)
		require.Equal(t, intentlog.Confirmed, out.Status, out.Message)
	}
	require.Equal(t, 1, sends)
}

func TestAnIntentThatMayHaveBeenSentIsNotSentAgainWithoutAPromise(t *testing.T) {
	t.Run("sent by this life", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sends := 0
		w := open(t, memstore.New(1), "w", serves(&sends, func(receipt.Request) receipt.Answer {
			cancel()
			return receipt.Answer{} // lost
		}))
		_, err := w.Do(ctx, "order", intent.New("order/1", []byte("b")))
		require.ErrorIs(t, err, context.Canceled)
		out, err := w.Do(t.Context(), "order", intent.New("order/1", []byte("b")))
		require.NoError(t, err)
		require.Equal(t, intentlog.Held, out.Status)
		require.Equal(t, 1, sends)
	})
	t.Run("by another life, whose job was only claimed", func(t *testing.T) {
		log, sends := memstore.New(1), 0
		dead, die := context.WithCancel(t.Context())
		lost := serves(&sends, func(receipt.Request) receipt.Answer {
			die()
			return receipt.Answer{}
		})
		_, err := open(t, log, "w", lost).Do(dead, "order", intent.New("order/1", []byte("b")))
		require.ErrorIs(t, err, context.Canceled)

		st := &counted{Store: log.Reopen()}
		w := open(t, st, "w", serves(&sends, accepted))
		ctx, cancel := context.WithCancel(t.Context())
		st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
			defer cancel()
			return do()
		}
		_, err = w.Recover(ctx)
		require.ErrorIs(t, err, context.Canceled)
		st.append = nil
		require.NotContains(t, types(t, log, "order"), intent.HoldUnknown)
		out, err := w.Do(t.Context(), "order", intent.New("order/1", []byte("b")))
		require.NoError(t, err)
		require.Equal(t, intentlog.Held, out.Status)
		require.Equal(t, 1, sends)
	})
	t.Run("perhaps by another life", func(t *testing.T) {
		log, sends := memstore.New(1), 0
		require.NoError(t, unsent(t, log, serves(&sends, accepted)).Close())
		out, err := open(t, log.Reopen(), "w", serves(&sends, accepted)).Do(t.Context(), "order", intent.New("order/1", []byte("b")))
		require.NoError(t, err)
		require.Equal(t, intentlog.Held, out.Status)
		require.Zero(t, sends)
	})
}

// What the service said is recorded, whether or not the caller still waits for it.
func TestAnAnswerInHandIsRecordedAfterTheCallersContextEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(receipt.Request) receipt.Answer
		status recovery.Status
		event  intent.Type
	}{
		"a receipt": {accepted, intentlog.Confirmed, intent.ActionConfirmed},
		"a final refusal": {func(receipt.Request) receipt.Answer {
			return receipt.Answer{Result: receipt.Refused, Reason: receipt.ReasonRefused}
		}, intentlog.Rejected, intent.ActionRejected},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			log, sends := memstore.New(1), 0
			w := open(t, log, "w", serves(&sends, func(r receipt.Request) receipt.Answer {
				cancel()
				return tc.answer(r)
			}))
			out, err := w.Do(ctx, "order", intent.New("order/1", []byte("b")))
			require.NoError(t, err)
			require.Equal(t, tc.status, out.Status)
			require.Equal(t, []intent.Type{intent.Started, intent.ActionRequested, tc.event, intent.Completed}, types(t, log, "order"))
		})
	}
}

// A valid receipt proves itself, also from an attempt that was taken over meanwhile.
func TestAFencedOwnerRecordsItsReceipt(t *testing.T) {
	ctx := t.Context()
	log := memstore.New(1)
	take := &intentlog.Options{TakeOver: func(string) bool { return true }}
	next := open(t, log.Reopen(), "next", take)
	var first *intentlog.Worker
	sends := 0
	first = open(t, log, "first", serves(&sends, func(r receipt.Request) receipt.Answer {
		if r.Job == "order" {
			report, err := next.Recover(ctx)
			require.NoError(t, err)
			require.Equal(t, intentlog.Held, report.Outcomes[0].Status)
			_, err = first.Do(ctx, "another", intent.New("another/1", nil))
			require.NoError(t, err) // and so the first has seen that it is fenced
		}
		return accepted(r)
	}))
	out, err := first.Do(ctx, "order", intent.New("order/1", []byte("b")))
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, out.Status)

	report, err := next.Recover(ctx)
	require.NoError(t, err)
	require.Len(t, report.Outcomes, 1)
	require.Equal(t, intentlog.Settled, report.Outcomes[0].Status)
	again, err := open(t, log.Reopen(), "first", nil).Do(ctx, "order", intent.New("order/1", []byte("b")))
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, again.Status)
	require.Equal(t, 201, again.Receipt.Code)
}

// The callback may be slow and may ask the worker itself.
func TestTakeOverMayCallTheWorker(t *testing.T) {
	log := memstore.New(1)
	sends := 0
	unsent(t, log, serves(&sends, accepted))
	var w *intentlog.Worker
	asked := make(chan struct{}, 1)
	w = open(t, log.Reopen(), "next", &intentlog.Options{TakeOver: func(string) bool {
		w.Bookmark()
		asked <- struct{}{}
		return false
	}})
	done := make(chan error, 1)
	go func() { _, err := w.Recover(t.Context()); done <- err }()
	select {
	case err := <-done:
		require.NoError(t, err)
		require.Len(t, asked, 1)
	case <-time.After(10 * time.Second):
		t.Fatal("deadlock: the callback is called under a lock")
	}
}
