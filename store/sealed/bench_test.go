package sealed_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sealed"
)

// BenchmarkRead is what opening costs a recovery, per record; mode=none is the store
// below.
func BenchmarkRead(b *testing.B) {
	const records = 1000
	for _, size := range []int{200, 16 << 10} {
		for _, mode := range []string{"none", "sign", "aead"} {
			b.Run(fmt.Sprintf("mode=%s/size=%d", mode, size), func(b *testing.B) {
				inner := memstore.New(1)
				open := func() store.Store {
					if mode == "none" {
						return inner
					}
					opts := &sealed.Options{}
					if mode == "sign" {
						opts.Mode = sealed.Sign
					}
					st, err := sealed.New(inner, logName, ring, opts)
					if err != nil {
						b.Fatal(err)
					}
					return st
				}
				st := open()
				for i := range int32(records) {
					ev := by(stranger, "job", 1, i+1, intent.ActionRequested, string(bytes.Repeat([]byte("x"), size)))
					if _, err := st.Append(context.Background(), 0, []intent.Event{ev}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := readAll(context.Background(), open()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
			})
		}
	}
}
