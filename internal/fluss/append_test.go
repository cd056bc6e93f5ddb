package fluss_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

func TestAppendReturnsTheOffsetAndReadReturnsTheRows(t *testing.T) {
	for _, format := range []string{"ARROW", "INDEXED"} {
		t.Run(format, func(t *testing.T) {
			onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
				table := logTable(t, c, format)
				base, err := table.Append(t.Context(), 1, one("a", 1))
				require.NoError(t, err)
				require.EqualValues(t, 0, base)
				base, err = table.Append(t.Context(), 1, append(one("b", 2), row.String("c"), row.Value{}))
				require.NoError(t, err)
				require.EqualValues(t, 1, base)
				got, err := readAll(t, table, 1, 0, 3)
				require.NoError(t, err)
				require.Equal(t, []string{"0:a", "1:b", "2:c"}, got)
			})
		})
	}
}

// Every code that a server may answer to an append: once, before or after it appended, and always.
func TestAppendClassifiesEveryCode(t *testing.T) {
	notStored := map[msg.Code]bool{
		2: true, 3: true, 7: true, 13: true, 14: true, 15: true, 18: true, 20: true, 21: true, 29: true, 35: true, 36: true, 44: true,
		46: true, 48: true, 70: true, 72: true, 74: true,
	}
	again := map[msg.Code]bool{
		-1: true, 1: true, 10: true, 11: true, 12: true, 21: true, 24: true, 25: true, 26: true, 28: true, 29: true, 44: true, 70: true,
		72: true, 31: true, 33: true,
	}
	codes := []msg.Code{-1, 4711}
	for c := msg.Code(1); c <= 74; c++ {
		codes = append(codes, c)
	}
	for _, code := range codes {
		t.Run(code.String(), func(t *testing.T) {
			t.Run("always", func(t *testing.T) {
				onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
					table := logTable(t, c, "ARROW")
					fake.SetHook(nth(msg.KeyProduceLog, 1, always, flusstest.Refuse(code)))
					_, err := table.Append(t.Context(), 0, one("a", 1))
					var failed *fluss.AppendError
					require.ErrorAs(t, err, &failed)
					require.Equal(t, code, failed.Code)
					want := fluss.Unknown
					if notStored[code] {
						want = fluss.NotStored
					}
					require.Equal(t, want, fluss.OutcomeOf(err), "%v", err)

					// Whatever it was, the next append is a new batch of a new writer, and goes through.
					fake.SetHook(nil)
					base, err := table.Append(t.Context(), 0, one("b", 2))
					require.NoError(t, err)
					require.Zero(t, base)
				})
			})
			t.Run("once, after the append", func(t *testing.T) {
				onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
					table := logTable(t, c, "ARROW")
					fake.SetHook(nth(msg.KeyProduceLog, 1, 1, flusstest.Action{BucketCode: code}))
					base, err := table.Append(t.Context(), 0, one("a", 1))
					if again[code] {
						require.NoError(t, err)
						want := int64(0)
						if code == 31 || code == 33 {
							want = 1 // the server lied about the first copy, and the rows went under another writer
						}
						require.Equal(t, want, base)
						require.Len(t, fake.Batches(wirePath(), 0), int(want)+1)
					} else {
						require.Error(t, err)
						require.Equal(t, 1, fake.Count(msg.KeyProduceLog), "no second attempt")
					}
				})
			})
			t.Run("whole request", func(t *testing.T) {
				onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
					table := logTable(t, c, "ARROW")
					fake.SetHook(nth(msg.KeyProduceLog, 1, always, flusstest.Action{Skip: true, Code: code}))
					_, err := table.Append(t.Context(), 0, one("a", 1))
					require.Equal(t, notStored[code], fluss.OutcomeOf(err) == fluss.NotStored, "%v", err)
				})
			})
		})
	}
}

