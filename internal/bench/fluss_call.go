package main

import (
	"context"
	"fmt"
)

// call is one durable HTTP call after the other, with the log on Fluss.
func (b *flussBench) call(ctx context.Context) error {
	srv := service()
	defer srv.Close()
	p, err := buildPeers(ctx, b.dir)
	if err != nil {
		return err
	}
	c := &contest{work: "fluss-call", unit: "us"}
	var ours []int
	for _, format := range formats {
		st, err := b.open(ctx, "call", format)
		if err != nil {
			return err
		}
		defer st.Close()
		caller, err := newCaller(ctx, st, srv.URL)
		if err != nil {
			return err
		}
		defer caller.w.Close()
		n := 0
		o := c.call(label(format), func() error {
			n++
			return caller.durable(ctx, fmt.Sprintf("call-%d", n))
		})
		c.against(o, c.call("bare HTTP call", func() error { return caller.bare(ctx) }))
		ours = append(ours, o)
	}
	name, dbos := "DBOS on SQLite", func() (float64, error) { return p.run(ctx, "dbos-call", b.dir) }
	if url, stop, err := startPostgres(ctx, b.dir); err == nil {
		defer stop()
		name, dbos = "DBOS on Postgres", func() (float64, error) { return p.run(ctx, "dbos-call-url", url) }
	} else {
		b.r.note("fluss-call: no Postgres here (%v), so DBOS runs on SQLite", err)
	}
	peer := c.run(name, dbos)
	for _, o := range ours {
		c.against(o, peer)
	}
	return c.hold(b.rounds, b.r)
}
