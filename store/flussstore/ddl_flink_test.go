package flussstore_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/flinktest"
	"github.com/intentlog/intentlog/internal/flinktrace"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

// sqlSession returns a session with the shared cluster's catalog, in a database.
func sqlSession(t *testing.T, database string) *flinktest.Session {
	t.Helper()
	s := flinktest.OpenSession(t, flinktest.Shared(t, flinktest.Flink120))
	_, err := s.Run(t.Context(), fmt.Sprintf("CREATE CATALOG fluss WITH ('type' = 'fluss', 'bootstrap.servers' = '%s'); USE CATALOG fluss; "+
		"CREATE DATABASE IF NOT EXISTS %s; USE %s;", flusstest.SharedCluster(t).Bootstrap(), database, database))
	require.NoError(t, err)
	return s
}

// describe returns what SQL says of the two tables, but for the database's name.
func describe(t *testing.T, s *flinktest.Session, database string) (out []string) {
	t.Helper()
	for _, table := range []string{"job_events", "events_by_id"} {
		r, err := s.Run(t.Context(), "DESCRIBE "+table+"; SHOW CREATE TABLE "+table+";")
		require.NoError(t, err)
		out = append(out, fmt.Sprint(r[0].Fields()), strings.ReplaceAll(r[1].Rows[0].Fields[0].(string), database, "DB"))
	}
	return out
}

func TestTablesMadeBySQLAndByGoAreTheSame(t *testing.T) {
	boot := flusstest.SharedCluster(t).Bootstrap()
	for _, format := range []flussstore.Format{flussstore.Arrow, flussstore.Indexed} {
		t.Run(format.String(), func(t *testing.T) {
			o := flussstore.Options{Format: format, Replicas: 1}
			bySQL, byGo := "ddl_sql_"+format.String(), "ddl_go_"+format.String()
			s := sqlSession(t, bySQL)
			_, err := s.Run(t.Context(), flussstore.DDL(&o))
			require.NoError(t, err)
			said := describe(t, s, bySQL)
			o.Database = bySQL
			st := openBoth(t, boot, o)
			all := sees(t, s, st)
			require.Equal(t, all, readByJava(t, bySQL+".job_events"))

			o.Database, o.Create = byGo, true
			st = openBoth(t, boot, o)
			s = sqlSession(t, byGo)
			require.Equal(t, said, describe(t, s, byGo))
			sees(t, s, st)
		})
	}
}

// openBoth opens the log and sees that the projection can be opened too.
func openBoth(t *testing.T, boot string, o flussstore.Options) *flussstore.Store {
	t.Helper()
	st, err := flussstore.Open(t.Context(), boot, &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	sink, err := flussstore.OpenProjection(t.Context(), boot, &o)
	require.NoError(t, err)
	require.NoError(t, sink.Close())
	return st
}

// sees writes a job by Go, reads its trace by Flink and returns the whole log.
func sees(t *testing.T, s *flinktest.Session, st *flussstore.Store) (all []intent.Event) {
	t.Helper()
	events := requested("ticket-1", `{"text":"ä→`+"\U0001F600"+` 'quoted' \"\\"}`)
	_, err := st.Append(t.Context(), 0, append(requested("other", "x"), events...))
	require.NoError(t, err)
	bound, err := st.Bound(t.Context(), 0)
	require.NoError(t, err)
	trace, err := flinktrace.Read(t.Context(), s, "job_events", "ticket-1", bound.End)
	require.NoError(t, err)
	require.Equal(t, events, trace.Events)
	require.Equal(t, bound.End, trace.Offsets)
	require.NoError(t, st.Read(t.Context(), 0, 0, bound.End, func(r *store.Record) error {
		all = append(all, r.Event)
		return nil
	}))
	return all
}

// readByJava reads a table with the official client.
func readByJava(t *testing.T, table string) (events []intent.Event) {
	t.Helper()
	out, err := runJava(t, "Read.java", flusstest.SharedCluster(t).Bootstrap(), table)
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "{") {
			continue // a library's logging
		}
		var r witnessRow
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.EqualValues(t, len(events), r.Offset)
		events = append(events, r.event())
	}
	return events
}
