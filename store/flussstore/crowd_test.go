package flussstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/figure"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

// crowd appends and reads while things go wrong, and keeps its own count of what it was told.
type crowd struct {
	table string
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu      sync.Mutex
	acked   map[intent.EventID]place // as acknowledged, or as found after doubt
	unknown int                      // appends that ended in doubt
	again   int                      // appends that were repeated
	reads   int                      // bounded reads that were delivered whole
	broken  int                      // bounded reads that ended with an error
	errs    []error
	slowest time.Duration // of an append that was acknowledged

	moves atomic.Int64 // grows with every acknowledgement
}

type place struct {
	bucket int
	offset int64
	event  intent.Event
}

// startCrowd opens a store for each role and starts them. It returns when each bucket has acknowledged events.
func startCrowd(t *testing.T, bootstrap string, o flussstore.Options, buckets int) *crowd {
	t.Helper()
	o.Table, o.Buckets, o.Create = newTable(), buckets, true
	ctx, stop := context.WithCancel(t.Context())
	c := &crowd{table: o.Table, stop: stop, acked: map[intent.EventID]place{}}
	t.Cleanup(func() { stop(); c.wg.Wait() })
	st := openTable(t, bootstrap, o)
	reopen := func() *flussstore.Store {
		for {
			st, err := flussstore.Open(ctx, bootstrap, &o)
			if err == nil {
				return st
			}
			if ctx.Err() != nil {
				return nil
			}
		}
	}
	for b := range buckets {
		c.wg.Go(func() { c.write(ctx, st, b, 0, nil) })
		c.wg.Go(func() { c.write(ctx, st, b, 1, reopen) })
		c.wg.Go(func() { c.read(ctx, st, b) })
	}
	c.awaitMoves(t, 20)
	return c
}

// awaitMoves waits for so many further acknowledgements.
func (c *crowd) awaitMoves(t *testing.T, n int64) {
	t.Helper()
	target := c.moves.Load() + n
	require.Eventually(t, func() bool { return c.moves.Load() >= target || c.failed() }, 2*time.Minute, 5*time.Millisecond,
		"no append is acknowledged any more")
}

func (c *crowd) failed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.errs) > 0
}

func (c *crowd) fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// write appends the events of one writer one after the other. An event in doubt is looked for behind a barrier, and
// repeated only when it is not there.
//
// With reopen the writer is impatient, so that many of its appends end in doubt, and now and then it goes on as another
// process would: its store is gone, and what that had on the way may still arrive.
func (c *crowd) write(ctx context.Context, st *flussstore.Store, bucket, writer int, reopen func() *flussstore.Store) {
	if reopen != nil {
		if st = reopen(); st == nil {
			return
		}
		defer func() { _ = st.Close() }()
	}
	job := intent.JobID(fmt.Sprintf("job-%d-%d", bucket, writer))
	from := int64(0) // nothing of the current event stands below
	for step := int32(1); ; step++ {
		e := event(int(step))
		e.JobID, e.Step, e.EventID = job, step, intent.NewEventID(job, 1, owner, step)
		began := time.Now()
		for {
			call, cancel := ctx, func() {}
			if reopen != nil {
				call, cancel = context.WithTimeout(ctx, time.Duration(1+rand.IntN(40))*time.Millisecond)
			}
			at, err := st.Append(call, bucket, []intent.Event{e})
			cancel()
			if store.OutcomeOf(err) == store.Unknown {
				c.mu.Lock()
				c.unknown++
				c.mu.Unlock()
				if reopen != nil && rand.IntN(4) == 0 {
					_ = st.Close()
					next := reopen()
					if next == nil {
						return
					}
					st = next
				}
				at, err = find(ctx, st, bucket, from, e)
			}
			if err == nil {
				c.mu.Lock()
				c.acked[e.EventID] = place{bucket, at, e}
				c.slowest = max(c.slowest, time.Since(began))
				c.mu.Unlock()
				c.moves.Add(1)
				from = at + 1
				break
			}
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, store.ErrLogRegressed) || errors.Is(err, store.ErrTableChanged) || errors.Is(err, store.ErrGap) {
				c.fail("writer %d of bucket %d: %w", writer, bucket, err)
				return
			}
			c.mu.Lock()
			c.again++
			c.mu.Unlock()
		}
	}
}

var errNotThere = errors.New("not in the log")

