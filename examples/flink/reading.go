package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/flinktest"
	"github.com/intentlog/intentlog/internal/flinktrace"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
	"github.com/intentlog/intentlog/store/projection"
)

// reading is a projection as Flink read it.
type reading struct {
	events map[intent.EventID]intent.Event
	jobID  string
	tm     *flinktest.TaskManager // that read, where it matters
}

// readProjection scans a projection on a TaskManager and stops at n rows. A streaming scan
// begins with the table's snapshot; rows that were changed would come as updates.
func (l *lab) readProjection(ctx context.Context, database string, n int64) (*reading, error) {
	if _, err := l.session.Run(ctx, "SET 'execution.runtime-mode' = 'streaming'; USE "+database+";"); err != nil {
		return nil, err
	}
	got := &reading{events: map[intent.EventID]intent.Event{}}
	var bad error
	r, err := l.session.Stream(ctx, "SELECT "+strings.Join(intent.Columns[:], ", ")+" FROM events_by_id", func(row flinktest.Row) bool {
		e, err := flinktrace.Event(row.Fields)
		switch {
		case err != nil:
			bad = err
		case row.Kind != "INSERT":
			bad = fmt.Errorf("%s of row %q", row.Kind, e.EventID)
		case got.events[e.EventID] != intent.Event{}:
			bad = fmt.Errorf("row %q came twice", e.EventID)
		}
		got.events[e.EventID] = e
		return bad == nil && int64(len(got.events)) < n
	})
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("read projection of %s: %w", database, err)
	}
	got.jobID = r.JobID
	return got, nil
}

// importSQL fills a second projection of the main log by INSERT, and then again with an
// event more. Validation comes first, by Go, and says up to which offset the records are
// sound.
func (p *play) importSQL(ctx context.Context) (o outcome, err error) {
	if err := p.createTables(ctx, sqlDB); err != nil {
		return o, err
	}
	sink, err := p.openSink(ctx, sqlDB)
	if err != nil {
		return o, err
	}
	var valid projection.Report
	var log []intent.Event
	for n := range 2 {
		w := request(intent.JobID(fmt.Sprint("order-1", n)), time.Now().UnixMilli())
		if _, err := p.st.Append(ctx, 0, w.events); err != nil {
			return o, err
		}
		if valid, err = projection.New(p.st, nil).Validate(ctx); err != nil {
			return o, err
		}
		if log, err = readLog(ctx, p.st, valid.Ends[0]); err != nil {
			return o, err
		}
		if err := p.insert(ctx, valid.Ends[0], sink, w.last()); err != nil {
			return o, err
		}
	}
	count, err := p.count(ctx, sqlDB)
	if err != nil {
		return o, err
	}
	rows, err := p.readProjection(ctx, sqlDB, count)
	if err != nil {
		return o, err
	}
	_, changed, err := p.changes(ctx, sqlDB)
	if err != nil {
		return o, err
	}
	return outcome{count, fmt.Sprintf("records below offset %d, most of them twice, in %d changes: no row went back", valid.Ends[0], changed)}, errors.Join(
		unequal("rows", count, valid.Events), unequal("changes", changed, count), sameRows(rows.events, log))
}

// insert runs the INSERT of import.sql until the last event that it can bring is in the
// table; it must be a new one. Rows of one bucket come in order, so all are then.
func (p *play) insert(ctx context.Context, end int64, sink *flussstore.Projection, last intent.Event) error {
	script, err := query("import.sql")
	if err != nil {
		return err
	}
	script = strings.NewReplacer(
		"< 1000", fmt.Sprint("< ", end), "INTO events_by_id", "INTO "+sqlDB+".events_by_id",
	).Replace(script)
	if _, err := p.session.Run(ctx, "USE "+mainDB+"; SET 'execution.runtime-mode' = 'streaming';"); err != nil {
		return err
	}
	if _, err := p.session.Exec(ctx, "SET 'table.dml-sync' = 'false'"); err != nil {
		return err
	}
	r, err := p.session.Exec(ctx, script)
	if err != nil {
		return err
	}
	if err := p.awaitRow(ctx, sink, last); err != nil {
		return err
	}
	if _, err := p.session.Exec(ctx, "SET 'table.dml-sync' = 'true'"); err != nil {
		return err
	}
	if _, err := p.session.Exec(ctx, "STOP JOB '"+r.JobID+"'"); err != nil {
		return err
	}
	_, err = p.flink.AwaitJob(ctx, r.JobID, "CANCELED")
	return err
}

// poll asks until it is told the end.
func poll(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (p *play) awaitRow(ctx context.Context, sink *flussstore.Projection, want intent.Event) error {
	return poll(ctx, func() (bool, error) {
		got, err := sink.Lookup(ctx, want.EventID)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil, errors.Join(err, unequal("row", got, want))
	})
}
