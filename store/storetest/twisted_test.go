package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/storetest"
)

// twisted is a store of which some methods behave otherwise; nil ones do not.
type twisted struct {
	store.Store
	append func(ctx context.Context, bucket int, events []intent.Event) (int64, error)
	bound  func(ctx context.Context, bucket int) (store.Bound, error)
	read   func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error
}

func (s *twisted) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	if s.append != nil {
		return s.append(ctx, bucket, events)
	}
	return s.Store.Append(ctx, bucket, events)
}

func (s *twisted) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	if s.bound != nil {
		return s.bound(ctx, bucket)
	}
	return s.Store.Bound(ctx, bucket)
}

func (s *twisted) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	if s.read != nil {
		return s.read(ctx, bucket, from, to, fn)
	}
	return s.Store.Read(ctx, bucket, from, to, fn)
}

// twist opens memory logs whose stores are twisted by how.
func twist(how func(good store.Store, s *twisted)) func() (storetest.Harness, error) {
	return func() (storetest.Harness, error) {
		mem := memstore.New(2)
		twisted := func(good store.Store) store.Store {
			s := &twisted{Store: good}
			how(good, s)
			return s
		}
		return storetest.Harness{
			Store:  twisted(mem),
			Reopen: func() (store.Store, error) { return twisted(mem.Reopen()), nil },
		}, nil
	}
}

func answer(outcome store.Outcome, bucket int) error {
	return &store.AppendError{Bucket: bucket, Outcome: outcome, Err: errors.New("the network is odd today")}
}

func TestOddButLegalStoresPass(t *testing.T) {
	for name, how := range map[string]func(good store.Store, s *twisted){
		"appends a barrier to learn a bound": func(good store.Store, s *twisted) {
			var n atomic.Int64
			s.bound = func(ctx context.Context, bucket int) (store.Bound, error) {
				e := intent.NewBarrier(fmt.Sprint(n.Add(1)), 1)
				first, err := good.Append(ctx, bucket, []intent.Event{e})
				return store.Bound{End: first + 1}, err
			}
		},
		"often answers unknown, and some of it is stored": func(good store.Store, s *twisted) {
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				if _, err := good.Bound(ctx, bucket); err != nil {
					return good.Append(ctx, bucket, events)
				}
				switch rand.IntN(4) {
				case 0:
					return 0, answer(store.Unknown, bucket)
				case 1:
					good.Append(ctx, bucket, events)
					return 0, answer(store.Unknown, bucket)
				}
				return good.Append(ctx, bucket, events)
			}
		},
		"stores what was unknown much later": func(good store.Store, s *twisted) {
			var mu sync.Mutex
			var late []func()
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				if _, err := good.Bound(ctx, bucket); err != nil {
					return good.Append(ctx, bucket, events)
				}
				mu.Lock()
				defer mu.Unlock()
				if rand.IntN(3) == 0 {
					mine := slices.Clone(events)
					late = append(late, func() { good.Append(context.Background(), bucket, mine) })
					return 0, answer(store.Unknown, bucket)
				}
				if len(late) > 5 {
					late[0]()
					late = late[1:]
				}
				return good.Append(ctx, bucket, events)
			}
		},
		"often refuses": func(good store.Store, s *twisted) {
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				if rand.IntN(3) == 0 {
					return 0, answer(store.NotStored, bucket)
				}
				return good.Append(ctx, bucket, events)
			}
		},
		"answers late and in another order": func(good store.Store, s *twisted) {
			dawdle := func() {
				for range rand.IntN(50) {
					runtime.Gosched()
				}
			}
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				dawdle()
				defer dawdle()
				return good.Append(ctx, bucket, events)
			}
			s.bound = func(ctx context.Context, bucket int) (store.Bound, error) {
				dawdle()
				defer dawdle()
				return good.Bound(ctx, bucket)
			}
		},
		"reads in tiny pieces and reuses the record": func(good store.Store, s *twisted) {
			s.read = func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
				if from >= to {
					return good.Read(ctx, bucket, from, to, fn)
				}
				var one store.Record
				for ; from < to; from++ {
					err := good.Read(ctx, bucket, from, from+1, func(r *store.Record) error {
						one = *r
						return nil
					})
					if err != nil {
						return err
					}
					if err := fn(&one); err != nil {
						return err
					}
					one = store.Record{Event: intent.Event{Detail: "the call of fn is over"}}
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			failures, err := storetest.Check(twist(how))
			require.NoError(t, err)
			for _, f := range failures {
				t.Error(f)
			}
		})
	}
}

