package flussstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/faultproxy"
	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

func TestWorkerOnFluss(t *testing.T) {
	c := flusstest.SharedCluster(t)
	for _, format := range []flussstore.Format{flussstore.Arrow, flussstore.Indexed} {
		t.Run(format.String(), func(t *testing.T) {
			l := newLedger(t)
			st := openTable(t, c.Bootstrap(), flussstore.Options{Table: newTable(), Buckets: 3, Format: format})
			w := l.worker(t, st, "billing-0", nil)
			for n := range 12 {
				job, body := intent.JobID(fmt.Sprintf("order-%d", n)), fmt.Sprintf(`{"amount":%d}`, n)
				for range 2 { // the second time is answered out of the log
					out, err := w.Do(t.Context(), job, charge(body))
					require.NoError(t, err)
					require.Equal(t, intentlog.Confirmed, out.Status)
					require.JSONEq(t, `{"ok":true}`, string(out.Receipt.Body))
				}
			}
			require.Len(t, l.effects, 12)
			require.Equal(t, 12, l.posts)
		})
	}
}

func TestTheNextLifeOfAWorkerSettlesWhatTheLastLeftOpen(t *testing.T) {
	c := flusstest.SharedCluster(t)
	for _, tt := range []struct {
		name   string
		posted bool // the request reached the service before the crash
		want   intentlog.Outcome
	}{
		{"before the request", false, intentlog.Outcome{Status: intentlog.Confirmed}},
		{"after the effect", true, intentlog.Outcome{Status: intentlog.Reconciled}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger(t)
			o := flussstore.Options{Table: newTable(), Buckets: 2}
			first := openTable(t, c.Bootstrap(), o)
			ctx, crash := context.WithCancel(t.Context())
			dying := l.worker(t, first, "billing-0", roundTripper(func(r *http.Request) (*http.Response, error) {
				if tt.posted {
					resp, err := http.DefaultTransport.RoundTrip(r)
					if err == nil {
						_ = resp.Body.Close()
					}
				}
				// The process ends here: its log is closed under it and it learns nothing more.
				crash()
				_ = first.Close()
				return nil, errors.New("the process is gone")
			}))
			_, err := dying.Do(ctx, "order-1", charge(`{"amount":1}`))
			require.Error(t, err)
			before := l.posts

			next := l.worker(t, openTable(t, c.Bootstrap(), o), "billing-0", nil)
			report, err := next.Recover(t.Context())
			require.NoError(t, err)
			require.Len(t, report.Outcomes, 1)
			require.Equal(t, tt.want.Status, report.Outcomes[0].Status)
			require.Len(t, l.effects, 1)
			require.Equal(t, 1, l.posts)
			require.Equal(t, tt.posted, before == 1)
			report, err = next.Recover(t.Context())
			require.NoError(t, err)
			require.Empty(t, report.Outcomes, "nothing is left")
		})
	}
}

// Two workers at the same jobs in the same buckets, each interrupted at random, each taking over what the other left.
func TestTwoWorkersShareBucketsAndTakeOver(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *flusstest.Cluster, replicas int) {
		rounds := 2
		switch {
		case *long:
			rounds = 20
		case replicas > 1:
			rounds = 1
		}
		for round := range rounds {
			t.Run(fmt.Sprint(round), func(t *testing.T) { takeOver(t, c, replicas, round) })
		}
	})
}

// onEachCluster runs f on one server with one copy of the log, and on three with three.
func onEachCluster(t *testing.T, f func(t *testing.T, c *flusstest.Cluster, replicas int)) {
	t.Run("replicas=1", func(t *testing.T) { f(t, flusstest.SharedCluster(t), 1) })
	t.Run("replicas=3", func(t *testing.T) { f(t, replicated(t), 3) })
}

func takeOver(t *testing.T, c *flusstest.Cluster, replicas, round int) {
	const jobs = 24
	l := newLedger(t)
	o := flussstore.Options{Table: newTable(), Buckets: 3, Replicas: replicas, Create: true}
	p := faultproxy.New(faultproxy.Fluss)
	defer p.Close()
	openTable(t, c.Bootstrap(), o)
	o.Dial = p.Dial
	rng := rand.New(rand.NewPCG(uint64(round), 1))
	p.SetHook(func(f faultproxy.Frame) faultproxy.Action {
		switch rng.IntN(300) {
		case 0:
			return faultproxy.Action{Cut: true}
		case 1:
			return faultproxy.Action{Cut: true, Replace: f.Bytes[:rng.IntN(len(f.Bytes))]}
		case 2:
			return faultproxy.Action{Cut: true, Drop: true}
		}
		return faultproxy.Action{}
	})
	var mu sync.Mutex
	takeovers := 0
	var wg sync.WaitGroup
	for n, name := range []string{"a", "b"} {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(round), uint64(2+n)))
			for life := range 3 {
				err := oneLife(t.Context(), l, c.Bootstrap(), o, name, rng, life == 2, jobs, func() {
					mu.Lock()
					defer mu.Unlock()
					takeovers++
				})
				if err != nil {
					t.Errorf("worker %s, life %d: %v", name, life, err)
				}
			}
		})
	}
	wg.Wait()

	st := openTable(t, c.Bootstrap(), flussstore.Options{Table: o.Table})
	last := l.worker(t, st, "z", nil)
	_, err := last.Recover(t.Context())
	require.NoError(t, err)
	for n := range jobs {
		out, err := last.Do(t.Context(), jobID(n), charge(payload(n)))
		require.NoError(t, err)
		require.Contains(t, []any{intentlog.Confirmed, intentlog.Reconciled}, any(out.Status))
	}
	require.Len(t, l.effects, jobs)
	require.Zero(t, l.wrong)
	for n := range jobs {
		require.Equal(t, payload(n), l.effects[string(jobID(n))+"/1"])
	}
	t.Logf("%d effects by %d posts, %d jobs taken over", len(l.effects), l.posts, takeovers)
}

