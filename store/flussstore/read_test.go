package flussstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

func TestFailuresOfARead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		want  error
		seen  int // records before the error
		spoil func(t *testing.T, fake *flusstest.Fake)
	}{
		{"the prefix is trimmed", store.ErrPrefixMissing, 0, func(t *testing.T, fake *flusstest.Fake) { fake.Trim(logPath, 0, 2) }},
		{"the log is cut below the range", store.ErrLogRegressed, 2, func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(func(r flusstest.Request) flusstest.Action {
				if m, ok := r.Message.(*msg.FetchLogRequest); ok && m.Tables[0].Buckets[0].Offset >= 2 {
					return flusstest.Refuse(msg.LogOffsetOutOfRange)
				}
				return flusstest.EditFetch(func(b *msg.FetchLogResult) { b.Records = prefix(t, b.Records, 2) })
			})
		}},
		{"an empty answer for ever", store.ErrNoProgress, 0, func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(on(msg.KeyFetchLog, flusstest.EditFetch(func(b *msg.FetchLogResult) { b.Records = nil })))
		}},
		{"no answer at all", store.ErrNoProgress, 0, func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(on(msg.KeyFetchLog, flusstest.Action{DropRequest: true}))
		}},
		{"no leader for ever", store.ErrNoProgress, 0, func(t *testing.T, fake *flusstest.Fake) { fake.Move(logPath, 0, -1) }},
		{"the prefix is in remote storage", store.ErrPrefixRemote, 0, func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(on(msg.KeyFetchLog, flusstest.EditFetch(func(b *msg.FetchLogResult) {
				b.Records, b.Remote = nil, &msg.RemoteLogSegment{Dir: "s3://elsewhere"}
			})))
		}},
		{"a batch is missing", store.ErrGap, 0, func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(on(msg.KeyFetchLog, flusstest.EditFetch(func(b *msg.FetchLogResult) {
				b.Records = b.Records[len(prefix(t, b.Records, 1)):]
			})))
		}},
		{"a bit is flipped", store.ErrCorrupt, 0, func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(on(msg.KeyFetchLog, flusstest.EditFetch(func(b *msg.FetchLogResult) {
				b.Records = append([]byte(nil), b.Records...)
				b.Records[60] ^= 1
			})))
		}},
		{"a batch of a schema that cannot be had", store.ErrVersion, 5, func(t *testing.T, fake *flusstest.Fake) {
			fake.AppendRaw(logPath, 0, 5, 1, ofSchema(fake.Batches(logPath, 0)[0], 5, 77))
		}},
		{"a batch of a schema with a tenth column", store.ErrVersion, 5, func(t *testing.T, fake *flusstest.Fake) {
			c := fluss.New(fluss.Options{Bootstrap: []string{fake.Bootstrap()}, Dial: fake.Dial})
			defer c.Close()
			info, err := c.TableInfo(t.Context(), fluss.Path(logPath))
			require.NoError(t, err)
			wider := append(info.Schema[:9:9], info.Schema[8])
			wider[9].Name = "more"
			path := fluss.Path{Database: logPath.Database, Table: "wider"}
			require.NoError(t, c.CreateTable(t.Context(), path, fluss.TableDescriptor{Schema: wider, Buckets: 1}))
			table, err := c.Table(t.Context(), path)
			require.NoError(t, err)
			doc, err := fluss.TableDescriptor{Schema: wider}.MarshalJSON()
			require.NoError(t, err)
			fake.SetSchema(logPath, 2, schemaOf(t, doc))
			_, err = table.Append(t.Context(), 0, wideRow())
			require.NoError(t, err)
			fake.AppendRaw(logPath, 0, 5, 1, ofSchema(fake.Batches(msg.TablePath(path), 0)[0], 5, 2))
		}},
		{"the table was dropped", store.ErrTableChanged, 0, func(t *testing.T, fake *flusstest.Fake) { drop(t, fake) }},
		{"the table was dropped and created again", store.ErrTableChanged, 0, func(t *testing.T, fake *flusstest.Fake) {
			drop(t, fake)
			st, err := flussstore.Open(t.Context(), fake.Bootstrap(), &flussstore.Options{Create: true, Buckets: 2, Dial: fake.Dial})
			require.NoError(t, err)
			put(t, st, 0, 50, 6)
			require.NoError(t, st.Close())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
				put(t, st, 0, 0, 5)
				_, err := st.Bound(t.Context(), 0)
				require.NoError(t, err)
				if tt.want == store.ErrVersion {
					fake.Truncate(logPath, 0, 5) // room for the batch of the case, in place of the barrier
				}
				tt.spoil(t, fake)
				got, err := readAll(t, st, 0, 0, 6)
				require.ErrorIs(t, err, tt.want)
				require.Equal(t, numbered(0, tt.seen), append(numbered(0, 0), got...), "a true prefix and nothing more")
				var where *store.ReadError
				require.ErrorAs(t, err, &where)
				require.EqualValues(t, tt.seen, where.Offset)
			})
		})
	}
}