// find looks for an event from an offset on, up to a bound.
func find(ctx context.Context, st *flussstore.Store, bucket int, from int64, e intent.Event) (at int64, err error) {
	b, err := st.Bound(ctx, bucket)
	if err != nil {
		return 0, err
	}
	at = -1
	err = st.Read(ctx, bucket, from, b.End, func(r *store.Record) error {
		if r.Event.EventID == e.EventID && at < 0 {
			at = r.Offset
		}
		return nil
	})
	if err == nil && at < 0 {
		err = errNotThere
	}
	return at, err
}

// read takes bounds and reads up to them: all that was acknowledged before must be there, at its place.
func (c *crowd) read(ctx context.Context, st *flussstore.Store, bucket int) {
	for ctx.Err() == nil {
		c.mu.Lock()
		before := maps.Clone(c.acked)
		c.mu.Unlock()
		b, err := st.Bound(ctx, bucket)
		if err != nil {
			continue
		}
		seen := map[intent.EventID]bool{}
		next := int64(0)
		err = st.Read(ctx, bucket, 0, b.End, func(r *store.Record) error {
			if r.Offset != next {
				return fmt.Errorf("offset %d where %d is due: %w", r.Offset, next, store.ErrGap)
			}
			next++
			seen[r.Event.EventID] = true
			return nil
		})
		c.mu.Lock()
		if err == nil {
			c.reads++
		} else {
			c.broken++
		}
		c.mu.Unlock()
		switch {
		case errors.Is(err, store.ErrLogRegressed), errors.Is(err, store.ErrGap), errors.Is(err, store.ErrCorrupt),
			errors.Is(err, store.ErrBeyondEnd), errors.Is(err, store.ErrPrefixMissing), errors.Is(err, store.ErrTableChanged):
			c.fail("read of bucket %d up to %d: %w", bucket, b.End, err)
			return
		case err != nil:
			continue
		}
		for id, p := range before {
			if p.bucket == bucket && !seen[id] {
				c.fail("bound %d of bucket %d does not cover %s, which was acknowledged at %d before", b.End, bucket, id, p.offset)
				return
			}
		}
	}
}

// verdict ends the crowd and compares the log, read through a store of its own, with the outside count.
func (c *crowd) verdict(t *testing.T, bootstrap string) {
	t.Helper()
	c.stop()
	c.wg.Wait()
	require.NoError(t, errors.Join(c.errs...))
	st := openTable(t, bootstrap, flussstore.Options{Table: c.table})
	first := map[intent.EventID]place{}
	lastStep := map[intent.JobID]int32{}
	duplicates, records := 0, int64(0)
	for b := range st.Buckets() {
		bound, err := st.Bound(t.Context(), b)
		require.NoError(t, err)
		got, err := readAll(t, st, b, 0, bound.End)
		require.NoError(t, err)
		records += bound.End
		for at, e := range got {
			if e.Type == intent.Barrier {
				continue
			}
			if old, known := first[e.EventID]; known {
				require.Equal(t, old.event, e, "a duplicate is the same event")
				duplicates++
				continue
			}
			first[e.EventID] = place{b, int64(at), e}
			require.Equal(t, lastStep[e.JobID]+1, e.Step, "order of %s", e.JobID)
			lastStep[e.JobID] = e.Step
		}
	}
	lost := 0
	for id, p := range c.acked {
		got, there := first[id]
		if !there {
			lost++
			t.Errorf("%s was acknowledged at %d of bucket %d and is lost", id, p.offset, p.bucket)
			continue
		}
		require.Equal(t, p.event, got.event)
		require.Equal(t, p.bucket, got.bucket)
		require.LessOrEqual(t, got.offset, p.offset, "an earlier copy may stand before the acknowledged one")
	}
	t.Logf("%d acknowledged, %d lost, %d records, %d duplicates; %d appends in doubt, %d repeated; %d bounded reads whole, %d ended with an error; slowest append %v",
		len(c.acked), lost, records, duplicates, c.unknown, c.again, c.reads, c.broken, c.slowest.Round(time.Millisecond))
	figure.Print(t, "fluss/rounds-of-faults", 1)
	figure.Print(t, "fluss/appends-acknowledged-under-faults", len(c.acked))
	figure.Print(t, "fluss/appends-in-doubt", c.unknown)
}
