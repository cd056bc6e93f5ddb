package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/flinktrace"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
	"github.com/intentlog/intentlog/store/projection"
)

// caseTimeout bounds one case. On a machine at rest the slowest takes ten seconds.
const caseTimeout = 2 * time.Minute

// outcome is what a case has to show: a number of rows, and what was seen in words.
type outcome struct {
	rows int64
	note string
}

type testCase struct {
	name string
	run  func(context.Context) (outcome, error)
}

// play is the history that the cases share, and what is known of it.
type play struct {
	*lab
	st       *flussstore.Store
	sink     *flussstore.Projection
	log      []intent.Event // of the main log, without barriers
	report   projection.Report
	read     *reading  // of the projection, by a fresh TaskManager
	snapshot *snapshot // with which that read began
}

// The databases of the cases, each with a log and a projection.
const (
	mainDB     = "lab"
	sqlDB      = "lab_sql" // the projection of the main log that SQL filled
	conflictDB = "lab_conflict"
	queriesDB  = "lab_queries"
)

// perform runs the cases, group by group those that build upon each other. The groups
// are few: a TaskManager has four slots, and a query that gets none fails.
func perform(ctx context.Context, l *lab, say io.Writer) []Result {
	p := &play{lab: l}
	groups := [][]testCase{
		{
			{"b2-trace", p.b2},
			{"duplicate-raw", p.duplicate},
			{"import-twice", p.importTwice},
			{"import-sql", p.importSQL},
			{"conflict-refused", p.conflict},
			{"fresh-taskmanager", p.freshTaskManager},
			{"kv-snapshot", p.kvSnapshot},
		},
		scriptCases(l),
		queryCases(l),
	}
	results := make([][]Result, len(groups))
	var mu sync.Mutex // guards say
	group := func(i int) {
		for _, c := range groups[i] {
			began := time.Now()
			r := performOne(ctx, c)
			mu.Lock()
			fmt.Fprintf(say, "%s: %v\n", c.name, time.Since(began).Round(100*time.Millisecond))
			mu.Unlock()
			results[i] = append(results[i], r)
		}
	}
	// A fresh TaskManager replaces the one that others work on, so the first group is alone.
	group(0)
	var wg sync.WaitGroup
	for i := range groups[1:] {
		wg.Go(func() { group(1 + i) })
	}
	wg.Wait()
	return slices.Concat(results...)
}

func performOne(ctx context.Context, c testCase) Result {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	o, err := c.run(ctx)
	r := Result{Case: c.name, Rows: o.rows, OK: err == nil, note: o.note}
	if err != nil {
		r.Err, _, _ = strings.Cut(err.Error(), "\n")
	}
	return r
}

// unequal is an error that shows both sides, or nil.
func unequal(what string, got, want any) error {
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v", what, got, want)
}

// b2 writes the crashed job and reads its trace by Flink and by Go.
func (p *play) b2(ctx context.Context) (o outcome, err error) {
	if p.st, p.sink, err = p.create(ctx, mainDB); err != nil {
		return o, err
	}
	if err := crashB2(ctx, p.st); err != nil {
		return o, err
	}
	t, events, err := p.trace(ctx, ticket)
	if err != nil {
		return o, err
	}
	var attempts [2][]intent.Type
	for _, e := range events {
		if e.Attempt > 2 {
			return o, fmt.Errorf("attempt %d", e.Attempt)
		}
		attempts[e.Attempt-1] = append(attempts[e.Attempt-1], e.Type)
	}
	want := [2][]intent.Type{
		{intent.Started, intent.ComputeStarted, intent.ComputeFinished, intent.ActionRequested},
		{intent.Started, intent.Reconciled, intent.ActionConfirmed, intent.Completed},
	}
	o = outcome{int64(len(t.Rows)), fmt.Sprintf("4 + 4, nine columns as Go reads them, offsets [0, %d) once each", t.Offsets)}
	return o, unequal("attempts", attempts, want)
}

// trace reads a job by Flink up to a bound, and compares it with the store's own read.
func (p *play) trace(ctx context.Context, job intent.JobID) (t flinktrace.Trace, events []intent.Event, err error) {
	bound, err := p.st.Bound(ctx, 0)
	if err != nil {
		return t, nil, err
	}
	all, err := readLog(ctx, p.st, bound.End)
	if err != nil {
		return t, nil, err
	}
	for _, e := range all {
		if e.JobID == job {
			events = append(events, e)
		}
	}
	if _, err = p.session.Exec(ctx, "USE "+mainDB); err != nil {
		return t, nil, err
	}
	if t, err = flinktrace.Read(ctx, p.session, "job_events", job, bound.End); err != nil {
		return t, nil, err
	}
	return t, events, errors.Join(
		unequal("offsets", t.Offsets, bound.End),
		unequal("rows", t.Events, events),
	)
}

