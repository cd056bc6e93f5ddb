package record

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/row"
)

// benchRows are n records of an intent log as they are in life: 460 bytes of detail.
func benchRows(n int) []row.Value {
	rows := sampleRows(n, false)
	for i := range n {
		rows[9*i+8] = row.String(strings.Repeat("d", 460))
	}
	return rows
}

var benchSizes = []int{1, 16, 64, 2000}

func BenchmarkEncode(b *testing.B) {
	for _, n := range benchSizes {
		rows := benchRows(n)
		for _, format := range []Format{Arrow, Indexed} {
			b.Run(fmt.Sprintf("format=%s/rows=%d/by=ours", strings.ToLower(format.String()), n), func(b *testing.B) {
				enc, err := NewEncoder(nine, format)
				require.NoError(b, err)
				var buf []byte
				b.ReportAllocs()
				for b.Loop() {
					if buf, err = enc.Append(buf[:0], goldenMeta, rows); err != nil {
						b.Fatal(err)
					}
				}
				perRow(b, n)
			})
		}
		b.Run(fmt.Sprintf("format=arrow/rows=%d/by=arrow-go", n), func(b *testing.B) {
			peer := newArrowPeer(b, nine)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := peer.message(rows); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, n)
		})
	}
}

// BenchmarkRead reads batches as a fetch delivers them, checksum included, and touches every value.
func BenchmarkRead(b *testing.B) {
	for _, n := range benchSizes {
		rows := benchRows(n)
		for _, format := range []Format{Arrow, Indexed} {
			b.Run(fmt.Sprintf("format=%s/rows=%d/by=ours", strings.ToLower(format.String()), n), func(b *testing.B) {
				enc, err := NewEncoder(nine, format)
				require.NoError(b, err)
				batch, err := enc.Append(nil, goldenMeta, rows)
				require.NoError(b, err)
				dec := newDecoder(b, format)
				b.SetBytes(int64(len(batch)))
				b.ReportAllocs()
				for b.Loop() {
					if read(b, dec, batch) != n {
						b.Fatal("rows are missing")
					}
				}
				perRow(b, n)
			})
		}
		b.Run(fmt.Sprintf("format=arrow/rows=%d/by=arrow-go", n), func(b *testing.B) {
			peer := newArrowPeer(b, nine)
			message, err := peer.message(rows)
			require.NoError(b, err)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				if err := peer.read(message, func(rec arrow.RecordBatch) { values(rec) }); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, n)
		})
	}
}

func read(b *testing.B, dec *Decoder, fetched []byte) (rows int) {
	scan := NewScanner(fetched)
	for {
		batch, err := scan.Next()
		if err == io.EOF {
			return rows
		}
		if err == nil {
			err = dec.Reset(batch, 0)
		}
		for err == nil && dec.Next() {
			rows++
		}
		if err != nil || dec.Err() != nil {
			b.Fatal(err, dec.Err())
		}
	}
}

func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}
