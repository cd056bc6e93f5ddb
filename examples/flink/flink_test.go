package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/flinktest"
	"github.com/intentlog/intentlog/internal/flinktrace"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
)

func TestEveryCaseIsRight(t *testing.T) {
	for name, v := range versions {
		t.Run(v.String(), func(t *testing.T) {
			flinktest.Require(t, v)
			flusstest.RequireCluster(t)
			var out bytes.Buffer
			err := run(t.Context(), []string{"-json", "-flink", name}, &out)
			rows := map[string]int64{}
			for line := range strings.Lines(out.String()) {
				var r Result
				require.NoError(t, json.Unmarshal([]byte(line), &r))
				require.True(t, r.OK, line)
				rows[r.Case] = r.Rows
			}
			require.NoError(t, err)
			require.Equal(t, map[string]int64{
				"b2-trace": 8, "duplicate-raw": 2, "import-twice": 10, "import-sql": 14, "conflict-refused": 2,
				"fresh-taskmanager": 10, "kv-snapshot": 10,
				"script-invalid-end": 0, "script-open-quote": 0, "script-failing-job": 0,
				"open_intents.sql": 5, "held_intents.sql": 2, "stuck_jobs.sql": 4, "duplicates.sql": 2, "effects_per_hour.sql": 2,
			}, rows)
		})
	}
}

func TestUnknownArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-flink", "1.19"}, {"more"}, {"-x"}} {
		require.Error(t, run(t.Context(), args, &bytes.Buffer{}), args)
	}
}

func TestTheTraceFileIsTheQueryThatTheProgramAsks(t *testing.T) {
	text, err := query("trace.sql")
	require.NoError(t, err)
	require.Equal(t, flinktrace.SQL("job_events", ticket), text)
}