func TestARetryIsIdentical(t *testing.T) {
	for _, tt := range []struct {
		why string
		act flusstest.Action
	}{
		{"the answer was lost", flusstest.Action{DropResponse: true}},
		{"the request was lost", flusstest.Action{DropRequest: true}},
		{"the connection ended after the append", flusstest.Action{Close: true}},
		{"the connection ended in mid-answer", flusstest.Action{Half: true}},
		{"the network doubled the request and lost the answer", flusstest.Action{Duplicate: true, DropResponse: true}},
		{"the answer is late", flusstest.Action{Delay: time.Minute}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
				table := logTable(t, c, "ARROW")
				_, err := table.Append(t.Context(), 0, one("before", 0))
				require.NoError(t, err)
				var sent []string
				hook := nth(msg.KeyProduceLog, 1, 1, tt.act)
				fake.SetHook(func(r flusstest.Request) flusstest.Action {
					if m, ok := r.Message.(*msg.ProduceLogRequest); ok {
						sent = append(sent, string(m.Buckets[0].Records))
					}
					return hook(r)
				})
				base, err := table.Append(t.Context(), 0, one("a", 1))
				require.NoError(t, err)
				require.EqualValues(t, 1, base)
				require.Len(t, sent, 2)
				require.Equal(t, sent[0], sent[1])
				got, err := readAll(t, table, 0, 0, 2)
				require.NoError(t, err)
				require.Equal(t, []string{"0:before", "1:a"}, got)
				require.Len(t, fake.Batches(wirePath(), 0), 2, "stored once")
			})
		})
	}
}

func TestDoubtIsNeverWithdrawn(t *testing.T) {
	// The first copy may be in the log; that a later one was refused proves nothing about it.
	for _, second := range []msg.Code{msg.Authorization, msg.OutOfOrderSequence, msg.NotEnoughReplicas, msg.RecordTooLarge} {
		onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
			table := logTable(t, c, "ARROW")
			hook := nth(msg.KeyProduceLog, 2, always, flusstest.Refuse(second))
			first := nth(msg.KeyProduceLog, 1, 1, flusstest.Action{BucketCode: msg.RequestTimeOut})
			fake.SetHook(func(r flusstest.Request) flusstest.Action {
				if a := first(r); a.BucketCode != 0 {
					hook(r)
					return a
				}
				return hook(r)
			})
			_, err := table.Append(t.Context(), 0, one("a", 1))
			require.Equal(t, fluss.Unknown, fluss.OutcomeOf(err), "%v", err)
			require.Len(t, fake.Batches(wirePath(), 0), 1)
		})
	}
}

func TestInDoubtNoOtherWriterIsTried(t *testing.T) {
	// Under another writer id the server could not tell the second copy from new rows.
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		attempt := 0
		fake.SetHook(func(r flusstest.Request) flusstest.Action {
			if r.Key != msg.KeyProduceLog {
				return flusstest.Action{}
			}
			switch attempt++; attempt {
			case 1:
				return flusstest.Action{BucketCode: msg.RequestTimeOut}
			case 2:
				return flusstest.Refuse(msg.OutOfOrderSequence)
			}
			return flusstest.Action{}
		})
		_, err := table.Append(t.Context(), 0, one("a", 1))
		require.Equal(t, fluss.Unknown, fluss.OutcomeOf(err))
		require.Equal(t, msg.OutOfOrderSequence, fluss.CodeOf(err))
		require.Len(t, fake.Batches(wirePath(), 0), 1)
		require.Equal(t, 2, attempt)
	})
}

