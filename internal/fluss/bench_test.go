package fluss

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// The benchmarks run on a real cluster and stand in pairs: a raw round trip of a prebuilt frame is the floor of what follows it.

func benchSchema() row.Schema {
	var s row.Schema
	for _, name := range []string{"job_id", "event_id", "attempt", "step", "event_type", "action_id", "payload_digest", "emitted_at_ms", "detail"} {
		kind := row.STRING
		switch name {
		case "attempt", "step":
			kind = row.INT
		case "emitted_at_ms":
			kind = row.BIGINT
		}
		s = append(s, row.Column{Name: name, Kind: kind})
	}
	return s
}

func benchRow() []row.Value {
	return []row.Value{
		row.String("job-1729"), row.String("job-1729/1.3f2a/4"), row.Int(1), row.Int(4), row.String("ACTION_REQUESTED"), row.String("job-1729/charge"),
		row.String(strings.Repeat("0123456789abcdef", 4)), row.Bigint(1_700_000_000_000), row.String(strings.Repeat("x", 460)),
	}
}

func benchTable(b *testing.B, format record.Format) *Table {
	b.Helper()
	c := New(Options{Bootstrap: []string{flusstest.SharedCluster(b).Bootstrap()}})
	b.Cleanup(func() { require.NoError(b, c.Close()) })
	p := Path{Database: "fluss", Table: fmt.Sprintf("bench%d", time.Now().UnixNano())}
	require.NoError(b, c.CreateTable(b.Context(), p, TableDescriptor{
		Schema: benchSchema(), BucketKey: []string{"job_id"}, Buckets: 1,
		Properties: map[string]string{"table.log.format": format.String(), "table.log.arrow.compression.type": "NONE"},
	}))
	t, err := c.Table(b.Context(), p)
	require.NoError(b, err)
	for range 200 { // the server's compiler warms up too
		_, err = t.Append(b.Context(), 0, benchRow())
		require.NoError(b, err)
	}
	return t
}

// rawFrame is a request for one batch of n rows, without a writer, so that it may be sent any number of times.
func rawFrame(b *testing.B, t *Table, n int) []byte {
	b.Helper()
	a := newAppender(t, 0, msg.KeyProduceLog)
	a.sequence = -1
	for range n {
		a.values = append(a.values, benchRow()...)
	}
	require.NoError(b, a.encode())
	return a.f.frame
}

func BenchmarkAppend(b *testing.B) {
	for _, format := range []record.Format{record.Arrow, record.Indexed} {
		b.Run("format="+format.String(), func(b *testing.B) {
			b.Run("work=raw", func(b *testing.B) {
				t := benchTable(b, format)
				cn, _, err := t.leader(b.Context(), msg.KeyProduceLog, 0, nil)
				require.NoError(b, err)
				for _, rows := range []int{1, 64} {
					b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
						frame := rawFrame(b, t, rows)
						for b.Loop() {
							cl, err := cn.startFrame(b.Context(), msg.KeyProduceLog, frame)
							require.NoError(b, err)
							_, err = cn.wait(b.Context(), cl, time.Minute)
							require.NoError(b, err)
						}
						b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
					})
				}
			})
			b.Run("work=alone", func(b *testing.B) {
				t, values := benchTable(b, format), benchRow()
				b.ReportAllocs()
				for b.Loop() {
					_, err := t.Append(b.Context(), 0, values)
					require.NoError(b, err)
				}
			})
			b.Run("work=64", func(b *testing.B) {
				t, values := benchTable(b, format), benchRow()
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				for range 64 {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							if _, err := t.Append(context.Background(), 0, values); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, format := range []record.Format{record.Arrow, record.Indexed} {
		t, values := benchTable(b, format), benchRow()
		b.Run("format="+format.String()+"/work=append+read9", func(b *testing.B) {
			for b.Loop() {
				last, err := t.Append(b.Context(), 0, values)
				require.NoError(b, err)
				n := 0
				require.NoError(b, t.Read(b.Context(), 0, last-8, last+1, func(r *Records) error {
					for r.Next() {
						n++
					}
					return nil
				}))
				require.Equal(b, 9, n)
			}
		})
		end := int64(0)
		for size := 1; end < 200_000; size = size%64 + 1 { // batches of 1 to 64 rows
			rows := make([]row.Value, 0, size*len(values))
			for range size {
				rows = append(rows, values...)
			}
			base, err := t.Append(b.Context(), 0, rows)
			require.NoError(b, err)
			end = base + int64(size)
		}
		b.Run("format="+format.String()+"/work=all", func(b *testing.B) {
			n := 0
			for b.Loop() {
				require.NoError(b, t.Read(b.Context(), 0, 0, end, func(r *Records) error {
					for r.Next() {
						n++
					}
					return nil
				}))
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
