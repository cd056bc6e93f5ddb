package flinktrace

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/flinktest"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

const job intent.JobID = "it/s-1"

// connector is a session whose connector can, or cannot, scan in batch mode.
type connector struct {
	batch  [][]any // nil: it refuses
	stream [][]any
	ran    []string
}

func (c *connector) Exec(_ context.Context, statement string) (*flinktest.Result, error) {
	c.ran = append(c.ran, statement)
	switch {
	case strings.HasPrefix(statement, "SET "):
		return &flinktest.Result{}, nil
	case c.batch == nil:
		return nil, &flinktest.ServerError{Text: "...\nCaused by: java.lang.UnsupportedOperationException: Currently, Fluss " +
			"only support queries on table with datalake enabled or point queries on primary key when it's in batch execution mode."}
	}
	r := &flinktest.Result{JobID: "batch"}
	for _, fields := range c.batch {
		r.Rows = append(r.Rows, flinktest.Row{Kind: "INSERT", Fields: fields})
	}
	return r, nil
}

func (c *connector) Stream(_ context.Context, statement string, more func(flinktest.Row) bool) (*flinktest.Result, error) {
	c.ran = append(c.ran, statement)
	for _, fields := range c.stream {
		if !more(flinktest.Row{Kind: "INSERT", Fields: fields}) {
			break
		}
	}
	return &flinktest.Result{JobID: "stream"}, nil
}

func other(offset int64) []any {
	return []any{offset, nil, nil, nil, nil, nil, nil, nil, nil, nil}
}

func ours(offset, attempt, step int64, typ string) []any {
	return []any{offset, string(job), "id", attempt, step, typ, "", "", int64(7), "{}"}
}

func TestATraceIsABatchWhereTheConnectorCanAndAStreamWhereItCannot(t *testing.T) {
	rows := []Row{{1, 1, intent.Started, ""}, {2, 1, intent.Started, ""}}
	can := &connector{batch: [][]any{{int64(1), int64(1), "STARTED", ""}, {int64(2), int64(1), "STARTED", ""}}}
	got, err := Read(t.Context(), can, "job_events", job, 5)
	require.NoError(t, err)
	require.Equal(t, Trace{Rows: rows, JobID: "batch"}, got)
	require.Equal(t, []string{
		"SET 'execution.runtime-mode' = 'batch'",
		"SELECT attempt, step, event_type, action_id FROM job_events WHERE job_id = 'it/s-1' ORDER BY attempt, step",
	}, can.ran)

	cannot := &connector{stream: [][]any{other(0), ours(1, 2, 1, "STARTED"), other(2), ours(3, 1, 1, "STARTED"), ours(4, 3, 1, "STARTED")}}
	got, err = Read(t.Context(), cannot, "job_events", job, 4)
	require.NoError(t, err)
	require.Equal(t, rows, got.Rows)
	require.Len(t, got.Events, 2)
	require.EqualValues(t, 4, got.Offsets, "not a record behind the bound")
	require.Contains(t, cannot.ran[3], "FROM `job_events$changelog`")
}

func TestAStreamWithoutAllOffsetsIsNoTrace(t *testing.T) {
	for _, c := range []struct {
		name   string
		stream [][]any
		want   error
	}{
		{"gap", [][]any{other(0), other(2)}, ErrGap},
		{"beginning missing", [][]any{other(1)}, ErrGap},
		{"twice", [][]any{other(0), other(0)}, ErrTwice},
		{"ends early", [][]any{other(0), other(1)}, ErrGap},
		{"empty", nil, ErrGap},
		{"no offset", [][]any{{"0"}}, ErrValues},
		{"null column", [][]any{{int64(0), string(job), nil, int64(1), int64(1), "STARTED", "", "", int64(7), "{}"}}, ErrValues},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Stream(t.Context(), &connector{stream: c.stream}, "job_events", job, 3)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestAnErrorOfAnotherKindIsNoRefusal(t *testing.T) {
	require.False(t, Refused(nil))
	require.False(t, Refused(&flinktest.ServerError{Text: "Object 'job_events' not found"}))
}

func TestTheTraceQueryRunsOnTheEmbeddedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "intents.db")
	st, err := sqlitestore.Open(path, nil)
	require.NoError(t, err)
	const owner intent.OwnerID = "6f1c2a34-8a5e-4b0f-9a51-0d6f2f6a7e01"
	// The second attempt stands before the first, which no worker writes, to see that the query orders.
	for _, attempt := range []int32{2, 1} {
		_, err = st.Append(t.Context(), 0, []intent.Event{{
			JobID: job, EventID: intent.NewEventID(job, attempt, owner, 1), Attempt: attempt, Step: 1, Type: intent.Started, Detail: `{"worker":"w"}`,
		}})
		require.NoError(t, err)
	}
	defer st.Close()

	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.Query(SQL("job_events", job))
	require.NoError(t, err)
	defer rows.Close()
	var got []Row
	for rows.Next() {
		var r Row
		require.NoError(t, rows.Scan(&r.Attempt, &r.Step, &r.Type, &r.Action))
		got = append(got, r)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []Row{{1, 1, intent.Started, ""}, {2, 1, intent.Started, ""}}, got)
}
