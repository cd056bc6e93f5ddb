package sealed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sealed"
)

// network is a store that loses appends and answers, and delivers appends late.
type network struct {
	*memstore.Store
	rnd  *rand.Rand
	late *[][]intent.Event
}

func (n *network) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	lost := &store.AppendError{Bucket: bucket, Err: errors.New("no answer")}
	switch n.rnd.IntN(6) {
	case 0: // not there, or not yet
		*n.late = append(*n.late, events)
		return 0, lost
	case 1:
		if _, err := n.Store.Append(ctx, bucket, events); err != nil {
			return 0, err
		}
		return 0, lost
	case 2:
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: errors.New("refused")}
	}
	return n.Store.Append(ctx, bucket, events)
}

// TestHonestOwnersNeverDistrustEachOther: whatever is lost, late, repeated or read in
// part, a log of key holders is genuine to every one of them, in every life.
func TestHonestOwnersNeverDistrustEachOther(t *testing.T) {
	const owners = 3
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		log, late := memstore.New(1), [][]intent.Event(nil)
		opts := &sealed.Options{Mode: sealed.Mode(rnd.IntN(2)), SignBarriers: rnd.IntN(2) == 0}
		life := func() store.Store {
			return wrap(t, &network{log.Reopen(), rnd, &late}, ring, opts)
		}
		var lives [owners]store.Store
		var again [owners][]intent.Event // whose outcome this owner does not know
		for i := range lives {
			lives[i] = life()
		}
		steps := map[intent.JobID]int32{}
		for range 60 {
			i := rnd.IntN(owners)
			st := lives[i]
			switch rnd.IntN(8) {
			case 0:
				lives[i], again[i] = life(), nil
			case 1:
				if len(late) > 0 {
					_, err := log.Append(t.Context(), 0, late[0])
					require.NoError(t, err)
					late = late[1:]
				}
			case 2, 3: // read a part, which need not begin where the last one ended
				b, err := st.Bound(t.Context(), 0)
				if err != nil {
					continue // a barrier in doubt
				}
				from := rnd.Int64N(b.End + 1)
				if rnd.IntN(2) == 0 {
					from = 0
				}
				require.NoError(t, st.Read(t.Context(), 0, from, b.End, func(*store.Record) error { return nil }), "seed %d", seed)
			default:
				batch := again[i]
				for n := rnd.IntN(3); batch == nil && n >= 0 || n > 0; n-- {
					job := intent.JobID(fmt.Sprintf("job-%d", rnd.IntN(2)))
					steps[job]++
					batch = append(batch, by(stranger, job, 1, steps[job], intent.Started, "{}"))
				}
				_, err := st.Append(t.Context(), 0, batch)
				if again[i] = nil; store.OutcomeOf(err) == store.Unknown {
					again[i] = batch
				}
			}
		}
		require.NoError(t, readAll(t.Context(), wrap(t, log, ring, opts)), "seed %d", seed)
	}
}
