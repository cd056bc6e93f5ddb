package main

import (
	"context"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

// readEvents is how many events the log has that is read.
const readEvents = 500_000

// read reads a log as appends leave it, in batches of 1 to 64 rows. Ours checks
// sums and digests and folds every job as a recovery does; peers only deliver rows.
func (b *flussBench) read(ctx context.Context) error {
	c := &contest{work: "fluss-read", unit: "records/s", higher: true}
	var ours []int
	for _, format := range formats {
		st, raw, err := b.pair(ctx, "read", format)
		if err != nil {
			return err
		}
		defer st.Close()
		defer raw.close()
		size := 0
		if err := fill(ctx, st, readEvents, 1000, func() int { size = size%64 + 1; return size }); err != nil {
			return err
		}
		o := c.run(label(format), func() (float64, error) { return foldAll(ctx, st) })
		c.against(o, c.run("ours without reduction "+label(format), func() (float64, error) { return readAll(ctx, st) }))
		c.against(o, c.run("raw fetch with checksum "+label(format), func() (float64, error) { return raw.fetch(readEvents) }))
		ours = append(ours, o)
	}
	work := fmt.Sprintf("read %s %d", b.table("read", flussstore.Arrow), readEvents)
	// In ARROW only: the clients of the 1.0 line misread INDEXED rows.
	b.javaIn(c, ours, formats[:1], func(flussstore.Format) string { return work })
	b.pythonIn(c, "pyfluss Arrow batches", ours[0], work)
	return c.hold(b.rounds, b.r)
}

// foldAll sees the whole log as a recovery does, and returns records per second.
func foldAll(ctx context.Context, st store.Store) (float64, error) {
	v := recovery.NewView(st, nil)
	start := time.Now()
	if err := v.CatchUp(ctx); err != nil {
		return 0, err
	}
	return float64(v.Positions()[0]) / time.Since(start).Seconds(), nil
}

// readAll reads the whole log, and returns records per second.
func readAll(ctx context.Context, st store.Store) (float64, error) {
	start := time.Now()
	bound, err := st.Bound(ctx, 0)
	if err != nil {
		return 0, err
	}
	var n, bytes int
	err = st.Read(ctx, 0, 0, bound.End, func(r *store.Record) error {
		n, bytes = n+1, bytes+len(r.Event.Detail)
		return nil
	})
	if err == nil && (int64(n) != bound.End || bytes == 0) {
		err = fmt.Errorf("%d records of %d", n, bound.End)
	}
	return float64(n) / time.Since(start).Seconds(), err
}

// read9 asks for a linearizable bound and reads the last nine events below it, in a
// store that is open and in one that is opened for it.
func (b *flussBench) read9(ctx context.Context) error {
	c := &contest{work: "fluss-read9", unit: "us"}
	var ours []int
	for _, format := range formats {
		st, raw, err := b.pair(ctx, "read9", format)
		if err != nil {
			return err
		}
		defer st.Close()
		defer raw.close()
		for i := range 9 {
			if _, err := st.Append(ctx, 0, []intent.Event{requested(i)}); err != nil {
				return err
			}
		}
		frame, err := raw.produce(1)
		if err != nil {
			return err
		}
		warm := c.call(label(format)+" warm", func() error { return nine(ctx, st) })
		floor := c.call("raw append round trip "+label(format), func() error { return stored(raw.roundTrip(frame)) })
		cold := c.run(label(format)+" cold", func() (float64, error) {
			return latency(50, func(int) error {
				st, err := b.open(ctx, "read9", format)
				if err != nil {
					return err
				}
				defer st.Close()
				return nine(ctx, st)
			})
		})
		c.against(warm, floor)
		c.against(cold, floor)
		ours = append(ours, warm, cold)
	}
	b.javaIn(c, ours, formats, func(flussstore.Format) string { return "read9" })
	return c.hold(b.rounds, b.r)
}

func nine(ctx context.Context, st store.Store) error {
	bound, err := st.Bound(ctx, 0)
	if err != nil {
		return err
	}
	n := 0
	err = st.Read(ctx, 0, bound.End-9, bound.End, func(*store.Record) error {
		n++
		return nil
	})
	if err == nil && n != 9 {
		err = fmt.Errorf("%d records of 9", n)
	}
	return err
}
