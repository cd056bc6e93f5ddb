package recovery_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

func claim(job intent.JobID) []intent.Event {
	const owner = "11111111-1111-4111-8111-111111111111"
	return []intent.Event{{
		JobID: job, EventID: intent.NewEventID(job, 1, owner, 1), Attempt: 1, Step: 1, Type: intent.Started, Detail: `{"worker":"w"}`,
	}}
}

// A caller that is alone appends by itself. It must be able to leave, and what it
// leaves behind must be learnt before anybody else appends.
func TestACallerThatAppendsByItself(t *testing.T) {
	type world struct {
		log  *memstore.Store
		st   *faulty
		view *recovery.View
	}
	// once makes the first append fail when its caller leaves, stored or not.
	once := func(w *world, stored bool, later error) {
		first := true
		w.st.append = func(ctx context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
			if !first && later != nil {
				return 0, &store.AppendError{Outcome: store.NotStored, Err: later}
			}
			if !first {
				return do()
			}
			first = false
			if stored {
				_, err := do()
				require.NoError(t, err)
			}
			<-ctx.Done()
			return 0, &store.AppendError{Outcome: store.Unknown, Err: ctx.Err()}
		}
	}
	leave := func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, err := w.view.Append(ctx, claim("first"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, store.Unknown, store.OutcomeOf(err))
		require.Equal(t, time.Second, time.Since(begin))
	}
	jobs := func(w *world) (ids []intent.JobID) {
		bound, err := w.log.Bound(t.Context(), 0)
		require.NoError(t, err)
		require.NoError(t, w.log.Read(t.Context(), 0, 0, bound.End, func(r *store.Record) error {
			ids = append(ids, r.Event.JobID)
			return nil
		}))
		return ids
	}
	for name, run := range map[string]func(t *testing.T, w *world){
		"leaves_it_stored": func(t *testing.T, w *world) {
			once(w, true, nil)
			leave(t, w)
			require.NoError(t, w.view.Settle(t.Context(), "first"))
			require.Equal(t, []intent.JobID{"first"}, jobs(w), "found, and not appended again")
		},
		"leaves_it_lost": func(t *testing.T, w *world) {
			once(w, false, nil)
			leave(t, w)
			require.NoError(t, w.view.Settle(t.Context(), "first"))
			require.Equal(t, []intent.JobID{"first"}, jobs(w), "the same bytes, appended again")
		},
		"leaves_it_in_doubt": func(t *testing.T, w *world) {
			once(w, false, store.ErrPoisoned)
			leave(t, w)
			synctest.Wait()
			err := w.view.Settle(t.Context(), "first")
			require.ErrorIs(t, err, store.ErrPoisoned)
			require.Equal(t, store.NotStored, store.OutcomeOf(errors.Unwrap(err)), "of this copy; the doubt stays")
			w.st.append = nil
			require.NoError(t, w.view.Settle(t.Context(), "first"))
			require.Equal(t, []intent.JobID{"first"}, jobs(w))
		},
		"others_come_behind_it": func(t *testing.T, w *world) {
			once(w, true, nil)
			second := make(chan error)
			go func() {
				time.Sleep(time.Second / 2)
				_, err := w.view.Append(t.Context(), claim("second"))
				second <- err
			}()
			leave(t, w)
			require.NoError(t, <-second)
			require.Equal(t, []intent.JobID{"first", "second"}, jobs(w))
		},
		"others_come_meanwhile": func(t *testing.T, w *world) {
			w.st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
				time.Sleep(time.Second)
				return do()
			}
			results := make(chan error)
			for i, job := range []intent.JobID{"first", "second", "third"} {
				go func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					_, err := w.view.Append(t.Context(), claim(job))
					results <- err
				}()
			}
			begin := time.Now()
			for range 3 {
				require.NoError(t, <-results)
			}
			require.Equal(t, 2*time.Second, time.Since(begin), "those that queued up share an append")
			require.Equal(t, []intent.JobID{"first", "second", "third"}, jobs(w))
		},
		"panics": func(t *testing.T, w *world) {
			w.st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
				_, err := do()
				require.NoError(t, err)
				panic("a bug of the store")
			}
			require.Panics(t, func() { _, _ = w.view.Append(t.Context(), claim("first")) })
			w.st.append = nil
			_, err := w.view.Append(t.Context(), claim("second"))
			require.NoError(t, err)
			require.NoError(t, w.view.Settle(t.Context(), "first"))
			require.Equal(t, []intent.JobID{"first", "second", "first"}, jobs(w), "the same bytes twice are one event")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := memstore.New(1)
				st := &faulty{Store: log}
				w := &world{log, st, recovery.NewView(st, nil)}
				run(t, w)
				w.view.Wait()
			})
		})
	}
}

// A read of the log that takes its time holds up no caller beyond its context.
func TestACallerIsNotHeldUpByAReader(t *testing.T) {
	st := &faulty{Store: memstore.New(1)}
	asked, release := make(chan struct{}), make(chan struct{})
	st.bound = func(do func() (store.Bound, error)) (store.Bound, error) {
		close(asked)
		<-release
		return do()
	}
	view := recovery.NewView(st, nil)
	caught := make(chan error)
	go func() { caught <- view.CatchUp(t.Context()) }()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := view.Append(ctx, claim("first"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(release)
	require.NoError(t, <-caught)
	require.NoError(t, view.Settle(t.Context(), "first"))
	view.Wait()
}

// Settle repeats an event whose first copy is in the log, and another caller's new
// event shares its batch. The batch is lost: the old copy must not vouch for it.
func TestAnOldCopyDoesNotVouchForABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var appends atomic.Int32
		var reads, writes atomic.Bool // are back
		log := memstore.New(1)
		cut := errors.New("the connection was cut")
		st := &faulty{Store: log}
		st.append = func(_ context.Context, _ []intent.Event, do func() (int64, error)) (int64, error) {
			if n := appends.Add(1); n == 1 || writes.Load() {
				first, err := do()
				if n > 1 {
					return first, err
				}
			}
			return 0, &store.AppendError{Outcome: store.Unknown, Err: cut}
		}
		st.bound = func(do func() (store.Bound, error)) (store.Bound, error) {
			if reads.Load() {
				return do()
			}
			return store.Bound{}, cut
		}
		view := recovery.NewView(st, &recovery.ViewOptions{AppendTimeout: 10 * time.Second})
		_, err := view.Append(t.Context(), claim("a")) // stored, and never acknowledged
		require.Equal(t, store.Unknown, store.OutcomeOf(err))
		results := make(chan error)
		for i, do := range []func() error{
			func() error { _, err := view.Append(t.Context(), claim("x")); return err },
			func() error { return view.Settle(t.Context(), "a") },
			func() error { _, err := view.Append(t.Context(), claim("c")); return err },
		} {
			go func() {
				time.Sleep(time.Duration(i) * time.Second) // a and c queue up behind x
				results <- do()
			}()
		}
		require.Equal(t, store.Unknown, store.OutcomeOf(<-results), "x")
		reads.Store(true) // and now the batch of a and c is lost
		time.Sleep(5 * time.Second)
		writes.Store(true)
		require.NoError(t, <-results)
		require.NoError(t, <-results)
		held := map[intent.JobID]int{}
		bound, err := log.Bound(t.Context(), 0)
		require.NoError(t, err)
		require.NoError(t, log.Read(t.Context(), 0, 0, bound.End, func(r *store.Record) error {
			held[r.Event.JobID]++
			return nil
		}))
		require.Equal(t, map[intent.JobID]int{"a": 2, "c": 1}, held, "what was acknowledged is there")
		view.Wait()
	})
}