func TestACallThatGivesUpInASharedBatchIsUnknown(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		first, second := make(chan struct{}), make(chan struct{})
		arrived := 0
		fake.SetHook(func(r flusstest.Request) flusstest.Action {
			if r.Key != msg.KeyProduceLog {
				return flusstest.Action{}
			}
			if arrived++; arrived == 1 {
				return flusstest.Action{Until: first}
			}
			return flusstest.Action{Until: second}
		})
		ctx, cancel := context.WithCancel(t.Context())
		errs := make([]error, 3)
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = table.Append(t.Context(), 0, one("alone", 0)) })
		synctest.Wait()
		wg.Go(func() { _, errs[1] = table.Append(t.Context(), 0, one("leads", 1)) })
		synctest.Wait()
		values := one("shares", 2)
		wg.Go(func() {
			_, errs[2] = table.Append(ctx, 0, values)
			clear(values) // the slice is the caller's again
		})
		synctest.Wait()
		close(first)
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.Equal(t, fluss.Unknown, fluss.OutcomeOf(errs[2]))
		close(second)
		wg.Wait()
		require.NoError(t, errs[0])
		require.NoError(t, errs[1])
		got, err := readAll(t, table, 0, 0, 3)
		require.NoError(t, err)
		require.Equal(t, []string{"0:alone", "1:leads", "2:shares"}, got)
	})
}

func TestAForgottenWriterIsReplaced(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		for i := range 3 {
			_, err := table.Append(t.Context(), 0, one("a", int64(i)))
			require.NoError(t, err)
		}
		fake.ForgetWriters(wirePath(), 0)
		base, err := table.Append(t.Context(), 0, one("b", 4))
		require.NoError(t, err)
		require.EqualValues(t, 3, base)
		require.Equal(t, 2, fake.Count(msg.KeyInitWriter))
		require.Len(t, fake.Batches(wirePath(), 0), 4)
	})
}

func TestAnUnresolvedBatchTakesItsWriterWithIt(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		fake.SetHook(nth(msg.KeyProduceLog, 1, always, flusstest.Action{BucketCode: msg.NotEnoughReplicasAfterAppend}))
		began := time.Now()
		_, err := table.Append(t.Context(), 0, one("a", 1))
		require.Equal(t, fluss.Unknown, fluss.OutcomeOf(err))
		require.Less(t, time.Since(began), 2*time.Minute, "every call ends")
		fake.SetHook(nil)
		base, err := table.Append(t.Context(), 0, one("b", 2))
		require.NoError(t, err)
		require.EqualValues(t, 1, base, "the unresolved batch was in the log")
		require.Equal(t, 2, fake.Count(msg.KeyInitWriter))
		writers := map[int64]bool{}
		for _, b := range fake.Batches(wirePath(), 0) {
			head, err := record.NewScanner(b).Next()
			require.NoError(t, err)
			require.EqualValues(t, 0, head.Sequence)
			writers[head.WriterID] = true
		}
		require.Len(t, writers, 2)
	})
}

func TestAcknowledgedWithoutAnOffsetIsUnknown(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		fake.SetHook(nth(msg.KeyProduceLog, 1, always, flusstest.Action{Edit: func(m msg.Message) {
			m.(*msg.ProduceLogResponse).Buckets[0].BaseOffset = -1
		}}))
		_, err := table.Append(t.Context(), 0, one("a", 1))
		require.ErrorIs(t, err, fluss.ErrBaseOffset)
		require.Equal(t, fluss.Unknown, fluss.OutcomeOf(err))
	})
}

func TestManyAppendsShareBatches(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "INDEXED")
		const callers, each = 64, 3
		gate := make(chan struct{})
		fake.SetHook(nth(msg.KeyProduceLog, 1, 1, flusstest.Action{Until: gate}))
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				rows := append(one(fmt.Sprint(i), 0), append(one(fmt.Sprint(i), 1), one(fmt.Sprint(i), 2)...)...)
				base, err := table.Append(t.Context(), 0, rows)
				if err != nil || base%each != 0 {
					t.Errorf("caller %d: %d, %v", i, base, err)
				}
			})
		}
		synctest.Wait()
		close(gate)
		wg.Wait()
		batches := fake.Batches(wirePath(), 0)
		require.Len(t, batches, 2, "one in flight, and one for all who waited")
		got, err := readAll(t, table, 0, 0, callers*each)
		require.NoError(t, err)
		for i := 0; i < len(got); i += each {
			var id string
			var offset int64
			_, err := fmt.Sscanf(got[i], "%d:%s", &offset, &id)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%d:%s", i+1, id), got[i+1], "one caller's rows stay together")
			require.Equal(t, fmt.Sprintf("%d:%s", i+2, id), got[i+2])
		}
	})
}

