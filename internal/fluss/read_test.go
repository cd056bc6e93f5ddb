package fluss_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// filled makes a table whose bucket 0 holds n records in batches of one, two, three, one, ... rows.
func filled(t *testing.T, c *fluss.Client, n int) (*fluss.Table, []string) {
	t.Helper()
	table := logTable(t, c, "ARROW")
	var want []string
	for size := 1; len(want) < n; size = size%3 + 1 {
		var rows []row.Value
		for range min(size, n-len(want)) {
			id := fmt.Sprint("r", len(want))
			rows = append(rows, one(id, 0)...)
			want = append(want, fmt.Sprintf("%d:%s", len(want), id))
		}
		_, err := table.Append(t.Context(), 0, rows)
		require.NoError(t, err)
	}
	return table, want
}

func TestReadDeliversExactlyItsRange(t *testing.T) {
	// A small fetch makes every answer end in a cut batch, and every range begin and end inside of one.
	onFakeWith(t, flusstest.FakeOptions{}, fluss.Options{FetchBytes: 1000}, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table, want := filled(t, c, 20)
		for from := range 20 {
			for to := from; to <= 20; to++ {
				got, err := readAll(t, table, 0, int64(from), int64(to))
				require.NoError(t, err)
				require.Equal(t, append([]string(nil), want[from:to]...), got, "[%d, %d)", from, to)
			}
		}
	})
}

func TestAWarmReadIsOneFetch(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table, want := filled(t, c, 9)
		before, began := fake.Count(msg.KeyFetchLog), time.Now()
		got, err := readAll(t, table, 0, 0, 9)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, 1, fake.Count(msg.KeyFetchLog)-before)
		require.Zero(t, time.Since(began), "nothing slept")
	})
}

// Every code that a server may answer to a fetch, once and always, with nothing else wrong.
func TestReadMeetsEveryCode(t *testing.T) {
	cured := map[msg.Code]bool{
		-1: true, 1: true, 9: true, 10: true, 11: true, 12: true, 19: true, 21: true, 24: true, 25: true, 26: true, 28: true, 29: true,
		44: true, 51: true, 65: true, 70: true, 72: true, 73: true,
	}
	codes := []msg.Code{-1, 4711}
	for c := msg.Code(1); c <= 74; c++ {
		codes = append(codes, c)
	}
	for _, code := range codes {
		t.Run(code.String(), func(t *testing.T) {
			onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
				table, want := filled(t, c, 3)
				for _, act := range []flusstest.Action{flusstest.Refuse(code), {Code: code}} {
					fake.SetHook(nth(msg.KeyFetchLog, 1, 1, act))
					got, err := readAll(t, table, 0, 0, 3)
					if cured[code] {
						require.NoError(t, err)
						require.Equal(t, want, got)
					} else {
						require.Error(t, err)
						require.Empty(t, got)
					}
					fake.SetHook(nth(msg.KeyFetchLog, 1, always, act))
					began := time.Now()
					_, err = readAll(t, table, 0, 0, 3)
					var failed *fluss.ReadError
					require.ErrorAs(t, err, &failed)
					require.Equal(t, code, fluss.CodeOf(err))
					switch {
					case code == msg.LogOffsetOutOfRange:
						require.Equal(t, fluss.OutOfRange, failed.Reason)
					case cured[code] && code != msg.UnknownServerError:
						require.Equal(t, fluss.NoProgress, failed.Reason)
					default:
						require.Equal(t, fluss.Refused, failed.Reason)
					}
					require.Less(t, time.Since(began), time.Minute, "every call ends")
				}
			})
		})
	}
}