// duplicate lets two writers append one event, and finds it twice in the log.
func (p *play) duplicate(ctx context.Context) (o outcome, err error) {
	w := request("order-7", time.Now().UnixMilli())
	if _, err := p.st.Append(ctx, 0, w.events); err != nil {
		return o, err
	}
	other, err := flussstore.Open(ctx, p.fluss.Bootstrap(), &flussstore.Options{Database: mainDB})
	if err != nil {
		return o, err
	}
	defer other.Close()
	if _, err := other.Append(ctx, 0, []intent.Event{w.last()}); err != nil {
		return o, err
	}
	t, _, err := p.trace(ctx, w.job)
	if err != nil {
		return o, err
	}
	want := []intent.Event{w.events[0], w.last(), w.last()}
	return outcome{2, "two identical records; the projection below has one row of them"}, unequal("records", t.Events, want)
}

// importTwice fills the projection natively, and again, and compares.
func (p *play) importTwice(ctx context.Context) (o outcome, err error) {
	first, err := projection.New(p.st, p.sink).Import(ctx)
	if err != nil {
		return o, err
	}
	_, changed, err := p.changes(ctx, mainDB)
	if err != nil {
		return o, err
	}
	p.report, err = projection.New(p.st, p.sink).Import(ctx)
	if err != nil {
		return o, err
	}
	if p.log, err = readLog(ctx, p.st, p.report.Ends[0]); err != nil {
		return o, err
	}
	_, changedAgain, err := p.changes(ctx, mainDB)
	if err != nil {
		return o, err
	}
	count, err := p.count(ctx, mainDB)
	if err != nil {
		return o, err
	}
	rows, err := p.readProjection(ctx, mainDB, count)
	if err != nil {
		return o, err
	}
	want := byID(p.log)
	o = outcome{count, fmt.Sprintf("%d raw records, %d barriers left out; the second import wrote %d rows", len(p.log), p.report.Barriers, p.report.Written)}
	return o, errors.Join(
		unequal("rows", count, int64(len(want))),
		unequal("rows reported", p.report.Events, count),
		unequal("duplicates", p.report.Duplicates, int64(1)),
		unequal("rows written", []int64{first.Written, p.report.Written}, []int64{count, 0}),
		unequal("changes by the second import", changedAgain, changed),
		sameRows(rows.events, p.log),
	)
}

// conflict appends another event under a known ID: no import, nothing written.
func (p *play) conflict(ctx context.Context) (o outcome, err error) {
	st, sink, err := p.create(ctx, conflictDB)
	if err != nil {
		return o, err
	}
	w := request("order-8", time.Now().UnixMilli())
	if _, err := st.Append(ctx, 0, w.events); err != nil {
		return o, err
	}
	if _, err := projection.New(st, sink).Import(ctx); err != nil {
		return o, err
	}
	_, before, err := p.changes(ctx, conflictDB)
	if err != nil {
		return o, err
	}
	forged, later := w.last(), request("order-9", time.Now().UnixMilli())
	forged.EmittedAtMS++
	if _, err := st.Append(ctx, 0, append([]intent.Event{forged}, later.events...)); err != nil {
		return o, err
	}
	_, refused := projection.New(st, sink).Import(ctx)
	_, after, err := p.changes(ctx, conflictDB)
	if err != nil {
		return o, err
	}
	count, err := p.count(ctx, conflictDB)
	if err != nil {
		return o, err
	}
	kept, err := sink.Lookup(ctx, forged.EventID)
	if err != nil {
		return o, err
	}
	_, unknown := sink.Lookup(ctx, later.last().EventID)
	if !errors.Is(refused, intent.ErrEventConflict) || !errors.Is(unknown, store.ErrNotFound) {
		err = fmt.Errorf("the import said %w, a later row %w", refused, unknown)
	}
	o = outcome{count, fmt.Sprint(refused)}
	return o, errors.Join(err,
		unequal("changes", after, before), unequal("rows", count, int64(2)), unequal("row", kept, w.last()))
}

// sameRows compares a projection that Flink read with a log that Go read.
func sameRows(got map[intent.EventID]intent.Event, log []intent.Event) error {
	if want := byID(log); !maps.Equal(got, want) {
		return fmt.Errorf("rows: got %v, want %v", got, want)
	}
	return nil
}