func TestCancelledAppends(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		_, err := table.Append(t.Context(), 0, one("first", 0))
		require.NoError(t, err)
		gate := make(chan struct{})
		fake.SetHook(nth(msg.KeyProduceLog, 1, 1, flusstest.Action{Until: gate}))
		inFlight, cancelInFlight := context.WithCancel(t.Context())
		waiting, cancelWaiting := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var errInFlight, errWaiting error
		wg.Go(func() { _, errInFlight = table.Append(inFlight, 0, one("in flight", 1)) })
		synctest.Wait()
		wg.Go(func() { _, errWaiting = table.Append(waiting, 0, one("never", 2)) })
		var last int64
		synctest.Wait()
		wg.Go(func() {
			var err error
			if last, err = table.Append(t.Context(), 0, one("last", 3)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancelInFlight()
		cancelWaiting()
		synctest.Wait()
		require.ErrorIs(t, errInFlight, context.Canceled)
		require.Equal(t, fluss.Unknown, fluss.OutcomeOf(errInFlight), "its batch has left")
		require.ErrorIs(t, errWaiting, context.Canceled)
		require.Equal(t, fluss.NotStored, fluss.OutcomeOf(errWaiting), "its batch was never made")
		require.Equal(t, 2, fake.Count(msg.KeyProduceLog), "one batch in flight, though its caller has gone")
		close(gate)
		wg.Wait()
		require.EqualValues(t, 2, last)
		got, err := readAll(t, table, 0, 0, 3)
		require.NoError(t, err)
		require.Equal(t, []string{"0:first", "1:in flight", "2:last"}, got)
		require.Equal(t, 1, fake.Count(msg.KeyInitWriter), "the batch was seen to its end, so its writer lives on")
	})
}

func TestACancelledContextSendsNothing(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := table.Append(ctx, 0, one("a", 1))
		require.Equal(t, fluss.NotStored, fluss.OutcomeOf(err))
		// Cancelled while the leader is looked up: nothing has left either.
		fake.SetHook(nth(msg.KeyGetMetadata, 1, always, flusstest.Action{DropRequest: true}))
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = table.Append(ctx, 0, one("a", 1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, fluss.NotStored, fluss.OutcomeOf(err))
		require.Zero(t, fake.Count(msg.KeyProduceLog))
	})
}

func TestRowsThatDoNotFitAreRefusedBeforeAnythingIsSent(t *testing.T) {
	onFakeWith(t, flusstest.FakeOptions{}, fluss.Options{MaxFrame: 1 << 16}, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		for name, values := range map[string][]row.Value{
			"none": nil, "half a row": {row.String("a")}, "wrong type": {row.Bigint(1), row.Bigint(1)}, "null": {{}, row.Bigint(1)},
			"too large": one(string(make([]byte, 1<<16)), 1),
		} {
			_, err := table.Append(t.Context(), 0, values)
			require.Equal(t, fluss.NotStored, fluss.OutcomeOf(err), name)
		}
		_, err := table.Append(t.Context(), 2, one("a", 1))
		require.Equal(t, fluss.NotStored, fluss.OutcomeOf(err), "no such bucket")
		require.Zero(t, fake.Count(msg.KeyProduceLog))
	})
}

