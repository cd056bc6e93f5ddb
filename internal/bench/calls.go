package main

import (
	"bytes"
	"context"
	"errors"
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

// callAlone is one durable HTTP call after the other. Its floor is a bare call
// between two raw appends that are synced: what nothing durable can undercut.
func callAlone(ctx context.Context, dir string, p *peers, r *report) error {
	raw, err := newRawLog(filepath.Join(dir, "call.raw"))
	if err != nil {
		return err
	}
	defer raw.close()
	const floor = "bare HTTP call between two raw appends + fdatasync"
	got, err := calls(ctx, dir, p, "call", func(c *caller, round int) (figures, error) {
		f := figures{}
		var err error
		if f["ours"], err = latency(500, func(i int) error { return c.durable(ctx, fmt.Sprintf("call-%d-%d", round, i)) }); err != nil {
			return nil, err
		}
		if f[bare], err = latency(1000, func(int) error { return c.bare(ctx) }); err != nil {
			return nil, err
		}
		f[floor], err = latency(500, func(int) error {
			return errors.Join(raw.append(), c.bare(ctx), raw.append())
		})
		return f, err
	})
	if err != nil {
		return err
	}
	for _, peer := range []string{dbos, floor, bare} {
		r.lower("call", got["ours"], got[peer], peer, "us")
	}
	return nil
}

// call64 is 64 durable HTTP calls at once.
func call64(ctx context.Context, dir string, p *peers, r *report) error {
	got, err := calls(ctx, dir, p, "call64", func(c *caller, round int) (figures, error) {
		f := figures{}
		var err error
		if f["ours"], err = rate(10_000, 64, func(i int) error { return c.durable(ctx, fmt.Sprintf("call64-%d-%d", round, i)) }); err != nil {
			return nil, err
		}
		f[bare], err = rate(20_000, 64, func(int) error { return c.bare(ctx) })
		return f, err
	})
	if err != nil {
		return err
	}
	for _, peer := range []string{dbos, bare} {
		r.higher("call64", got["ours"], got[peer], peer, "calls/s")
	}
	return nil
}

// The peers of durable calls.
const (
	dbos = "DBOS Transact Go on SQLite"
	bare = "bare HTTP call"
)

// figures are what one round, or all of them, measured, by name.
type figures map[string]float64

// calls lets the library's calls and DBOS take turns and returns the medians.
func calls(ctx context.Context, dir string, p *peers, work string, measure func(c *caller, round int) (figures, error)) (figures, error) {
	srv := service()
	defer srv.Close()
	st, err := sqlitestore.Open(filepath.Join(dir, work+".db"), nil)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	c, err := newCaller(ctx, st, srv.URL)
	if err != nil {
		return nil, err
	}
	defer c.w.Close()
	all := map[string][]float64{}
	for round := range rounds {
		f, err := measure(c, round)
		if err != nil {
			return nil, err
		}
		if f[dbos], err = p.run(ctx, "dbos-"+work, dir); err != nil {
			return nil, err
		}
		for name, v := range f {
			all[name] = append(all[name], v)
		}
	}
	out := figures{}
	for name, v := range all {
		out[name] = median(v)
	}
	return out, nil
}
