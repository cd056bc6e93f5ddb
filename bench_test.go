//go:build unix

package intentlog_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// BenchmarkCall compares one POST of 400 bytes over kept connections, by a bare
// http.Client and by one with the worker's transport, one after the other and sixteen
// at once. cpu-us/op is the processor time of the process, with the server's and the
// collector's share. A log that keeps nothing shows what the transport costs by
// itself; memory adds a heap that grows, and the disk the two synced appends. With
// -cpu 1 no idle processor is woken to look for work, which costs time too.
//
//	go test -run '^$' -bench Call -cpu 1,2 -count 6 .
func BenchmarkCall(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"id":"ch_1"}`)
	}))
	defer srv.Close()
	for _, many := range []int{1, 16} {
		name := fmt.Sprintf("at-once=%d/by=", many)
		b.Run(name+"client", func(b *testing.B) { call(b, srv.URL, &http.Client{Transport: kept()}, many) })
		b.Run(name+"transport/store=none", func(b *testing.B) { durableCall(b, srv.URL, &nowhere{Store: memstore.New(1)}, many) })
		b.Run(name+"transport/store=memory", func(b *testing.B) { durableCall(b, srv.URL, memstore.New(1), many) })
		b.Run(name+"transport/store=sqlite", func(b *testing.B) {
			st, err := sqlitestore.Open(filepath.Join(b.TempDir(), "intents.db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			durableCall(b, srv.URL, st, many)
		})
	}
}

// kept keeps as many connections as there are calls at once.
func kept() http.RoundTripper { return &http.Transport{MaxIdleConnsPerHost: 16} }

// nowhere is a log that acknowledges and keeps nothing. A single worker that lives
// on it never has anything to read.
type nowhere struct {
	store.Store
	end atomic.Int64
}

func (n *nowhere) Append(_ context.Context, _ int, events []intent.Event) (int64, error) {
	k := int64(len(events))
	return n.end.Add(k) - k, nil
}

func durableCall(b *testing.B, url string, st store.Store, many int) {
	w, err := intentlog.Open(b.Context(), st, "billing-0", &intentlog.Options{
		Targets: intentlog.Targets{"payments": {Base: url, Transport: kept()}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	call(b, url, &http.Client{Transport: w.Transport(nil)}, many)
}

func call(b *testing.B, url string, client *http.Client, many int) {
	body := `{"amount":1799,"note":"` + strings.Repeat("x", 400) + `"}`
	var n atomic.Int64
	post := func() {
		id := fmt.Sprintf("order-%d", n.Add(1))
		ctx := intentlog.WithAction(context.Background(), intent.JobID(id), intent.ActionID(id))
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/charges", strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	post() // a connection
	b.ReportAllocs()
	b.ResetTimer()
	before := processor(b)
	b.SetParallelism((many + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	if many == 1 {
		for range b.N {
			post()
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				post()
			}
		})
	}
	b.ReportMetric(float64((processor(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
}

// processor is the processor time that the process has used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
