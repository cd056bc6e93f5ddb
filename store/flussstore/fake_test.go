package flussstore_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

var logPath = msg.TablePath{Database: flussstore.DefaultDatabase, Table: flussstore.DefaultTable}

// onFake runs f in a synctest bubble, where waiting takes no time, on a new log of two buckets in a fake cluster
// of two tablet servers.
func onFake(t *testing.T, f func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store)) {
	t.Helper()
	withFake(t, flusstest.FakeOptions{Tablets: 2}, func(t *testing.T, fake *flusstest.Fake) {
		st, err := flussstore.Open(t.Context(), fake.Bootstrap(), &flussstore.Options{Create: true, Buckets: 2, Dial: fake.Dial})
		require.NoError(t, err)
		defer st.Close()
		f(t, fake, st)
	})
}

func withFake(t *testing.T, o flusstest.FakeOptions, f func(t *testing.T, fake *flusstest.Fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake, err := flusstest.NewFake(o)
		require.NoError(t, err)
		defer fake.Close()
		f(t, fake)
	})
}

const owner = "00000000-0000-4000-8000-000000000001"

// event makes the n-th event of the tests. No column is empty and no two are alike.
func event(n int) intent.Event {
	job := intent.JobID(fmt.Sprintf("job-%d", n))
	detail := fmt.Sprintf(`{"n":%d,"text":"gr\u00fc\u00dfe \"%0*d\""}`, n, n%50, n)
	return intent.Event{
		JobID: job, EventID: intent.NewEventID(job, 1, owner, int32(n+1)), Attempt: 1, Step: int32(n + 1),
		Type: intent.ActionRequested, ActionID: intent.ActionID(fmt.Sprintf("action-%d", n)),
		PayloadDigest: intent.DigestOf([]byte(detail)), EmittedAtMS: 1_700_000_000_000 + int64(n), Detail: detail,
	}
}

// put appends events one by one, numbered from first on.
func put(t *testing.T, st store.Store, bucket, first, count int) {
	t.Helper()
	for n := first; n < first+count; n++ {
		_, err := st.Append(t.Context(), bucket, []intent.Event{event(n)})
		require.NoError(t, err)
	}
}

// readAll returns the events of a range.
func readAll(t *testing.T, st store.Store, bucket int, from, to int64) ([]intent.Event, error) {
	t.Helper()
	var all []intent.Event
	err := st.Read(t.Context(), bucket, from, to, func(r *store.Record) error {
		if want := from + int64(len(all)); r.Offset != want {
			return fmt.Errorf("offset %d, want %d", r.Offset, want)
		}
		all = append(all, r.Event)
		return nil
	})
	return all, err
}

func numbered(first, count int) []intent.Event {
	var all []intent.Event
	for n := first; n < first+count; n++ {
		all = append(all, event(n))
	}
	return all
}

// on makes a hook that acts on all requests of an API.
func on(key msg.Key, act flusstest.Action) func(flusstest.Request) flusstest.Action {
	return func(r flusstest.Request) flusstest.Action {
		if r.Key == key {
			return act
		}
		return flusstest.Action{}
	}
}

// once makes a hook that acts on the first request of an API that comes after it was made.
func once(key msg.Key, act flusstest.Action) func(flusstest.Request) flusstest.Action {
	token := make(chan struct{}, 1)
	token <- struct{}{}
	return func(r flusstest.Request) flusstest.Action {
		if r.Key == key {
			select {
			case <-token:
				return act
			default:
			}
		}
		return flusstest.Action{}
	}
}
