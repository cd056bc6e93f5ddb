package recovery

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/store"
)

// counting delivers records without events, and then err.
type counting struct {
	store.Store
	err error
}

func (c counting) Read(_ context.Context, _ int, from, to int64, fn func(*store.Record) error) error {
	for at := from; at < to; at++ {
		if err := fn(&store.Record{Offset: at}); err != nil {
			return err
		}
	}
	return c.err
}

func TestReadAheadDeliversWhatTheStoreDelivers(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int64{0, 1, 4*aheadBatch - 1, 4 * aheadBatch, 4*aheadBatch + 1, 50 * aheadBatch} {
		for _, failure := range []error{nil, broken} {
			next := int64(7)
			err := readAhead(t.Context(), counting{err: failure}, 0, 7, 7+n, func(r *store.Record) error {
				require.Equal(t, next, r.Offset)
				next++
				return nil
			})
			require.Equal(t, failure, err)
			require.Equal(t, 7+n, next, "nothing that came before an error is lost")
		}
	}
}

func TestReadAheadEndsWithTheFold(t *testing.T) {
	enough := errors.New("enough")
	for _, n := range []int64{0, 1, aheadBatch, 5*aheadBatch + 3, 50*aheadBatch - 1} {
		seen := int64(0)
		err := readAhead(t.Context(), counting{}, 0, 0, 50*aheadBatch, func(*store.Record) error {
			if seen == n {
				return enough
			}
			seen++
			return nil
		})
		require.Equal(t, enough, err)
		require.Equal(t, n, seen)
	}
}