func TestAppendFollowsTheLeader(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		for i, tablet := range []int{0, 1, 0} {
			fake.Move(wirePath(), 0, tablet)
			base, err := table.Append(t.Context(), 0, one("a", int64(i)))
			require.NoError(t, err)
			require.EqualValues(t, i, base)
		}
		fake.Move(wirePath(), 0, 1)
		fake.Stop(0)
		base, err := table.Append(t.Context(), 0, one("a", 3))
		require.NoError(t, err)
		require.EqualValues(t, 3, base)
		fake.Move(wirePath(), 0, -1)
		_, err = table.Append(t.Context(), 0, one("a", 4))
		require.Equal(t, fluss.Unknown, fluss.OutcomeOf(err), "one copy met NOT_LEADER, which may also come after an append")
	})
}

func TestAnotherTableOfTheSameNameIsNotAppendedTo(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		_, err := table.Append(t.Context(), 0, one("a", 1))
		require.NoError(t, err)
		require.NoError(t, table.Changed(t.Context()))
		require.NoError(t, c.DropTable(t.Context(), path))
		_, err = table.Append(t.Context(), 0, one("b", 2))
		var changed *fluss.TableChangedError
		require.ErrorAs(t, err, &changed)
		require.EqualValues(t, -1, changed.Now)
		require.Equal(t, fluss.NotStored, fluss.OutcomeOf(err))
		logTable(t, c, "ARROW")
		_, err = table.Append(t.Context(), 0, one("b", 2))
		require.ErrorAs(t, err, &changed)
		require.NotEqual(t, changed.Was, changed.Now)
		require.ErrorAs(t, table.Changed(t.Context()), &changed)
		require.Empty(t, fake.Batches(wirePath(), 0))
	})
}

func TestCloseEndsAppendsAsUnknown(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		fake.SetHook(nth(msg.KeyProduceLog, 1, always, flusstest.Action{DropResponse: true}))
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { _, err = table.Append(t.Context(), 0, one("a", 1)) })
		synctest.Wait()
		require.NoError(t, c.Close())
		wg.Wait()
		require.Equal(t, fluss.Unknown, fluss.OutcomeOf(err))
		_, err = table.Append(t.Context(), 0, one("a", 1))
		require.ErrorIs(t, err, fluss.ErrClosed)
		require.Equal(t, fluss.NotStored, fluss.OutcomeOf(err))
	})
}

func TestOutcomeOfAStrangersErrorIsUnknown(t *testing.T) {
	require.Equal(t, fluss.Stored, fluss.OutcomeOf(nil))
	require.Equal(t, fluss.Unknown, fluss.OutcomeOf(errors.New("any")))
	require.Equal(t, "outcome unknown", fluss.Outcome(0).String())
}

func TestPutLookupDeleteScan(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		require.NoError(t, c.CreateTable(t.Context(), path, fluss.TableDescriptor{Schema: schema, PrimaryKey: []string{"id"}, Buckets: 2}))
		table, err := c.Table(t.Context(), path)
		require.NoError(t, err)
		fake.SetHook(nth(msg.KeyPutKv, 1, 1, flusstest.Action{DropResponse: true}))
		require.NoError(t, table.Put(t.Context(), append(append(one("a", 1), one("b", 2)...), one("c", 3)...)))
		got, err := table.Lookup(t.Context(), []row.Value{row.String("b"), {}})
		require.NoError(t, err)
		require.Equal(t, one("b", 2), got)
		require.NoError(t, table.Delete(t.Context(), []row.Value{row.String("b"), {}}))
		got, err = table.Lookup(t.Context(), []row.Value{row.String("b"), {}})
		require.NoError(t, err)
		require.Nil(t, got)
		all := 0
		for bucket := range 2 {
			rows, err := table.LimitScan(t.Context(), bucket, math.MaxInt32)
			require.NoError(t, err)
			all += len(rows)
		}
		require.Equal(t, 2, all)
		_, err = table.Append(t.Context(), 0, one("d", 1))
		require.Equal(t, fluss.NotStored, fluss.OutcomeOf(err))
	})
}
