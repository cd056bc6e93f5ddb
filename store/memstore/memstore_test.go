package memstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

func TestCommitTimeIsTheClockOfTheLogAndNeverFalls(t *testing.T) {
	ctx := context.Background()
	now := int64(1000)
	st := memstore.NewWith(2, &memstore.Options{NowMS: func() int64 { return now }})
	add := func() {
		_, err := st.Append(ctx, 1, []intent.Event{intent.NewBarrier("a", 5)})
		require.NoError(t, err)
	}
	add()
	now = 400 // the clock is set back
	add()
	b, err := st.Bound(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, store.Bound{End: 2, NowMS: 1000}, b)
	now = 3000
	add()
	var times []int64
	require.NoError(t, st.Read(ctx, 1, 0, 3, func(r *store.Record) error {
		times = append(times, r.CommitMS)
		return nil
	}))
	require.Equal(t, []int64{1000, 1000, 3000}, times)

	b, err = st.Bound(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, store.Bound{End: 0, NowMS: 3000}, b, "each bucket has its own end")
}

func TestAnotherHandleSeesTheSameLog(t *testing.T) {
	ctx := context.Background()
	st := memstore.New(1)
	_, err := st.Append(ctx, 0, []intent.Event{intent.NewBarrier("a", 5)})
	require.NoError(t, err)
	require.NoError(t, st.Close())
	b, err := st.Reopen().Bound(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, int64(1), b.End)
	_, err = st.Bound(ctx, 0)
	require.ErrorIs(t, err, store.ErrClosed)
}

func TestAReaderCannotChangeTheLog(t *testing.T) {
	ctx := context.Background()
	st := memstore.New(1)
	events := []intent.Event{intent.NewBarrier("a", 5)}
	_, err := st.Append(ctx, 0, events)
	require.NoError(t, err)
	want := events[0]
	events[0].Detail = "changed after the append"
	for range 2 {
		require.NoError(t, st.Read(ctx, 0, 0, 1, func(r *store.Record) error {
			require.Equal(t, want, r.Event)
			r.Event.Detail = "changed by a reader"
			return nil
		}))
	}
}