func TestReadRefusesALogThatIsNotWhole(t *testing.T) {
	for _, tt := range []struct {
		why    string
		reason fluss.Reason
		harm   func(fake *flusstest.Fake)
	}{
		{"the prefix was deleted", fluss.OutOfRange, func(f *flusstest.Fake) { f.Trim(wirePath(), 0, 2) }},
		{"the log became shorter", fluss.NoProgress, func(f *flusstest.Fake) { f.Truncate(wirePath(), 0, 3) }},
		{"the prefix is in remote storage", fluss.Remote, func(f *flusstest.Fake) {
			f.SetHook(nth(msg.KeyFetchLog, 1, always, flusstest.EditFetch(func(r *msg.FetchLogResult) {
				r.Records, r.Remote = nil, &msg.RemoteLogSegment{Dir: "s3://bucket/dir"}
			})))
		}},
		{"the answer is empty although there is more (data lake)", fluss.NoProgress, func(f *flusstest.Fake) {
			f.SetHook(nth(msg.KeyFetchLog, 1, always, flusstest.EditFetch(func(r *msg.FetchLogResult) { r.Records = nil })))
		}},
		{"a batch is missing", fluss.Gap, func(f *flusstest.Fake) {
			f.SetHook(nth(msg.KeyFetchLog, 1, always, flusstest.EditFetch(func(r *msg.FetchLogResult) {
				s := record.NewScanner(r.Records)
				first, _ := s.Next()
				second, _ := s.Next()
				r.Records = append(r.Records[:first.Size():first.Size()], r.Records[first.Size()+second.Size():]...)
			})))
		}},
		{"the first batch is missing", fluss.Gap, func(f *flusstest.Fake) {
			f.SetHook(nth(msg.KeyFetchLog, 1, always, flusstest.EditFetch(func(r *msg.FetchLogResult) {
				first, _ := record.NewScanner(r.Records).Next()
				r.Records = r.Records[first.Size():]
			})))
		}},
		{"a bit flipped", fluss.Corrupt, func(f *flusstest.Fake) {
			f.SetHook(nth(msg.KeyFetchLog, 1, always, flusstest.EditFetch(func(r *msg.FetchLogResult) {
				r.Records = slices.Clone(r.Records)
				r.Records[len(r.Records)-1] ^= 4
			})))
		}},
		{"the first batch is cut", fluss.Corrupt, func(f *flusstest.Fake) {
			f.SetHook(nth(msg.KeyFetchLog, 1, always, flusstest.EditFetch(func(r *msg.FetchLogResult) { r.Records = r.Records[:50] })))
		}},
		{"only old batches come", fluss.NoProgress, func(f *flusstest.Fake) {
			first := f.Batches(wirePath(), 0)[0]
			f.SetHook(nth(msg.KeyFetchLog, 1, always, flusstest.EditFetch(func(r *msg.FetchLogResult) { r.Records = first })))
		}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			onFakeWith(t, flusstest.FakeOptions{}, fluss.Options{FetchBytes: 1500}, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
				table, _ := filled(t, c, 6)
				tt.harm(fake)
				began := time.Now()
				_, err := readAll(t, table, 0, 0, 6)
				var failed *fluss.ReadError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, tt.reason, failed.Reason, "%v", err)
				require.Less(t, time.Since(began), time.Minute, "every call ends")
				require.Less(t, fake.Count(msg.KeyFetchLog), 400, "no spinning")
			})
		})
	}
}

func TestReadSurvivesWhatPasses(t *testing.T) {
	for _, tt := range []struct {
		why string
		act flusstest.Action
	}{
		{"an answer is lost", flusstest.Action{DropResponse: true}},
		{"the connection ends", flusstest.Action{Close: true}},
		{"the connection ends in mid-answer", flusstest.Action{Half: true}},
		{"an answer is empty", flusstest.EditFetch(func(r *msg.FetchLogResult) { r.Records = nil })},
		{"out of range for a moment", flusstest.Refuse(msg.LogOffsetOutOfRange)},
		{"the last batch is cut", flusstest.EditFetch(func(r *msg.FetchLogResult) { r.Records = r.Records[:len(r.Records)-1] })},
	} {
		t.Run(tt.why, func(t *testing.T) {
			o := fluss.Options{FetchBytes: 1500, RequestTimeout: time.Second}
			onFakeWith(t, flusstest.FakeOptions{}, o, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
				table, want := filled(t, c, 30)
				fake.SetHook(nth(msg.KeyFetchLog, 3, 2, tt.act))
				got, err := readAll(t, table, 0, 0, 30)
				require.NoError(t, err)
				require.Equal(t, want, got)
			})
		})
	}
}

