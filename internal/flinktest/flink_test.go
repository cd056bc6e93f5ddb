package flinktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/flusstest"
)

// prelude begins the scripts of a test: the catalog of the shared Fluss cluster and a database in it.
func prelude(t *testing.T, database string) string {
	t.Helper()
	return fmt.Sprintf(`
		CREATE CATALOG fluss WITH ('type' = 'fluss', 'bootstrap.servers' = '%s');
		USE CATALOG fluss;
		CREATE DATABASE IF NOT EXISTS %s;
		USE %s;
	`, flusstest.SharedCluster(t).Bootstrap(), database, database)
}

func run(t *testing.T, s *Session, script string) []*Result {
	t.Helper()
	began := time.Now()
	results, err := s.Run(t.Context(), script)
	require.NoError(t, err)
	t.Logf("%d statements in %v", len(results), time.Since(began).Round(time.Millisecond))
	return results
}

func TestFlinkReadsAndWritesFluss(t *testing.T) {
	for _, v := range []Version{Flink120, Flink22} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel() // most of the time goes into the pauses with which a Fluss client closes
			begin := prelude(t, "smoke"+strings.ReplaceAll(v.String(), ".", "_"))
			began := time.Now()
			c := Shared(t, v)
			t.Logf("Flink started in %v", time.Since(began).Round(time.Millisecond))
			s := OpenSession(t, c)
			run(t, s, begin+`
				CREATE TABLE by_id (id STRING, n INT, big BIGINT, ok BOOLEAN, note STRING, PRIMARY KEY (id) NOT ENFORCED)
				WITH ('bucket.num' = '1');
			`)

			results := run(t, s, `
				SET 'execution.runtime-mode' = 'batch';
				INSERT INTO by_id VALUES ('a;b', 7, 9007199254740993, true, CAST(NULL AS STRING));
				SELECT * FROM by_id WHERE id = 'a;b';
				SELECT * FROM by_id WHERE id = 'missing';
			`)
			written := []any{"a;b", int64(7), int64(9007199254740993), true, nil}
			require.Equal(t, [][]any{written}, results[2].Fields())
			require.Equal(t, Column{"big", "BIGINT"}, results[2].Columns[2])
			require.Empty(t, results[3].Rows)

			began = time.Now()
			fresh, err := c.FreshTaskManager(t.Context())
			require.NoError(t, err)
			t.Logf("TaskManager replaced in %v", time.Since(began).Round(time.Millisecond))
			run(t, s, "SET 'execution.runtime-mode' = 'streaming';")
			var rows [][]any
			r, err := s.Stream(t.Context(), "SELECT id, n, big, ok, note, _log_offset FROM `by_id$changelog`", func(row Row) bool {
				rows = append(rows, row.Fields)
				return false
			})
			require.NoError(t, err)
			require.True(t, r.Stopped)
			require.Equal(t, [][]any{append(written, int64(0))}, rows)

			job, err := c.AwaitJob(t.Context(), r.JobID, "CANCELED")
			require.NoError(t, err)
			require.Equal(t, "STREAMING", job.Type)
			ids, err := c.VertexTaskManagers(t.Context(), job.ID, job.Vertices[0].ID)
			require.NoError(t, err)
			require.Equal(t, []string{fresh.ID()}, ids, "the scan ran on the fresh TaskManager")
			_, err = fresh.WaitLog(t.Context(), 0, "Subscribe to read log for split")
			require.NoError(t, err)
		})
	}
}

func TestRunRejectsWhatTheSQLClientCallsSuccess(t *testing.T) {
	begin := prelude(t, "rejected")
	c := Shared(t, Flink120)
	run(t, OpenSession(t, c), begin+`
		CREATE TABLE by_id (id STRING NOT NULL, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num' = '1');
	`)
	for _, row := range []struct {
		name, script string
		shown        bool // whether the SQL client prints the error at least
		check        func(*testing.T, error)
	}{
		{"invalid last statement", "SHOW TABLES;\nSELECT * FROM no_such_table;\n", true, func(t *testing.T, err error) {
			var failed *StatementError
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, err, "Object 'no_such_table' not found")
			require.Equal(t, "SELECT * FROM no_such_table", failed.Statement.Text)
		}},
		{"unterminated quote", "SHOW TABLES;\nSELECT 'oops;\n", false, func(t *testing.T, err error) {
			require.ErrorIs(t, err, ErrUnterminated)
		}},
		{"failing job", "SET 'table.dml-sync' = 'true';\nINSERT INTO by_id SELECT CAST(NULLIF('a', 'a') AS STRING);\n", true, func(t *testing.T, err error) {
			var failed *StatementError
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, err, "NULL")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := OpenSession(t, c).Run(t.Context(), begin+row.script)
			require.Error(t, err)
			row.check(t, err)

			began := time.Now()
			// The client reads one statement a line.
			output, code, err := c.SQLClient(t.Context(), unindent(begin)+row.script)
			t.Logf("SQL client: exit code %d in %v", code, time.Since(began).Round(time.Millisecond))
			require.NoError(t, err)
			require.Zero(t, code)
			require.Equal(t, row.shown, strings.Contains(output, "[ERROR]"), output)
		})
	}
}

func unindent(script string) string { return strings.ReplaceAll(script, "\t", "") }

func TestRunRejectsAnInsertThatNobodyWaitsFor(t *testing.T) {
	begin := prelude(t, "unwaited")
	s := OpenSession(t, Shared(t, Flink120))
	_, err := s.Run(t.Context(), begin+`
		CREATE TABLE by_id (id STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num' = '1');
		SET 'table.dml-sync' = 'false';
		INSERT INTO by_id VALUES ('a');
	`)
	require.ErrorIs(t, err, errAsync)
}

func TestRunRejectsAStatementSetThatIsNotClosed(t *testing.T) {
	s := OpenSession(t, Shared(t, Flink120))
	_, err := s.Run(t.Context(), "BEGIN STATEMENT SET;")
	require.ErrorIs(t, err, ErrNoSentinel)
}

func TestAnEndlessQueryIsCancelledWithItsContext(t *testing.T) {
	c := Shared(t, Flink120)
	s := OpenSession(t, c)
	run(t, s, "CREATE TEMPORARY TABLE ticks (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1');")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough := errors.New("enough")
	var seen int
	r, err := s.Stream(ctx, "SELECT 1 FROM ticks", func(Row) bool {
		seen++
		cancel(enough)
		return true
	})
	require.ErrorIs(t, err, enough)
	require.Nil(t, r)
	require.Positive(t, seen)
}