func TestReadPassesWhatIsHarmless(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, fake *flusstest.Fake){
		"an offset is out of range for a moment": func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(once(msg.KeyFetchLog, flusstest.Refuse(msg.LogOffsetOutOfRange)))
		},
		"an empty answer": func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(once(msg.KeyFetchLog, flusstest.EditFetch(func(b *msg.FetchLogResult) { b.Records = nil })))
		},
		"the leader moved": func(t *testing.T, fake *flusstest.Fake) { fake.Move(logPath, 0, 1) },
		"an answer is cut in a batch": func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(once(msg.KeyFetchLog, flusstest.EditFetch(func(b *msg.FetchLogResult) { b.Records = b.Records[:len(b.Records)-7] })))
		},
		"a batch of 1.0 with statistics": func(t *testing.T, fake *flusstest.Fake) {
			fake.SetHook(on(msg.KeyFetchLog, flusstest.EditFetch(func(b *msg.FetchLogResult) {
				first := len(prefix(t, b.Records, 1))
				b.Records = append(withStatistics(b.Records[:first]), b.Records[first:]...)
			})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
				put(t, st, 0, 0, 5)
				spoil(t, fake)
				got, err := readAll(t, st, 0, 0, 5)
				require.NoError(t, err)
				require.Equal(t, numbered(0, 5), got)
			})
		})
	}
}

func TestReadBeyondTheEndDoesNotWait(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		put(t, st, 0, 0, 5)
		began := time.Now()
		_, err := readAll(t, st, 0, 0, 100)
		require.ErrorIs(t, err, store.ErrBeyondEnd)
		_, err = readAll(t, st, 0, 3, 2)
		require.ErrorIs(t, err, store.ErrBeyondEnd)
		require.Zero(t, time.Since(began))
	})
}

func TestReadReturnsTheErrorOfFnAndOfTheContext(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		put(t, st, 0, 0, 5)
		own := errors.New("enough")
		require.Equal(t, own, st.Read(t.Context(), 0, 0, 5, func(*store.Record) error { return own }))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, st.Read(ctx, 0, 0, 5, func(*store.Record) error { return nil }), context.Canceled)
		require.NoError(t, st.Close())
		require.ErrorIs(t, st.Read(t.Context(), 0, 0, 5, func(*store.Record) error { return nil }), store.ErrClosed)
	})
}

func TestCommitTimeDoesNotFallWhenTheClockOfANewLeaderIsBehind(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		put(t, st, 0, 0, 1)
		for i, ms := range []int64{5000, 9000, 7000, 9500} {
			batch := append([]byte(nil), fake.Batches(logPath, 0)[0]...)
			record.Stamp(batch, int64(i), ms)
			if i == 0 {
				fake.Truncate(logPath, 0, 0)
			}
			fake.AppendRaw(logPath, 0, int64(i), 1, batch)
		}
		read := func(from, to int64) (ms []int64) {
			require.NoError(t, st.Read(t.Context(), 0, from, to, func(r *store.Record) error {
				ms = append(ms, r.CommitMS)
				return nil
			}))
			return ms
		}
		require.Equal(t, []int64{5000, 9000}, read(0, 2))
		require.Equal(t, []int64{9000, 9500}, read(2, 4), "a read that goes on knows what came before")
	})
}

func drop(t *testing.T, fake *flusstest.Fake) {
	t.Helper()
	c := fluss.New(fluss.Options{Bootstrap: []string{fake.Bootstrap()}, Dial: fake.Dial})
	defer c.Close()
	require.NoError(t, c.DropTable(t.Context(), fluss.Path(logPath)))
}

// prefix returns the first n batches.
func prefix(t *testing.T, records []byte, n int) []byte {
	t.Helper()
	s, size := record.NewScanner(records), 0
	for range n {
		b, err := s.Next()
		require.NoError(t, err)
		size += b.Size()
	}
	return records[:size]
}

// ofSchema is a batch at another place and of another schema.
func ofSchema(batch []byte, base int64, schema uint16) []byte {
	b := append([]byte(nil), batch...)
	record.Stamp(b, base, time.Now().UnixMilli())
	binary.LittleEndian.PutUint16(b[25:], schema)
	return seal(b)
}

// withStatistics is a batch of magic 0 in the layout that 1.0 calls magic 1: statistics stand behind the header.
func withStatistics(batch []byte) []byte {
	const header, size = 48, 71
	b := append([]byte(nil), batch[:header]...)
	b = binary.LittleEndian.AppendUint32(b, size)
	b = append(b, make([]byte, size)...)
	b = append(b, batch[header:]...)
	b[12] = 1
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)-12))
	return seal(b)
}

func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[21:], crc32.Checksum(b[25:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}