func TestStoresThatLieAreCaught(t *testing.T) {
	// everySo tells for every n-th call.
	everySo := func(n int64) func() bool {
		var calls atomic.Int64
		return func() bool { return calls.Add(1)%n == 0 }
	}
	// records makes a read that alters each record, or drops or repeats it.
	records := func(good store.Store, s *twisted, alter func(r store.Record) []store.Record) {
		s.read = func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
			return good.Read(ctx, bucket, from, to, func(r *store.Record) error {
				for _, r := range alter(*r) {
					if err := fn(&r); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	for _, liar := range []struct {
		lie string
		in  string // the case that must catch it
		how func(good store.Store, s *twisted)
	}{
		{"acknowledged but not there", "append/acknowledged_events_are_in_the_log", func(good store.Store, s *twisted) {
			lose := everySo(5)
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				if lose() {
					b, err := good.Bound(ctx, bucket)
					return b.End, err
				}
				return good.Append(ctx, bucket, events)
			}
		}},
		{"acknowledged, and lost in the next life", "reopen/what_was_stored_is_still_there", func(good store.Store, s *twisted) {
			// This life's appends past the fifth go to a log that nobody will find again.
			volatile := memstore.New(2)
			var n atomic.Int64
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				if n.Add(1) < 5 {
					volatile.Append(ctx, bucket, events)
					return good.Append(ctx, bucket, events)
				}
				return volatile.Append(ctx, bucket, events)
			}
			s.bound, s.read = volatile.Bound, volatile.Read
			copyLog(good, volatile)
		}},
		{"a gap that is not told", "read/delivers_every_record_of_any_range", func(good store.Store, s *twisted) {
			records(good, s, func(r store.Record) []store.Record {
				if r.Offset == 4 {
					return nil
				}
				return []store.Record{r}
			})
		}},
		{"a gap that later offsets close", "read/delivers_every_record_of_any_range", func(good store.Store, s *twisted) {
			s.read = func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
				shift := int64(0)
				return good.Read(ctx, bucket, from, to, func(r *store.Record) error {
					if r.Offset == 4 {
						shift++
						return nil
					}
					r.Offset -= shift
					return fn(r)
				})
			}
		}},
		{"an empty read as the end", "read/delivers_every_record_of_any_range", func(good store.Store, s *twisted) {
			empty := everySo(3)
			s.read = func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
				if empty() {
					return nil
				}
				return good.Read(ctx, bucket, from, to, fn)
			}
		}},
		{"a read that ends early", "read/delivers_every_record_of_any_range", func(good store.Store, s *twisted) {
			s.read = func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
				return good.Read(ctx, bucket, from, min(to, from+9), fn)
			}
		}},
		{"beyond the end is quietly cut", "read/beyond_the_end_is_an_error", func(good store.Store, s *twisted) {
			s.read = func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
				b, err := good.Bound(ctx, bucket)
				if err != nil {
					return err
				}
				return good.Read(ctx, bucket, min(from, b.End), min(to, b.End), fn)
			}
		}},
		{"a batch out of order", "append/a_batch_is_whole_and_in_order", func(good store.Store, s *twisted) {
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				other := slices.Clone(events)
				slices.Reverse(other)
				return good.Append(ctx, bucket, other)
			}
		}},
		{"a torn batch, called unknown", "append/a_batch_is_whole_and_in_order", func(good store.Store, s *twisted) {
			tear := everySo(4)
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				if len(events) > 1 && tear() {
					good.Append(ctx, bucket, events[:len(events)/2])
					return 0, answer(store.Unknown, bucket)
				}
				return good.Append(ctx, bucket, events)
			}
		}},
		{"a batch event by event", "append/a_batch_becomes_visible_at_once", func(good store.Store, s *twisted) {
			var mu sync.Mutex
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				mu.Lock()
				defer mu.Unlock()
				first := int64(-1)
				for i := range events {
					at, err := good.Append(ctx, bucket, events[i:i+1])
					if err != nil {
						return 0, err
					}
					if first < 0 {
						first = at
					}
					for range 20 {
						runtime.Gosched()
					}
				}
				return first, nil
			}
		}},
		{"concurrent batches mixed", "append/concurrent_batches_stay_whole", func(good store.Store, s *twisted) {
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				first := int64(-1)
				for i := range events {
					at, err := good.Append(ctx, bucket, events[i:i+1])
					if err != nil {
						return 0, err
					}
					if first < 0 {
						first = at
					}
					runtime.Gosched()
				}
				return first, nil
			}
		}},
		{"the events of the caller are kept and read later", "append/a_batch_is_whole_and_in_order", func(good store.Store, s *twisted) {
			var mu sync.Mutex
			kept := make(map[[2]int64]*intent.Event)
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				mu.Lock()
				defer mu.Unlock()
				first, err := good.Append(ctx, bucket, events)
				if len(events) <= 7 {
					return first, err // else it races with the kit where that is concurrent
				}
				for i := range events {
					kept[[2]int64{int64(bucket), first + int64(i)}] = &events[i]
				}
				return first, err
			}
			s.read = func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
				return good.Read(ctx, bucket, from, to, func(r *store.Record) error {
					mu.Lock()
					if e := kept[[2]int64{int64(bucket), r.Offset}]; e != nil {
						r.Event = *e
					}
					mu.Unlock()
					return fn(r)
				})
			}
		}},
		{"unknown called not stored", "append/a_batch_is_whole_and_in_order", func(good store.Store, s *twisted) {
			lie := everySo(4)
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				first, err := good.Append(ctx, bucket, events)
				if lie() {
					return 0, answer(store.NotStored, bucket)
				}
				return first, err
			}
		}},
		{"a cancelled append called not stored", "append/a_cancelled_append_tells_what_is_known", func(good store.Store, s *twisted) {
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				first, err := good.Append(context.WithoutCancel(ctx), bucket, events)
				if err == nil && ctx.Err() != nil {
					return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: ctx.Err()}
				}
				return first, err
			}
		}},
		{"stored twice", "append/a_batch_is_whole_and_in_order", func(good store.Store, s *twisted) {
			again := everySo(6)
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				if again() {
					good.Append(ctx, bucket, events)
				}
				return good.Append(ctx, bucket, events)
			}
		}},
		{"a record delivered twice", "read/delivers_every_record_of_any_range", func(good store.Store, s *twisted) {
			records(good, s, func(r store.Record) []store.Record {
				if r.Offset == 3 {
					return []store.Record{r, r}
				}
				return []store.Record{r}
			})
		}},
		{"altered bytes", "append/all_nine_columns_come_back_unchanged", func(good store.Store, s *twisted) {
			records(good, s, func(r store.Record) []store.Record {
				if len(r.Event.Detail) > 1000 {
					r.Event.Detail = r.Event.Detail[:1000] + "!" + r.Event.Detail[1001:]
				}
				return []store.Record{r}
			})
		}},
		{"a negative time made zero", "append/all_nine_columns_come_back_unchanged", func(good store.Store, s *twisted) {
			records(good, s, func(r store.Record) []store.Record {
				r.Event.EmittedAtMS = max(r.Event.EmittedAtMS, 0)
				return []store.Record{r}
			})
		}},
		{"an old end", "bound/covers_what_was_acknowledged_before", func(good store.Store, s *twisted) {
			s.bound = func(ctx context.Context, bucket int) (store.Bound, error) {
				b, err := good.Bound(ctx, bucket)
				b.End = max(b.End-1, 0)
				return b, err
			}
		}},
		{"an end that many writers outrun", "bound/is_linearizable_among_many_writers", func(good store.Store, s *twisted) {
			var mu sync.Mutex
			known := make(map[int]store.Bound)
			old := everySo(2)
			s.bound = func(ctx context.Context, bucket int) (store.Bound, error) {
				mu.Lock()
				defer mu.Unlock()
				if b, ok := known[bucket]; ok && old() {
					return b, nil
				}
				b, err := good.Bound(ctx, bucket)
				known[bucket] = b
				return b, err
			}
		}},
		{"an end that moves back", "bound/never_moves_back", func(good store.Store, s *twisted) {
			back := everySo(7)
			s.bound = func(ctx context.Context, bucket int) (store.Bound, error) {
				b, err := good.Bound(ctx, bucket)
				if back() {
					b.End /= 2
				}
				return b, err
			}
		}},
		{"an end too high", "bound/of_an_empty_bucket_can_be_read", func(good store.Store, s *twisted) {
			s.bound = func(ctx context.Context, bucket int) (store.Bound, error) {
				b, err := good.Bound(ctx, bucket)
				b.End++
				return b, err
			}
		}},
		{"a clock that falls", "bound/time_is_not_before_any_record", func(good store.Store, s *twisted) {
			records(good, s, func(r store.Record) []store.Record {
				r.CommitMS -= r.Offset
				return []store.Record{r}
			})
		}},
		{"a bound before its records", "bound/time_is_not_before_any_record", func(good store.Store, s *twisted) {
			s.bound = func(ctx context.Context, bucket int) (store.Bound, error) {
				b, err := good.Bound(ctx, bucket)
				b.NowMS = 1
				return b, err
			}
		}},
		{"an error of fn swallowed", "read/ends_with_the_error_of_fn", func(good store.Store, s *twisted) {
			s.read = func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
				return good.Read(ctx, bucket, from, to, func(r *store.Record) error {
					fn(r)
					return nil
				})
			}
		}},
		{"a cancelled read as the end", "read/ends_when_cancelled", func(good store.Store, s *twisted) {
			s.read = func(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
				err := good.Read(ctx, bucket, from, to, fn)
				if errors.Is(err, context.Canceled) {
					return nil
				}
				return err
			}
		}},
		{"closed, and appends are unknown", "close/ends_every_call", func(good store.Store, s *twisted) {
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				first, err := good.Append(ctx, bucket, events)
				if errors.Is(err, store.ErrClosed) {
					return 0, store.ErrClosed
				}
				return first, err
			}
		}},
		{"stored while closing, called not stored", "close/lets_appends_in_flight_end", func(good store.Store, s *twisted) {
			mem := good.(*memstore.Store)
			s.append = func(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
				first, err := good.Append(ctx, bucket, events)
				if errors.Is(err, store.ErrClosed) {
					mem.Reopen().Append(ctx, bucket, events)
				}
				return first, err
			}
		}},
	} {
		t.Run(liar.lie, func(t *testing.T) {
			failures, err := storetest.Check(twist(liar.how))
			require.NoError(t, err)
			var caught []string
			for _, f := range failures {
				caught = append(caught, f.Case)
			}
			require.Contains(t, caught, liar.in)
		})
	}
}

// copyLog appends what is in one log to another.
func copyLog(from, to store.Store) {
	ctx := context.Background()
	for bucket := range from.Buckets() {
		b, err := from.Bound(ctx, bucket)
		if err != nil {
			panic(err)
		}
		err = from.Read(ctx, bucket, 0, b.End, func(r *store.Record) error {
			_, err := to.Append(ctx, bucket, []intent.Event{r.Event})
			return err
		})
		if err != nil {
			panic(err)
		}
	}
}
