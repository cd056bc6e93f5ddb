package flussstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

func TestAnswersToAnAppend(t *testing.T) {
	for _, tt := range []struct {
		code     msg.Code
		outcome  store.Outcome // when every copy is answered so
		appended store.Outcome // when the first copy is appended and then answered so
		why      string
	}{
		{msg.NotEnoughReplicas, store.NotStored, store.Stored, "checked before the append"},
		{msg.NotEnoughReplicasAfterAppend, store.Unknown, store.Stored, "appended on the leader"},
		{msg.RequestTimeOut, store.Unknown, store.Stored, "appended, the high watermark did not reach it in time"},
		{msg.NotLeaderOrFollower, store.Unknown, store.Stored, "before the append, or while waiting after it"},
		{msg.LogStorage, store.Unknown, store.Stored, "a disk error may come at any moment"},
		{msg.Storage, store.Unknown, store.Stored, "a disk error may come at any moment"},
		{msg.OutOfOrderSequence, store.Unknown, store.Stored, "an earlier copy may be in"},
		{msg.DuplicateSequence, store.Unknown, store.Unknown, "an earlier copy is in, and it is not said where"},
		{msg.UnknownWriterID, store.Unknown, store.Stored, "no word about an earlier copy"},
		{msg.CorruptMessage, store.NotStored, store.NotStored, "refused before the append"},
		{msg.RecordTooLarge, store.NotStored, store.NotStored, "refused before the append"},
		{msg.Authorization, store.NotStored, store.NotStored, "refused before the append"},
		{msg.Authenticate, store.NotStored, store.NotStored, "refused before the append"},
		{msg.TableNotExist, store.NotStored, store.NotStored, "refused before the append"},
		{msg.UnknownTableOrBucket, store.NotStored, store.Stored, "refused before the append"},
		{msg.UnknownServerError, store.Unknown, store.Stored, "says nothing"},
		{msg.DiskWriteLocked, store.NotStored, store.Stored, "1.0: a full disk, checked before the append"},
		{msg.NotCoordinatorLeader, store.Unknown, store.Unknown, "1.0: not an answer to an append, so it proves nothing"},
		{msg.Code(4711), store.Unknown, store.Unknown, "a code of the future proves nothing"},
	} {
		t.Run(tt.code.String(), func(t *testing.T) {
			onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
				fake.SetHook(on(msg.KeyProduceLog, flusstest.Refuse(tt.code)))
				_, err := st.Append(t.Context(), 0, numbered(0, 1))
				require.Equal(t, tt.outcome, store.OutcomeOf(err), "%s: %v", tt.why, err)
				var failed *store.AppendError
				require.ErrorAs(t, err, &failed)
				require.Empty(t, fake.Batches(logPath, 0))

				// A server that appends and still gives one of the definite answers lies; all others must be believed.
				if tt.appended != store.NotStored {
					fake.SetHook(once(msg.KeyProduceLog, flusstest.Action{BucketCode: tt.code}))
					_, err = st.Append(t.Context(), 0, numbered(1, 1))
					require.Equal(t, tt.appended, store.OutcomeOf(err), "%s: %v", tt.why, err)
				}
				fake.SetHook(nil)
				_, err = st.Append(t.Context(), 0, numbered(2, 1))
				require.NoError(t, err, "the next append is not hindered by the last")
			})
		})
	}
}