func jobID(n int) intent.JobID { return intent.JobID(fmt.Sprintf("order-%d", n)) }
func payload(n int) string     { return fmt.Sprintf(`{"amount":%d}`, n) }

// oneLife opens a worker and does all jobs in random order. Some calls are interrupted, and a life that is not to
// finish ends in the middle, with its store.
func oneLife(ctx context.Context, l *ledger, bootstrap string, o flussstore.Options, name string, rng *rand.Rand, finish bool, jobs int, taken func()) error {
	st, err := flussstore.Open(ctx, bootstrap, &o)
	if err != nil {
		return err
	}
	defer st.Close()
	// An interrupted request arrives, and neither its answer nor that of a lookup comes back.
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && r.Context().Value(interrupted{}) != nil {
			_ = resp.Body.Close()
			return nil, errors.New("the answer is lost")
		}
		return resp, err
	})
	w, err := intentlog.Open(ctx, st, name, l.options(transport))
	if err != nil {
		return err
	}
	defer w.Close()
	recoverAll := func() error {
		report, err := w.Recover(ctx)
		if report != nil {
			for _, d := range report.Outcomes {
				if d.Attempt > 1 {
					taken()
				}
			}
		}
		if errors.Is(err, intentlog.ErrFenced) || errors.Is(err, intentlog.ErrBusy) {
			return nil
		}
		return err
	}
	order := rng.Perm(jobs)
	if !finish {
		order = order[:jobs/2]
	}
	for i, n := range order {
		callCtx, cancel := ctx, func() {}
		switch rng.IntN(4) {
		case 0:
			callCtx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(3000))*time.Microsecond)
		case 1:
			callCtx = context.WithValue(ctx, interrupted{}, true)
		}
		_, err := w.Do(callCtx, jobID(n), charge(payload(n)))
		cancel()
		switch {
		case err == nil || callCtx.Err() != nil:
		case errors.Is(err, intentlog.ErrFenced), errors.Is(err, intentlog.ErrUnsettled), errors.Is(err, intentlog.ErrBusy):
		default:
			return fmt.Errorf("%s: %w", jobID(n), err)
		}
		if i%6 == 5 {
			if err := recoverAll(); err != nil {
				return fmt.Errorf("recover: %w", err)
			}
		}
	}
	return nil
}

func TestManyOpenAndCreateAtOnce(t *testing.T) {
	c := flusstest.SharedCluster(t)
	o := flussstore.Options{Database: "db" + newTable(), Table: newTable(), Buckets: 3, Create: true}
	const openers = 6
	stores, errs := make([]*flussstore.Store, openers), make([]error, openers)
	var wg sync.WaitGroup
	for i := range openers {
		wg.Go(func() { stores[i], errs[i] = flussstore.Open(t.Context(), c.Bootstrap(), &o) })
	}
	wg.Wait()
	for i, st := range stores {
		require.NoError(t, errs[i])
		_, err := st.Append(t.Context(), 0, numbered(i, 1))
		require.NoError(t, err)
	}
	b, err := stores[0].Bound(t.Context(), 0)
	require.NoError(t, err)
	got, err := readAll(t, stores[1], 0, 0, b.End)
	require.NoError(t, err)
	require.Equal(t, numbered(0, openers), got[:openers], "one table")
	for _, st := range stores {
		require.NoError(t, st.Close())
	}
}

func TestATableDroppedAndCreatedBetweenBoundAndRead(t *testing.T) {
	onEachCluster(t, recreated)
}

func recreated(t *testing.T, c *flusstest.Cluster, replicas int) {
	o := flussstore.Options{Table: newTable(), Replicas: replicas}
	st := openTable(t, c.Bootstrap(), o)
	put(t, st, 0, 0, 9)
	b, err := st.Bound(t.Context(), 0)
	require.NoError(t, err)
	admin := fluss.New(fluss.Options{Bootstrap: []string{c.Bootstrap()}})
	defer admin.Close()
	require.NoError(t, admin.DropTable(t.Context(), fluss.Path{Database: flussstore.DefaultDatabase, Table: o.Table}))
	other := openTable(t, c.Bootstrap(), o)
	put(t, other, 0, 100, 20)

	got, err := readAll(t, st, 0, 0, b.End)
	require.ErrorIs(t, err, store.ErrTableChanged)
	require.Empty(t, got)
	_, err = st.Append(t.Context(), 0, numbered(9, 1))
	require.ErrorIs(t, err, store.ErrTableChanged)
	require.Equal(t, store.NotStored, store.OutcomeOf(err))
	_, err = st.Bound(t.Context(), 0)
	require.ErrorIs(t, err, store.ErrTableChanged)
	got, err = readAll(t, other, 0, 0, 20)
	require.NoError(t, err)
	require.Equal(t, numbered(100, 20), got, "nothing of the old writer is in the new table")
}

func TestRealServersTellTheirSettings(t *testing.T) {
	c := flusstest.SharedCluster(t)
	st := openTable(t, c.Bootstrap(), flussstore.Options{Table: newTable(), Buckets: 2})
	require.Equal(t, flussstore.Durability{Replicas: 1, MinISR: 1, Verified: true}, st.Durability())
	_, err := flussstore.Open(t.Context(), c.Bootstrap(), &flussstore.Options{
		Create: true, Table: newTable(), Require: flussstore.Durability{Replicas: 3, MinISR: 2},
	})
	require.ErrorIs(t, err, store.ErrNotDurableEnough)
}
