package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// service is the local HTTP service that calls go to.
func service() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
}

// caller makes durable calls through a worker, and bare ones without it.
type caller struct {
	w   *intentlog.Worker
	rt  *http.Transport
	url string
}

func newCaller(ctx context.Context, st store.Store, url string) (*caller, error) {
	rt := &http.Transport{MaxIdleConnsPerHost: 128}
	w, err := intentlog.Open(ctx, st, "bench", &intentlog.Options{Targets: intentlog.Targets{"svc": {
		Base: url, Transport: rt, Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever},
	}}})
	return &caller{w: w, rt: rt, url: url}, err
}

func (c *caller) durable(ctx context.Context, job string) error {
	out, err := c.w.Do(ctx, intent.JobID(job), intent.POST("svc", "/", []byte(payload)))
	if err == nil && out.Status != intentlog.Confirmed {
		err = fmt.Errorf("call ended %s: %s", out.Status, out.Message)
	}
	return err
}

func (c *caller) bare(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader([]byte(payload)))
	if err != nil {
		return err
	}
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}

// callAlone is one durable HTTP call after the other.
func callAlone(ctx context.Context, dir string, p *peers, r *report) error {
	return calls(ctx, dir, p, r, "call", func(c *caller, round int) (ours, bare float64, err error) {
		ours, err = latency(500, func(i int) error { return c.durable(ctx, fmt.Sprintf("call-%d-%d", round, i)) })
		if err == nil {
			bare, err = latency(2000, func(int) error { return c.bare(ctx) })
		}
		return ours, bare, err
	})
}

// call64 is 64 durable HTTP calls at once.
func call64(ctx context.Context, dir string, p *peers, r *report) error {
	return calls(ctx, dir, p, r, "call64", func(c *caller, round int) (ours, bare float64, err error) {
		ours, err = rate(10_000, 64, func(i int) error { return c.durable(ctx, fmt.Sprintf("call64-%d-%d", round, i)) })
		if err == nil {
			bare, err = rate(20_000, 64, func(int) error { return c.bare(ctx) })
		}
		return ours, bare, err
	})
}

func calls(ctx context.Context, dir string, p *peers, r *report, work string, measure func(c *caller, round int) (ours, bare float64, err error)) error {
	srv := service()
	defer srv.Close()
	st, err := sqlitestore.Open(filepath.Join(dir, work+".db"), nil)
	if err != nil {
		return err
	}
	defer st.Close()
	c, err := newCaller(ctx, st, srv.URL)
	if err != nil {
		return err
	}
	defer c.w.Close()
	var ours, bare, dbos []float64
	for round := range rounds {
		o, b, err := measure(c, round)
		if err != nil {
			return err
		}
		d, err := p.run(ctx, "dbos-"+work, dir)
		if err != nil {
			return err
		}
		ours, bare, dbos = append(ours, o), append(bare, b), append(dbos, d)
	}
	if work == "call" {
		r.lower(work, median(ours), median(dbos), "DBOS Transact Go on SQLite", "us")
		r.lower(work, median(ours), median(bare), "bare HTTP call", "us")
		return nil
	}
	r.higher(work, median(ours), median(dbos), "DBOS Transact Go on SQLite", "calls/s")
	r.higher(work, median(ours), median(bare), "bare HTTP calls", "calls/s")
	return nil
}
