package storetest

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// Every case ends with an audit of the whole log, so most only have to do things.
var appendCases = []testCase{
	{
		"append/acknowledged_events_are_in_the_log",
		"Append returns the offset of the first event once the whole batch is durable and visible to every later Bound.",
		func(ctx context.Context, l *log) error {
			for i := range 20 {
				b, err := l.put(ctx, i%l.st.Buckets(), 1)
				if err != nil {
					return err
				}
				got, err := l.read(ctx, b.bucket, b.first, b.end())
				if err != nil {
					return err
				}
				if got[0].Event != b.events[0] {
					return fmt.Errorf("offset %d holds %v, want %v", b.first, got[0].Event, b.events[0])
				}
			}
			return nil
		},
	},
	{
		"append/a_batch_is_whole_and_in_order",
		"All events of a batch become visible, or none, in order, as one batch.",
		func(ctx context.Context, l *log) error { return l.putMany(ctx) },
	},
	{
		"append/concurrent_batches_stay_whole",
		"All methods may be called by many goroutines at once, and a batch stays one batch.",
		func(ctx context.Context, l *log) error {
			return each(16, func(i int) error {
				for k := range 20 {
					if _, err := l.put(ctx, (i+k)%l.st.Buckets(), 1+(i*k)%5); err != nil {
						return err
					}
				}
				return nil
			})
		},
	},
	{
		"append/a_batch_becomes_visible_at_once",
		"All events of a batch become visible, or none: no bound lies inside a batch.",
		func(ctx context.Context, l *log) error {
			ends := make(map[int64]bool)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			turns := make(chan struct{}) // the watcher lets the writer go on
			var puts atomic.Int64
			writer := func() error {
				for range turns {
					if _, err := l.put(ctx, 0, 7); err != nil {
						cancel()
						return err
					}
					puts.Add(1)
				}
				return nil
			}
			watcher := func() error {
				defer close(turns)
				for done := range int64(40) {
					select {
					case turns <- struct{}{}:
					case <-ctx.Done():
						return ctx.Err()
					}
					for seen, polls := len(ends), 0; len(ends) == seen && puts.Load() <= done && polls < 1000; polls++ {
						b, err := l.st.Bound(ctx, 0)
						if err != nil {
							return err
						}
						ends[b.End] = true
						runtime.Gosched()
					}
				}
				return nil
			}
			if err := each(2, func(i int) error { return []func() error{writer, watcher}[i]() }); err != nil {
				return err
			}
			inside := make(map[int64]bool)
			for _, b := range l.batches {
				for at := b.first + 1; b.outcome == store.Stored && at < b.end(); at++ {
					inside[at] = true
				}
			}
			for end := range ends {
				if inside[end] {
					return fmt.Errorf("a bound of %d lies inside a batch", end)
				}
			}
			return nil
		},
	},
	{
		"append/all_nine_columns_come_back_unchanged",
		"A read delivers every record of its range; two events are the same when all nine columns are.",
		func(ctx context.Context, l *log) error {
			for _, detail := range []string{
				"", " ", "\x00 a NUL \x00", "a\r\nb\n", `{"é":"日本語 🧾","q":"'\""}`, "\ufeff", strings.Repeat("0123456789abcdef", 16<<10),
			} {
				_, err := l.putFunc(ctx, 0, func() []intent.Event {
					big, small := l.event(detail), l.event(detail)
					big.Attempt, big.Step, big.EmittedAtMS = math.MaxInt32, math.MaxInt32, math.MaxInt64
					big.EventID = intent.NewEventID(big.JobID, big.Attempt, owner, big.Step)
					small.EmittedAtMS = math.MinInt64
					small.Type, small.ActionID = intent.ActionRequested, "action:1/_-."
					small.PayloadDigest = intent.DigestOf([]byte(detail))
					return []intent.Event{big, small}
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		"append/a_cancelled_append_tells_what_is_known",
		"Cancelling ctx ends the wait; NotStored only if no event of the batch is or will ever be in the log, else Unknown.",
		func(ctx context.Context, l *log) error {
			return each(16, func(i int) error {
				for k := range 12 {
					c, cancel := context.WithCancel(ctx)
					if k%4 == 0 {
						cancel()
					}
					gone := make(chan struct{})
					go func() {
						defer close(gone)
						cancel()
					}()
					_, err := l.try(c, (i+k)%l.st.Buckets(), l.events(1+k%3))
					<-gone
					if err != nil && store.OutcomeOf(err) == store.Stored {
						return fmt.Errorf("error with outcome stored: %w", err)
					}
				}
				return nil
			})
		},
	},
	{
		"append/no_such_bucket_is_not_stored",
		"Buckets are numbered from 0 up to Buckets; an append elsewhere cannot be in the log.",
		func(ctx context.Context, l *log) error {
			for _, bucket := range []int{-1, l.st.Buckets(), math.MaxInt} {
				if _, err := l.st.Append(ctx, bucket, l.events(1)); store.OutcomeOf(err) != store.NotStored {
					return fmt.Errorf("append to bucket %d is %v: %v", bucket, store.OutcomeOf(err), err)
				}
				if _, err := l.st.Bound(ctx, bucket); err == nil {
					return fmt.Errorf("bucket %d has a bound", bucket)
				}
				if err := l.st.Read(ctx, bucket, 0, 0, func(*store.Record) error { return nil }); err == nil {
					return fmt.Errorf("bucket %d can be read", bucket)
				}
			}
			return nil
		},
	},
}
