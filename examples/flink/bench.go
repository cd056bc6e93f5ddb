package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/flinktrace"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/projection"
)

const benchEvents = 100_000

// bench measures what the library promises a figure for, several times each: the first
// are cold.
func bench(ctx context.Context, l *lab, out io.Writer) error {
	const jobs, perJob, runs = benchEvents / 4, 4, 5
	st, _, err := l.create(ctx, "bench")
	if err != nil {
		return err
	}
	var events []intent.Event
	for i := range jobs {
		events = append(events, request(intent.JobID(fmt.Sprint("job-", i)), day).confirm().events...)
		if len(events) >= 1000 || i == jobs-1 {
			if _, err := st.Append(ctx, 0, events); err != nil {
				return err
			}
			events = events[:0]
		}
	}
	bound, err := st.Bound(ctx, 0)
	if err != nil {
		return err
	}
	const job intent.JobID = "job-777"
	fmt.Fprintf(out, "trace of one job of %d events, up to a bound\n", benchEvents)
	for run := range runs {
		began := time.Now()
		t, err := flinktrace.Stream(ctx, l.session, "job_events", job, bound.End)
		if err != nil {
			return err
		}
		byFlink := time.Since(began)
		began = time.Now()
		rows := 0
		err = st.Read(ctx, 0, 0, bound.End, func(r *store.Record) error {
			if r.Event.JobID == job {
				rows++
			}
			return nil
		})
		if err != nil {
			return err
		}
		byGo := time.Since(began)
		if rows != perJob || len(t.Rows) != perJob {
			return fmt.Errorf("%d rows by Go, %d by Flink, want %d", rows, len(t.Rows), perJob)
		}
		fmt.Fprintf(out, "  run %d: Flink %s %v, Go %v\n", run+1, l.flink.Version(), byFlink.Round(time.Millisecond), byGo.Round(time.Millisecond))
	}
	fmt.Fprintf(out, "native projection of %d events into a table of one bucket\n", benchEvents)
	for run := range runs {
		database := fmt.Sprint("bench_", run)
		if err := l.createTables(ctx, database); err != nil {
			return err
		}
		sink, err := l.openSink(ctx, database)
		if err != nil {
			return err
		}
		began := time.Now()
		p := projection.New(st, sink)
		if _, err := p.Validate(ctx); err != nil {
			return err
		}
		validated := time.Since(began)
		r, err := p.Import(ctx)
		if err != nil {
			return err
		}
		took := time.Since(began)
		fmt.Fprintf(out, "  run %d: %d rows in %v, of which validation %v: %.0f rows/s\n",
			run+1, r.Written, took.Round(time.Millisecond), validated.Round(time.Millisecond), float64(r.Written)/took.Seconds())
	}
	return nil
}
