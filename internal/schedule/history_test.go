package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// call is what a client asked of one bucket, and answer what it was told.
type (
	call struct {
		kind   string // append, bound, read
		bucket int
		ids    string // append: each ended by a space
		to     int64  // read: [0, to)
	}
	answer struct {
		outcome store.Outcome // append
		at      int64         // append: the first offset; bound: the end
		ids     string        // read
	}
)

// logModel is a bucket as one register: the IDs in it. An append of which nobody
// knows is in it or is not, at any time after it began.
func logModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			parts := make([][]porcupine.Operation, 2)
			for _, op := range history {
				b := op.Input.(call).bucket
				parts[b] = append(parts[b], op)
			}
			return parts
		},
		Init: func() []any { return []any{""} },
		Step: func(state, input, output any) []any {
			log, in, out := state.(string), input.(call), output.(answer)
			end := int64(strings.Count(log, " "))
			ok := false
			switch in.kind {
			case "append":
				switch out.outcome {
				case store.Unknown:
					return []any{log, log + in.ids}
				case store.NotStored:
					return []any{log}
				}
				if out.at == end {
					return []any{log + in.ids}
				}
			case "bound":
				ok = out.at == end
			case "read":
				ok = in.to <= end && strings.HasPrefix(log, out.ids) && int64(strings.Count(out.ids, " ")) == in.to
			}
			if ok {
				return []any{log}
			}
			return nil
		},
	}
	return m.ToModel()
}

// history lets clients at a store and notes what they were told. open returns the
// handle of a client.
func history(t *testing.T, seed uint64, open func(client int) store.Store) []porcupine.Operation {
	const clients, calls = 4, 24
	var mu sync.Mutex
	var ops []porcupine.Operation
	var tick atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		st, rng := open(client), rand.New(rand.NewPCG(seed, uint64(client)))
		wg.Go(func() {
			var known [2]int64
			for n := range calls {
				in := call{kind: []string{"append", "append", "bound", "read"}[rng.IntN(4)], bucket: rng.IntN(2)}
				in.to = known[in.bucket]
				var events []intent.Event
				for k := range 1 + rng.IntN(2) {
					ev := intent.NewBarrier(fmt.Sprintf("%d-%d-%d", client, n, k), 1)
					events = append(events, ev)
					if in.kind == "append" {
						in.ids += string(ev.EventID) + " "
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				if rng.IntN(4) == 0 {
					go cancel() // some time, or never in time
				}
				began := tick.Add(1)
				out, told := ask(ctx, st, in, events)
				ended := tick.Add(1)
				cancel()
				if !told {
					continue
				}
				if in.kind == "bound" {
					known[in.bucket] = out.at
				}
				if in.kind == "append" && out.outcome == store.Unknown {
					ended = 1 << 40 // it may land whenever it likes
				}
				mu.Lock()
				ops = append(ops, porcupine.Operation{ClientId: client, Input: in, Call: began, Output: out, Return: ended})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return ops
}

// ask makes one call. An error of a bound or a read tells nothing.
func ask(ctx context.Context, st store.Store, in call, events []intent.Event) (out answer, told bool) {
	var err error
	switch in.kind {
	case "append":
		out.at, err = st.Append(ctx, in.bucket, events)
		out.outcome = store.OutcomeOf(err)
		return out, true
	case "bound":
		var b store.Bound
		b, err = st.Bound(ctx, in.bucket)
		out.at = b.End
	case "read":
		err = st.Read(ctx, in.bucket, 0, in.to, func(r *store.Record) error {
			out.ids += string(r.Event.EventID) + " "
			return nil
		})
	}
	return out, err == nil
}

// lossy is a network between a client and its log: requests and acknowledgements
// are lost, and a request may land when its sender has long given up.
type lossy struct {
	store.Store
	late *sync.WaitGroup
	rng  *rand.Rand
	// stale and forgetful are lies, for the test of the test.
	stale, forgetful bool
}

var errLost = errors.New("no answer")

func (l lossy) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	unknown := &store.AppendError{Bucket: bucket, Outcome: store.Unknown, Err: errLost}
	switch l.rng.IntN(20) { // seldom: each doubles what the check must try
	case 0:
		return 0, unknown
	case 1:
		_, _ = l.Store.Append(context.WithoutCancel(ctx), bucket, events)
		return 0, unknown
	case 2:
		events = append([]intent.Event(nil), events...)
		l.late.Go(func() { _, _ = l.Store.Append(context.WithoutCancel(ctx), bucket, events) })
		return 0, unknown
	}
	if l.forgetful {
		b, err := l.Store.Bound(ctx, bucket)
		return b.End, err
	}
	return l.Store.Append(ctx, bucket, events)
}

func (l lossy) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	b, err := l.Store.Bound(ctx, bucket)
	if l.stale {
		b.End = max(0, b.End-1)
	}
	return b, err
}

func TestStoresAreLinearizable(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, round int) func(client int) store.Store{
		"memory": func(*testing.T, int) func(int) store.Store {
			st := memstore.New(2)
			return func(int) store.Store { return st.Reopen() }
		},
		"file": func(t *testing.T, round int) func(int) store.Store {
			st, err := sqlitestore.Open(filepath.Join(t.TempDir(), fmt.Sprint(round)), &sqlitestore.Options{Buckets: 2})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, st.Close()) })
			return func(int) store.Store { return st }
		},
		"network": func(t *testing.T, round int) func(int) store.Store {
			st, late := memstore.New(2), &sync.WaitGroup{}
			t.Cleanup(late.Wait)
			return func(client int) store.Store {
				return lossy{Store: st.Reopen(), late: late, rng: rand.New(rand.NewPCG(uint64(round), uint64(client)))}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			counts := map[string]int{}
			for round := range 20 {
				ops := history(t, uint64(round), open(t, round))
				for _, op := range ops {
					kind := op.Input.(call).kind
					if kind == "append" {
						kind += " " + op.Output.(answer).outcome.String()
					}
					counts[kind]++
				}
				require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(logModel(), ops, 30*time.Second), "round %d", round)
			}
			t.Log(counts)
			for _, kind := range []string{"append stored", "bound", "read"} {
				require.Positive(t, counts[kind], kind)
			}
		})
	}
}

func TestHistoriesShowLies(t *testing.T) {
	for name, lie := range map[string]lossy{
		"a bound that is too low":                          {stale: true},
		"an acknowledgement of what the log does not hold": {forgetful: true},
	} {
		t.Run(name, func(t *testing.T) {
			st, late := memstore.New(2), &sync.WaitGroup{}
			ops := history(t, 1, func(client int) store.Store {
				l := lie
				l.Store, l.late, l.rng = st.Reopen(), late, rand.New(rand.NewPCG(1, uint64(client)))
				return l
			})
			late.Wait()
			require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(logModel(), ops, time.Minute))
		})
	}
}