func TestReadFollowsTheLeader(t *testing.T) {
	onFakeWith(t, flusstest.FakeOptions{Tablets: 2}, fluss.Options{FetchBytes: 1000}, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table, want := filled(t, c, 30)
		var got []string
		require.NoError(t, table.Read(t.Context(), 0, 0, 30, func(r *fluss.Records) error {
			for r.Next() {
				got = append(got, fmt.Sprintf("%d:%s", r.Offset(), r.Row()[0].Text()))
			}
			switch len(got) {
			case 6:
				fake.Move(wirePath(), 0, 1)
			case 15:
				fake.Move(wirePath(), 0, 0)
				fake.Stop(1)
			}
			return nil
		}))
		require.Equal(t, want, got)
	})
}

func TestReadStopsAtATableThatWasRecreated(t *testing.T) {
	onFakeWith(t, flusstest.FakeOptions{}, fluss.Options{FetchBytes: 1000}, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table, _ := filled(t, c, 30)
		var changed *fluss.TableChangedError
		err := table.Read(t.Context(), 0, 0, 30, func(r *fluss.Records) error {
			if r.Batch.BaseOffset == 0 {
				require.NoError(t, c.DropTable(t.Context(), path))
				filled(t, c, 30)
			}
			return nil
		})
		require.ErrorAs(t, err, &changed)
		// A server that answers for another table is not believed either.
		table, err = c.Table(t.Context(), path)
		require.NoError(t, err)
		fake.SetHook(nth(msg.KeyFetchLog, 1, always, flusstest.Action{Edit: func(m msg.Message) { m.(*msg.FetchLogResponse).Tables[0].TableID = 99 }}))
		_, err = readAll(t, table, 0, 0, 30)
		require.ErrorAs(t, err, &changed)
		require.EqualValues(t, 99, changed.Now)
	})
}

func TestEmptyBatchesTakeAnOffsetAndNothingElse(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table, _ := filled(t, c, 1)
		fake.AppendRaw(wirePath(), 0, 1, 1, emptyBatch(1))
		_, err := table.Append(t.Context(), 0, one("after", 1))
		require.NoError(t, err)
		fake.AppendRaw(wirePath(), 0, 3, 1, emptyBatch(3))
		got, err := readAll(t, table, 0, 0, 4)
		require.NoError(t, err)
		require.Equal(t, []string{"0:r0", "2:after"}, got)
	})
}

func TestABatchIsDecodedByItsOwnSchema(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		old := logTable(t, c, "INDEXED")
		_, err := old.Append(t.Context(), 0, one("old", 1))
		require.NoError(t, err)
		fake.SetSchema(wirePath(), 2, `{"version":1,"columns":[{"name":"id","data_type":{"type":"STRING","nullable":false}},`+
			`{"name":"n","data_type":{"type":"BIGINT"}},{"name":"more","data_type":{"type":"INTEGER"}}]}`)
		table, err := c.Table(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, 2, table.Info().SchemaID)
		_, err = table.Append(t.Context(), 0, append(one("new", 2), row.Int(7)))
		require.NoError(t, err)
		for _, reader := range []*fluss.Table{old, table} {
			var widths []int
			require.NoError(t, reader.Read(t.Context(), 0, 0, 2, func(r *fluss.Records) error {
				for r.Next() {
					widths = append(widths, len(r.Row()))
				}
				return nil
			}))
			require.Equal(t, []int{2, 3}, widths)
		}
		// A schema that nobody knows, and one that cannot be read.
		fake.SetSchema(wirePath(), 3, `{"version":1,"columns":[{"name":"id","data_type":{"type":"MAP"}}]}`)
		for _, id := range []int16{3, 99} {
			enc, err := record.NewEncoder(schema, record.Indexed)
			require.NoError(t, err)
			batch, err := enc.Append(nil, record.Meta{SchemaID: id, WriterID: -1, Sequence: -1}, one("x", 1))
			require.NoError(t, err)
			fake.Truncate(wirePath(), 0, 2)
			record.Stamp(batch, 2, 0)
			fake.AppendRaw(wirePath(), 0, 2, 1, batch)
			_, err = readAll(t, old, 0, 0, 3)
			var failed *fluss.ReadError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, fluss.UnknownSchema, failed.Reason)
			require.EqualValues(t, 2, failed.Offset)
		}
	})
}

