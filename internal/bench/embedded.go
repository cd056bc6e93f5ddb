package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// rounds is how often ours and the peer take turns.
const rounds = 5

// embedded measures the embedded log.
func embedded(ctx context.Context, fs *flag.FlagSet, args []string, r *report) error {
	only := fs.String("work", "", "only this work: append, append64, call, call64, recover1m")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(".", ".bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	p, err := buildPeers(ctx, dir)
	if err != nil {
		return err
	}
	for _, w := range []struct {
		name string
		run  func(context.Context, string, *peers, *report) error
	}{
		{"append", appendAlone},
		{"append64", append64},
		{"call", callAlone},
		{"call64", call64},
		{"recover1m", recover1m},
	} {
		if *only != "" && *only != w.name {
			continue
		}
		if err := w.run(ctx, dir, p, r); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// payload is that of a realistic intent, of about 460 bytes.
var payload = `{"ticket":"ticket-1042","outcome":"needs-followup","note":"` + strings.Repeat("x", 400) + `"}`

var payloadDigest = intent.DigestOf([]byte(payload))

const benchOwner = intent.OwnerID("6b1e8a52-6c5f-4f0e-9a1f-3d6a0f4f2b11")

// requested is a realistic event, and cheap to make: what is measured is not this.
func requested(i int) intent.Event {
	job := intent.JobID("job-" + strconv.Itoa(i))
	return intent.Event{
		JobID: job, EventID: intent.NewEventID(job, 1, benchOwner, 2), Attempt: 1, Step: 2, Type: intent.ActionRequested,
		ActionID: intent.ActionID(job + "/1"), PayloadDigest: payloadDigest, EmittedAtMS: 1_800_000_000_000, Detail: payload,
	}
}

// appendAlone is one event after the other against raw append + fdatasync of as
// many bytes on the same file system.
func appendAlone(ctx context.Context, dir string, _ *peers, r *report) error {
	st, err := sqlitestore.Open(filepath.Join(dir, "append.db"), nil)
	if err != nil {
		return err
	}
	defer st.Close()
	raw, err := newRawLog(filepath.Join(dir, "append.raw"))
	if err != nil {
		return err
	}
	defer raw.close()
	var ours, floor []float64
	n := 0
	for range rounds {
		o, err := latency(1000, func(i int) error {
			n++
			_, err := st.Append(ctx, 0, []intent.Event{requested(n)})
			return err
		})
		if err != nil {
			return err
		}
		f, err := latency(1000, func(int) error { return raw.append() })
		if err != nil {
			return err
		}
		ours, floor = append(ours, o), append(floor, f)
	}
	r.lower("append", median(ours), median(floor), "raw append + fdatasync", "us")
	return nil
}

// append64 is 64 goroutines against the sync rate of the disk and two embedded
// stores.
func append64(ctx context.Context, dir string, p *peers, r *report) error {
	st, err := sqlitestore.Open(filepath.Join(dir, "append64.db"), nil)
	if err != nil {
		return err
	}
	defer st.Close()
	raw, err := newRawLog(filepath.Join(dir, "append64.raw"))
	if err != nil {
		return err
	}
	defer raw.close()
	var ours, floor, bolt, lite []float64
	for round := range rounds {
		o, err := rate(40_000, 64, func(i int) error {
			_, err := st.Append(ctx, 0, []intent.Event{requested(round*40_000 + i)})
			return err
		})
		if err != nil {
			return err
		}
		f, err := rate(3000, 1, func(int) error { return raw.append() })
		if err != nil {
			return err
		}
		b, err := p.run(ctx, "bbolt64", dir)
		if err != nil {
			return err
		}
		l, err := p.run(ctx, "sqlite64", dir)
		if err != nil {
			return err
		}
		ours, floor, bolt, lite = append(ours, o), append(floor, f), append(bolt, b), append(lite, l)
	}
	r.higher("append64", median(ours), median(floor), "raw syncs, one by one", "appends/s")
	r.higher("append64", median(ours), median(bolt), "bbolt Batch", "appends/s")
	r.higher("append64", median(ours), median(lite), "SQLite, one transaction each", "appends/s")
	return nil
}
