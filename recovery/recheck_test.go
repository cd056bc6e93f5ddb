package recovery_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

// Many finished jobs with an event behind their end cost one more read of the log,
// not one read each.
func TestRecoverReadsTheLogOnceForAllLateJobs(t *testing.T) {
	const jobs = 200
	ctx := context.Background()
	log := memstore.New(1)
	claim, err := intent.Encode(intent.Claim{Worker: "w", Single: true})
	require.NoError(t, err)
	first, err := intent.NewOwner("w")
	require.NoError(t, err)
	second, err := intent.NewOwner("w")
	require.NoError(t, err)
	var events, late []intent.Event
	for i := range jobs {
		id := intent.JobID(fmt.Sprintf("job-%d", i))
		event := func(o intent.Owner, attempt, step int32, typ intent.Type, detail string) intent.Event {
			return intent.Event{
				JobID: id, EventID: intent.NewEventID(id, attempt, o.ID, step),
				Attempt: attempt, Step: step, Type: typ, Detail: detail,
			}
		}
		events = append(events, event(first, 1, 1, intent.Started, claim), event(first, 1, 2, intent.Completed, ""))
		late = append(late, event(second, 2, 1, intent.Started, claim))
	}
	_, err = log.Append(ctx, 0, append(events, late...))
	require.NoError(t, err)

	reads, records := 0, 0
	st := &faulty{Store: log}
	st.read = func(from, to int64, fn func(*store.Record) error, do func(from, to int64, fn func(*store.Record) error) error) error {
		reads++
		return do(from, to, func(r *store.Record) error {
			records++
			return fn(r)
		})
	}
	plan, err := recovery.Recover(ctx, st, first, recovery.One(receipt.Service{}), nil)
	require.NoError(t, err)
	require.Empty(t, plan.Decisions)
	require.LessOrEqual(t, records, 2*3*jobs)
	require.Less(t, reads, 10)
}

// A machine that slept between two sends asks the log what time it is.
func TestTheRetentionIsProvedAnewBeforeEveryFurtherSend(t *testing.T) {
	ctx := context.Background()
	now := time.Now().UnixMilli()
	log := memstore.NewWith(1, &memstore.Options{NowMS: func() int64 { return now }})
	owner, err := intent.NewOwner("w")
	require.NoError(t, err)
	sends, lookups := 0, 0
	service := receipt.Service{
		Contract: keyBound,
		Sender: receipt.SenderFunc(func(context.Context, receipt.Request) (receipt.Answer, error) {
			sends++
			return receipt.Answer{}, nil // lost
		}),
		Lookup: receipt.LookupFunc(func(context.Context, receipt.Request) (receipt.Finding, error) {
			if lookups++; lookups == 2 {
				now += (30 * time.Hour).Milliseconds()
			}
			return receipt.NotFound(), nil
		}),
	}
	limits := recovery.Limits{Backoff: time.Millisecond, MaxBackoff: time.Millisecond, InFlight: time.Millisecond, MaxSends: 5}
	view := recovery.NewView(log, nil)
	require.NoError(t, view.CatchUp(ctx))
	x := recovery.NewExecutor(view, owner, recovery.One(service), limits, nil)
	l := life{owner: owner}
	_, err = x.Append(ctx, job, 1, l.events())
	require.NoError(t, err)
	out, err := x.Perform(ctx, job, 1)
	require.NoError(t, err)
	require.Equal(t, recovery.Held, out.Status)
	require.Equal(t, receipt.ReasonRetention, out.Reason)
	require.Equal(t, 2, sends)
}

// A job that is finished is not open again because the log's answer about it was cut.
func TestAShortSecondReadDoesNotReopenAFinishedJob(t *testing.T) {
	ctx := context.Background()
	log := memstore.New(1)
	claim, err := intent.Encode(intent.Claim{Worker: "w", Single: true})
	require.NoError(t, err)
	owner, err := intent.NewOwner("w")
	require.NoError(t, err)
	next, err := intent.NewOwner("w")
	require.NoError(t, err)
	event := func(o intent.Owner, attempt, step int32, typ intent.Type, detail string) intent.Event {
		return intent.Event{
			JobID: job, EventID: intent.NewEventID(job, attempt, o.ID, step),
			Attempt: attempt, Step: step, Type: typ, Detail: detail,
		}
	}
	_, err = log.Append(ctx, 0, []intent.Event{
		event(owner, 1, 1, intent.Started, claim), event(owner, 1, 2, intent.Completed, ""), event(next, 2, 1, intent.Started, claim),
	})
	require.NoError(t, err)
	reads := 0
	st := &faulty{Store: log}
	st.read = func(from, to int64, fn func(*store.Record) error, do func(from, to int64, fn func(*store.Record) error) error) error {
		if reads++; reads > 1 {
			to = from + 1 // and no error
		}
		return do(from, to, fn)
	}
	view := recovery.NewView(st, nil)
	_, err = recovery.Recover(ctx, st, owner, recovery.One(receipt.Service{}), &recovery.Options{View: view})
	require.ErrorIs(t, err, store.ErrGap)
	require.ErrorIs(t, view.Lookup(ctx, job, func(*intent.History) { t.Error("told of a job that was not read to its end") }), store.ErrGap)
	require.Equal(t, 3, reads)
}