func TestTheErrorOfTheCallerEndsTheRead(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table, _ := filled(t, c, 9)
		stop := errors.New("enough")
		require.Equal(t, stop, table.Read(t.Context(), 0, 0, 9, func(*fluss.Records) error { return stop }))
		require.NoError(t, table.Read(t.Context(), 0, 5, 5, nil), "nothing to read")
		require.Error(t, table.Read(t.Context(), 0, 5, 4, nil))
		require.Error(t, table.Read(t.Context(), 7, 0, 4, nil))
		ctx, cancel := context.WithCancel(t.Context())
		fake.SetHook(nth(msg.KeyFetchLog, 1, always, flusstest.Action{DropResponse: true}))
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { err = table.Read(ctx, 0, 0, 9, nil) })
		synctest.Wait()
		cancel()
		wg.Wait()
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestTailDeliversWhatArrives(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table, want := filled(t, c, 4)
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		var err error
		var wg sync.WaitGroup
		wg.Go(func() {
			err = table.Tail(ctx, 0, 1, func(r *fluss.Records) error {
				for r.Next() {
					got = append(got, fmt.Sprintf("%d:%s", r.Offset(), r.Row()[0].Text()))
				}
				return nil
			})
		})
		synctest.Wait()
		require.Equal(t, want[1:], got)
		time.Sleep(time.Hour) // of the bubble: a tail may stand still for as long as nothing comes
		_, errAppend := table.Append(t.Context(), 0, one("late", 1))
		require.NoError(t, errAppend)
		synctest.Wait()
		require.Equal(t, append(slices.Clone(want[1:]), "4:late"), got)
		time.Sleep(time.Hour)
		fake.Move(wirePath(), 0, 1) // one refusal after an hour is not an hour of refusals
		_, errAppend = table.Append(t.Context(), 0, one("moved", 1))
		require.NoError(t, errAppend)
		time.Sleep(time.Minute)
		require.Equal(t, append(slices.Clone(want[1:]), "4:late", "5:moved"), got)
		cancel()
		wg.Wait()
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestOffsets(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table, _ := filled(t, c, 9)
		fake.Trim(wirePath(), 0, 2)
		first, err := table.Offset(t.Context(), 0, fluss.Earliest)
		require.NoError(t, err)
		require.EqualValues(t, 2, first)
		last, err := table.Offset(t.Context(), 0, fluss.Latest)
		require.NoError(t, err)
		require.EqualValues(t, 9, last)
		fake.SetHook(nth(msg.KeyListOffsets, 1, 1, flusstest.Action{Edit: func(m msg.Message) { m.(*msg.ListOffsetsResponse).Buckets[0].Offset = 4 }}))
		last, err = table.Offset(t.Context(), 0, fluss.Latest)
		require.NoError(t, err)
		require.EqualValues(t, 4, last, "a stale answer looks like any other")
		fake.SetHook(nth(msg.KeyListOffsets, 1, 1, flusstest.Refuse(msg.NotLeaderOrFollower)))
		_, err = table.Offset(t.Context(), 0, fluss.Latest)
		require.NoError(t, err)
		fake.SetHook(nth(msg.KeyListOffsets, 1, 1, flusstest.Refuse(msg.Authorization)))
		_, err = table.Offset(t.Context(), 0, fluss.Latest)
		require.Equal(t, msg.Authorization, fluss.CodeOf(err))
	})
}