func TestFailuresOfAnAppendHaveNames(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		for code, want := range map[msg.Code]error{
			msg.RecordTooLarge: store.ErrTooLarge,
			msg.TableNotExist:  store.ErrTableChanged,
		} {
			fake.SetHook(on(msg.KeyProduceLog, flusstest.Refuse(code)))
			_, err := st.Append(t.Context(), 0, numbered(0, 1))
			require.ErrorIs(t, err, want)
		}
		fake.SetHook(nil)
		huge := event(1)
		huge.Detail = strings.Repeat("x", 65<<20)
		_, err := st.Append(t.Context(), 0, []intent.Event{huge})
		require.ErrorIs(t, err, store.ErrTooLarge)
		require.Equal(t, store.NotStored, store.OutcomeOf(err))
		_, err = st.Append(t.Context(), 2, numbered(0, 1))
		require.ErrorIs(t, err, store.ErrNoBucket)
		require.NoError(t, st.Close())
		_, err = st.Append(t.Context(), 0, numbered(0, 1))
		require.ErrorIs(t, err, store.ErrClosed)
		require.Equal(t, store.NotStored, store.OutcomeOf(err))
	})
}

func TestAnAppendWithoutAnAnswerIsUnknown(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		put(t, st, 0, 0, 1)
		fake.SetHook(on(msg.KeyProduceLog, flusstest.Action{DropResponse: true}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := st.Append(ctx, 0, numbered(1, 1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, store.Unknown, store.OutcomeOf(err))
		fake.SetHook(nil)
		// The barrier comes behind whatever became of it.
		b, err := st.Bound(t.Context(), 0)
		require.NoError(t, err)
		got, err := readAll(t, st, 0, 0, b.End)
		require.NoError(t, err)
		require.Equal(t, event(1), got[1])
	})
}

func TestAnAppendThatFoundNobodyIsNotStored(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		fake.Stop(0)
		_, err := st.Append(t.Context(), 0, numbered(0, 1))
		require.Equal(t, store.NotStored, store.OutcomeOf(err), "%v", err)
	})
}

func TestAForgottenWriterIsReplaced(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		put(t, st, 0, 0, 3)
		fake.ForgetWriters(logPath, 0)
		put(t, st, 0, 3, 1)
		got, err := readAll(t, st, 0, 0, 4)
		require.NoError(t, err)
		require.Equal(t, numbered(0, 4), got)
	})
}

func TestBoundIsABarrier(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		// What any replica says about the latest offset is never asked for.
		fake.SetHook(on(msg.KeyListOffsets, flusstest.Action{Edit: func(m msg.Message) {
			for i := range m.(*msg.ListOffsetsResponse).Buckets {
				m.(*msg.ListOffsetsResponse).Buckets[i].Offset = 1
			}
		}}))
		put(t, st, 0, 0, 7)
		b, err := st.Bound(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, store.Bound{End: 8}, b)
		got, err := readAll(t, st, 0, 0, b.End)
		require.NoError(t, err)
		require.Equal(t, numbered(0, 7), got[:7])
		require.Equal(t, intent.Barrier, got[7].Type)
		require.NoError(t, got[7].Check())
	})
}

func TestABarrierInDoubtIsNoBound(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		put(t, st, 0, 0, 1)
		// Appended, and answered by a code that proves nothing and is not tried again.
		fake.SetHook(once(msg.KeyProduceLog, flusstest.Action{BucketCode: msg.Code(4711)}))
		b, err := st.Bound(t.Context(), 0)
		require.NoError(t, err)
		require.EqualValues(t, 3, b.End, "a second barrier stands behind the first")

		fake.SetHook(on(msg.KeyProduceLog, flusstest.Action{DropResponse: true}))
		began := time.Now()
		_, err = st.Bound(t.Context(), 0)
		require.Error(t, err)
		require.LessOrEqual(t, time.Since(began), 2*time.Minute, "every call ends")
	})
}

func TestALogThatGivesAnOffsetTwiceHasRegressed(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		put(t, st, 0, 0, 6)
		fake.Truncate(logPath, 0, 2)
		fake.ForgetWriters(logPath, 0)
		_, err := st.Append(t.Context(), 0, numbered(6, 1))
		require.ErrorIs(t, err, store.ErrLogRegressed)
		require.Equal(t, store.Unknown, store.OutcomeOf(err))
		_, err = st.Bound(t.Context(), 0)
		require.ErrorIs(t, err, store.ErrLogRegressed)
	})
}
