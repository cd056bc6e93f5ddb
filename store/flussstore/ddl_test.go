package flussstore_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/flinktest"
	"github.com/intentlog/intentlog/internal/flinktrace"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/jvm"
	"github.com/intentlog/intentlog/internal/needs"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

func ExampleDDL() {
	fmt.Print(flussstore.DDL(&flussstore.Options{Replicas: 3}))
	// Output:
}

// sqlSession returns a session with the shared cluster's catalog, in a new database.
func sqlSession(t *testing.T, database string) *flinktest.Session {
	t.Helper()
	s := flinktest.OpenSession(t, flinktest.Shared(t, flinktest.Flink120))
	_, err := s.Run(t.Context(), fmt.Sprintf("CREATE CATALOG fluss WITH ('type' = 'fluss', 'bootstrap.servers' = '%s'); USE CATALOG fluss; "+
		"CREATE DATABASE IF NOT EXISTS %s; USE %s;", flusstest.SharedCluster(t).Bootstrap(), database, database))
	require.NoError(t, err)
	return s
}

// describe returns what SQL says of the two tables, without the names that differ.
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
			st, sink := openBoth(t, boot, o)
			sees(t, s, st, bySQL)
			require.NoError(t, sink.Close())

			o.Database, o.Create = byGo, true
			st, sink = openBoth(t, boot, o)
			require.NoError(t, sink.Close())
			s = sqlSession(t, byGo)
			require.Equal(t, said, describe(t, s, byGo))
			sees(t, s, st, byGo)
		})
	}
}

func openBoth(t *testing.T, boot string, o flussstore.Options) (*flussstore.Store, *flussstore.Projection) {
	t.Helper()
	st, err := flussstore.Open(t.Context(), boot, &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	sink, err := flussstore.OpenProjection(t.Context(), boot, &o)
	require.NoError(t, err)
	return st, sink
}

// sees writes a job by Go, and reads it by Go, by Flink and by the official Java client.
func sees(t *testing.T, s *flinktest.Session, st *flussstore.Store, database string) {
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

	var all []intent.Event
	require.NoError(t, st.Read(t.Context(), 0, 0, bound.End, func(r *store.Record) error {
		all = append(all, r.Event)
		return nil
	}))
	if !strings.Contains(database, "indexed") { // which it returns damaged at times
		require.Equal(t, all, readByJava(t, database+".job_events"))
	}
}

// readByJava reads the bucket 0 of a table with the official client.
func readByJava(t *testing.T, table string) (events []intent.Event) {
	t.Helper()
	const dir = "../../internal/fluss/javawitness/"
	pom, err := os.ReadFile(dir + "pom.xml")
	require.NoError(t, err)
	bundle := jvm.Bundle{Name: "fluss-client", POM: pom}
	needs.Feature(t, needs.Java, func() error { return bundle.Available(t.Context(), needs.Required(needs.Java)) })
	classPath, err := bundle.Fetch(t.Context())
	require.NoError(t, err)
	out, err := jvm.Run(t.Context(), jvm.Command{
		Name: "Read.java", ClassPath: classPath, Class: dir + "Read.java",
		JVMArgs: []string{"--add-opens=java.base/java.nio=ALL-UNNAMED"},
		Args:    []string{flusstest.SharedCluster(t).Bootstrap(), table},
	})
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "{") {
			continue // a library's logging
		}
		var r struct {
			Offset        int64           `json:"offset"`
			JobID         intent.JobID    `json:"job_id"`
			EventID       intent.EventID  `json:"event_id"`
			Attempt       int32           `json:"attempt"`
			Step          int32           `json:"step"`
			Type          intent.Type     `json:"event_type"`
			ActionID      intent.ActionID `json:"action_id"`
			PayloadDigest intent.Digest   `json:"payload_digest"`
			EmittedAtMS   int64           `json:"emitted_at_ms"`
			Detail        string          `json:"detail"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.EqualValues(t, len(events), r.Offset)
		events = append(events, intent.Event{
			JobID: r.JobID, EventID: r.EventID, Attempt: r.Attempt, Step: r.Step, Type: r.Type,
			ActionID: r.ActionID, PayloadDigest: r.PayloadDigest, EmittedAtMS: r.EmittedAtMS, Detail: r.Detail,
		})
	}
	return events
}
