//go:build linux

package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

func BenchmarkAppend(b *testing.B) {
	b.Run("store=raw/conc=1", func(b *testing.B) {
		f, err := os.OpenFile(filepath.Join(b.TempDir(), "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		require.NoError(b, err)
		defer f.Close()
		rec := make([]byte, 700)
		for b.Loop() {
			if _, err := f.Write(rec); err != nil {
				b.Fatal(err)
			}
			if err := syscall.Fdatasync(int(f.Fd())); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, conc := range []int{1, 64} {
		b.Run(fmt.Sprintf("store=sqlite/conc=%d", conc), func(b *testing.B) {
			st, err := sqlitestore.Open(filepath.Join(b.TempDir(), "log.db"), nil)
			require.NoError(b, err)
			defer st.Close()
			ctx := context.Background()
			var next atomic.Int64
			n := int64(b.N)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for range conc {
				wg.Go(func() {
					for i := next.Add(1); i <= n; i = next.Add(1) {
						e := [1]intent.Event{benchEvent(i)}
						if _, err := st.Append(ctx, 0, e[:]); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	st, err := sqlitestore.Open(filepath.Join(b.TempDir(), "log.db"), nil)
	require.NoError(b, err)
	defer st.Close()
	const total, batch = 200_000, 2000
	ctx := context.Background()
	events := make([]intent.Event, batch)
	for i := int64(0); i < total; i += batch {
		for k := range events {
			events[k] = benchEvent(i + int64(k))
		}
		_, err := st.Append(ctx, 0, events)
		require.NoError(b, err)
	}
	for _, n := range []int64{1, 10, total} {
		b.Run(fmt.Sprintf("store=sqlite/records=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var bytes int
				err := st.Read(ctx, 0, total-n, total, func(r *store.Record) error {
					bytes += len(r.Event.Detail)
					return nil
				})
				if err != nil || bytes != int(n)*len(benchDetail) {
					b.Fatal(bytes, err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
