//go:build unix

package intentlog_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
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

// BenchmarkCall compares one POST of 400 bytes over a kept connection, by a bare
// http.Client and by one with the worker's transport. cpu-us/op is the processor time
// of the process, with the server's and the collector's share. A log that keeps nothing
// shows what the transport costs by itself; memory adds a heap that grows, and the disk
// the two synced appends.
//
//	go test -run '^$' -bench Call -count 6 .
func BenchmarkCall(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"id":"ch_1"}`)
	}))
	defer srv.Close()
	b.Run("by=client", func(b *testing.B) { call(b, srv.URL, &http.Client{}) })
	b.Run("by=transport/store=none", func(b *testing.B) { durableCall(b, srv.URL, &nowhere{Store: memstore.New(1)}) })
	b.Run("by=transport/store=memory", func(b *testing.B) { durableCall(b, srv.URL, memstore.New(1)) })
	b.Run("by=transport/store=sqlite", func(b *testing.B) {
		st, err := sqlitestore.Open(filepath.Join(b.TempDir(), "intents.db"), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer st.Close()
		durableCall(b, srv.URL, st)
	})
}

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

func durableCall(b *testing.B, url string, st store.Store) {
	w, err := intentlog.Open(b.Context(), st, "billing-0", &intentlog.Options{
		Targets: intentlog.Targets{"payments": {Base: url}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	call(b, url, &http.Client{Transport: w.Transport(nil)})
}

func call(b *testing.B, url string, client *http.Client) {
	body := `{"amount":1799,"note":"` + strings.Repeat("x", 400) + `"}`
	n := 0
	post := func() {
		n++
		id := fmt.Sprintf("order-%d", n)
		ctx := intentlog.WithAction(context.Background(), intent.JobID(id), intent.ActionID(id))
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/charges", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	post() // the connection
	b.ReportAllocs()
	before, calls := processor(b), n
	for b.Loop() {
		post()
	}
	b.ReportMetric(float64((processor(b)-before).Nanoseconds())/1e3/float64(n-calls), "cpu-us/op")
}

// processor is the processor time that the process has used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
