package flinktrace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/flinktest"
)

// Row is a row of a trace.
type Row struct {
	Attempt, Step int32
	Type          intent.Type
	Action        intent.ActionID
}

// Trace is the history of one job, in order of attempt and step.
type Trace struct {
	Rows []Row
	// Events are the same records with all nine columns, in the order of Rows. Only a
	// stream has them.
	Events []intent.Event
	// Offsets is how many records of the log were seen, each offset of [0, Offsets)
	// exactly once. It is 0 for a batch, which does not say.
	Offsets int64
	// JobID is the Flink job that read.
	JobID string
}

// Session is what is needed of a SQL session. Its runtime mode is changed.
type Session interface {
	Exec(ctx context.Context, statement string) (*flinktest.Result, error)
	Stream(ctx context.Context, statement string, more func(flinktest.Row) bool) (*flinktest.Result, error)
}

// The ways in which a trace may not be had.
var (
	ErrGap    = errors.New("an offset is missing")
	ErrTwice  = errors.New("an offset came twice")
	ErrValues = errors.New("a row without the columns of an event")
)

// SQL returns the trace query. It is the same text for Flink and for the embedded log.
func SQL(table string, job intent.JobID) string {
	return "SELECT attempt, step, event_type, action_id FROM " + table +
		" WHERE job_id = " + quote(string(job)) + " ORDER BY attempt, step"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Read reads the trace of a job up to the bound end of the log's only bucket. The
// session's current database has the table, and its log format is ARROW: a 1.0
// connector returns corrupted rows of INDEXED tables.
//
// A repeated record has a row for each time that it stands in the log. With a batch, records
// behind the bound may have rows too.
func Read(ctx context.Context, s Session, table string, job intent.JobID, end int64) (Trace, error) {
	t, err := Batch(ctx, s, table, job)
	if Refused(err) {
		t, err = Stream(ctx, s, table, job, end)
	}
	return t, err
}

// refusal is how a connector without bounded scans words it.
const refusal = "only support queries on table with datalake enabled or point queries"

// Refused reports whether a query failed because the connector has no bounded scan
// of a table that is in no lake.
func Refused(err error) bool {
	var server *flinktest.ServerError
	return errors.As(err, &server) && strings.Contains(server.Text, refusal)
}

// Batch reads a trace by the text of [SQL] as a batch job.
func Batch(ctx context.Context, s Session, table string, job intent.JobID) (Trace, error) {
	if _, err := s.Exec(ctx, "SET 'execution.runtime-mode' = 'batch'"); err != nil {
		return Trace{}, err
	}
	r, err := s.Exec(ctx, SQL(table, job))
	if err != nil {
		return Trace{}, fmt.Errorf("trace of job %q: %w", job, err)
	}
	t := Trace{JobID: r.JobID}
	for _, row := range r.Rows {
		attempt, ok1 := number(row.Fields, 0)
		step, ok2 := number(row.Fields, 1)
		typ, ok3 := text(row.Fields, 2)
		action, ok4 := text(row.Fields, 3)
		if !ok1 || !ok2 || !ok3 || !ok4 {
			return Trace{}, fmt.Errorf("trace of job %q: %w: %v", job, ErrValues, row.Fields)
		}
		t.Rows = append(t.Rows, Row{int32(attempt), int32(step), intent.Type(typ), intent.ActionID(action)})
	}
	return t, nil
}

// Stream reads a trace out of the table's change log, up to the bound end. Each record
// comes with its offset, and those of the job with their columns too; Flink filters,
// and this function orders.
func Stream(ctx context.Context, s Session, table string, job intent.JobID, end int64) (Trace, error) {
	if end <= 0 {
		return Trace{}, nil
	}
	if _, err := s.Exec(ctx, "SET 'execution.runtime-mode' = 'streaming'"); err != nil {
		return Trace{}, err
	}
	var t Trace
	var bad error
	r, err := s.Stream(ctx, streamSQL(table, job), func(row flinktest.Row) bool {
		bad = t.add(row.Fields)
		return bad == nil && t.Offsets < end
	})
	switch {
	case err == nil:
		err = bad
		t.JobID = r.JobID
	case bad != nil:
		err = bad
	}
	if err == nil && t.Offsets < end {
		err = fmt.Errorf("%w: the stream ended at %d", ErrGap, t.Offsets)
	}
	if err != nil {
		return Trace{}, fmt.Errorf("trace of job %q up to offset %d: %w", job, end, err)
	}
	slices.SortStableFunc(t.Events, func(a, b intent.Event) int {
		if a.Attempt != b.Attempt {
			return int(a.Attempt) - int(b.Attempt)
		}
		return int(a.Step) - int(b.Step)
	})
	for _, e := range t.Events {
		t.Rows = append(t.Rows, Row{e.Attempt, e.Step, e.Type, e.ActionID})
	}
	return t, nil
}

// streamSQL selects the offset of every record, and the columns of the job's.
func streamSQL(table string, job intent.JobID) string {
	var b strings.Builder
	b.WriteString("SELECT _log_offset")
	for _, c := range intent.Columns {
		fmt.Fprintf(&b, ", CASE WHEN job_id = %s THEN %s END", quote(string(job)), c)
	}
	fmt.Fprintf(&b, " FROM `%s$changelog`", strings.ReplaceAll(table, "`", "``"))
	return b.String()
}

// add takes a row of the stream. A bucket's records come in order, so an offset that
// is not the next one is missing, or came before.
func (t *Trace) add(fields []any) error {
	offset, ok := number(fields, 0)
	switch {
	case !ok || len(fields) != 1+len(intent.Columns):
		return fmt.Errorf("%w: %v", ErrValues, fields)
	case offset < t.Offsets:
		return fmt.Errorf("%w: %d behind %d", ErrTwice, offset, t.Offsets-1)
	case offset > t.Offsets:
		return fmt.Errorf("%w: %d, got %d", ErrGap, t.Offsets, offset)
	}
	t.Offsets++
	if fields[1] == nil {
		return nil
	}
	e, err := Event(fields[1:])
	if err != nil {
		return err
	}
	t.Events = append(t.Events, e)
	return nil
}

// Event reads the nine columns of an event from a row.
func Event(fields []any) (intent.Event, error) {
	var texts, numbers [9]bool
	var s [9]string
	var n [9]int64
	for i := range min(len(fields), 9) {
		s[i], texts[i] = text(fields, i)
		n[i], numbers[i] = number(fields, i)
	}
	if len(fields) != 9 || texts != [9]bool{0: true, 1: true, 4: true, 5: true, 6: true, 8: true} || numbers != [9]bool{2: true, 3: true, 7: true} {
		return intent.Event{}, fmt.Errorf("%w: %v", ErrValues, fields)
	}
	return intent.Event{
		JobID: intent.JobID(s[0]), EventID: intent.EventID(s[1]), Attempt: int32(n[2]), Step: int32(n[3]),
		Type: intent.Type(s[4]), ActionID: intent.ActionID(s[5]), PayloadDigest: intent.Digest(s[6]),
		EmittedAtMS: n[7], Detail: s[8],
	}, nil
}

func number(fields []any, i int) (int64, bool) {
	if i >= len(fields) {
		return 0, false
	}
	n, ok := fields[i].(int64)
	return n, ok
}

func text(fields []any, i int) (string, bool) {
	if i >= len(fields) {
		return "", false
	}
	s, ok := fields[i].(string)
	return s, ok
}
