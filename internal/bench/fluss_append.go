package main

import (
	"context"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store/flussstore"
)

// appendAlone is one event after the other, against the round trip of a prebuilt
// frame with one row.
func (b *flussBench) appendAlone(ctx context.Context) error {
	c := &contest{work: "fluss-append", unit: "us"}
	var ours []int
	for _, format := range formats {
		st, raw, err := b.pair(ctx, "append", format)
		if err != nil {
			return err
		}
		defer st.Close()
		defer raw.close()
		frame, err := raw.produce(1)
		if err != nil {
			return err
		}
		n := 0
		o := c.call(label(format), func() error {
			n++
			_, err := st.Append(ctx, 0, []intent.Event{requested(n)})
			return err
		})
		c.against(o, c.call("raw round trip "+label(format), func() error { return stored(raw.roundTrip(frame)) }))
		ours = append(ours, o)
	}
	b.javaIn(c, ours, formats, func(flussstore.Format) string { return "append" })
	b.pythonIn(c, "pyfluss ARROW", ours[0], "append")
	return c.hold(b.rounds, b.r)
}

// append64 is 64 goroutines that append one event after the other, against prebuilt
// frames of 64 rows, one in flight.
func (b *flussBench) append64(ctx context.Context) error {
	c := &contest{work: "fluss-append64", unit: "rows/s", higher: true}
	// Made before, as the raw frames are.
	events := make([]intent.Event, 1024)
	for i := range events {
		events[i] = requested(i)
	}
	var ours []int
	for _, format := range formats {
		st, raw, err := b.pair(ctx, "append64", format)
		if err != nil {
			return err
		}
		defer st.Close()
		defer raw.close()
		frame, err := raw.produce(64)
		if err != nil {
			return err
		}
		many := func() (float64, error) {
			return rate(20_000, 64, func(i int) error {
				i %= len(events)
				_, err := st.Append(ctx, 0, events[i:i+1])
				return err
			})
		}
		bare := func() (float64, error) { return raw.rate(frame, 64, 500, 1) }
		o := c.run(label(format), many)
		c.against(o, c.run("raw batches of 64 rows "+label(format), bare))
		ours = append(ours, o)
	}
	// The Java client's INDEXED writer is not safe for several threads.
	b.javaIn(c, ours, formats[:1], func(flussstore.Format) string { return "append64" })
	return c.hold(b.rounds, b.r)
}

// bulk is a producer of large batches, against prebuilt frames of 2000 rows, five in flight.
func (b *flussBench) bulk(ctx context.Context) error {
	const together = 500
	c := &contest{work: "fluss-bulk", unit: "rows/s", higher: true}
	var ours []int
	for _, format := range formats {
		st, raw, err := b.pair(ctx, "bulk", format)
		if err != nil {
			return err
		}
		defer st.Close()
		defer raw.close()
		frame, err := raw.produce(2000)
		if err != nil {
			return err
		}
		events := make([]intent.Event, together)
		for i := range events {
			events[i] = requested(i)
		}
		many := func() (float64, error) {
			calls, err := rate(400, 4, func(int) error {
				_, err := st.Append(ctx, 0, events)
				return err
			})
			return together * calls, err
		}
		bare := func() (float64, error) { return raw.rate(frame, 2000, 100, 5) }
		o := c.run(label(format), many)
		c.against(o, c.run("raw batches of 2000 rows, five in flight, "+label(format), bare))
		ours = append(ours, o)
	}
	b.javaIn(c, ours, formats, func(flussstore.Format) string { return "bulk 200000" })
	b.pythonIn(c, "pyfluss rows ARROW", ours[0], "bulk 50000")
	b.pythonIn(c, "pyfluss Arrow batches", ours[0], "bulkarrow 200000")
	return c.hold(b.rounds, b.r)
}

// pair opens a log and the raw connection to it.
func (b *flussBench) pair(ctx context.Context, name string, format flussstore.Format) (*flussstore.Store, *rawFluss, error) {
	st, err := b.open(ctx, name, format)
	if err != nil {
		return nil, nil, err
	}
	raw, err := b.raw(ctx, name, format)
	if err != nil {
		_ = st.Close()
	}
	return st, raw, err
}
