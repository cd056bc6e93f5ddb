package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestMain is the main function where this binary is started as a contender.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && own[os.Args[1]] != nil {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestWhatTheMuseumPrints compares the whole table, where the other people's
// contenders can be built; .ci/run requires that they can.
func TestWhatTheMuseumPrints(t *testing.T) {
	if _, err := buildPeers(t.Context(), t.TempDir()); err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), nil, &out))
	const golden = "testdata/museum.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

// TestOwnContenders needs nothing but Go: the same cases, with what is in this module.
func TestOwnContenders(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	all := []contender{
		{name: netHTTP, argv: []string{exe, netHTTP}},
		{name: retryable}, // as where it could not be built
		{name: intentLog, argv: []string{exe, intentLog}},
	}
	for name, keys := range map[string]bool{"keys as told": false, "keys for ever": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			results, err := playAll(t.Context(), exhibits, all, dir, keys)
			require.NoError(t, err)
			log, err := os.ReadFile(filepath.Join(dir, "secret-key", intentLog, logFile))
			require.NoError(t, err)
			require.Contains(t, string(log), "/orders")
			require.NotContains(t, string(log), "tok-", "credentials are never saved")
			for _, r := range results {
				switch r.Contender {
				case intentLog:
					require.True(t, r.OK, "%+v", r)
					require.Equal(t, r.Wanted, r.Effects)
				case netHTTP:
					if !keys {
						require.False(t, r.OK, "%+v: a museum piece must be able to fail", r)
						require.Equal(t, 2*r.Wanted, r.Effects)
					}
				default:
					require.Equal(t, "could not be built", r.Note)
				}
			}
			require.NotContains(t, printed(t, results), retryable, "what was not played is not in the JSON")
		})
	}
}

func printed(t *testing.T, results []Result) string {
	var out bytes.Buffer
	require.NoError(t, printJSON(&out, results))
	for line := range strings.Lines(out.String()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		for _, name := range []string{"case", "contender", "effects", "wanted", "ok"} {
			require.Contains(t, fields, name)
		}
	}
	return out.String()
}

// TestAWrongIntentlogIsAnError lets another contender go by that name.
func TestAWrongIntentlogIsAnError(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	impostor := contender{name: intentLog, argv: []string{exe, netHTTP}}
	results, err := playAll(t.Context(), exhibits[:2], []contender{impostor}, t.TempDir(), false)
	require.NoError(t, err)
	require.Error(t, judge(results))
}

func TestUnknownArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-case", "none"}, {"deadline"}, {"-nosuchflag"}} {
		require.Error(t, run(context.Background(), args, &bytes.Buffer{}), "%q", args)
	}
}

// TestTheErrandIsTheSameForEverybody guards the file that two modules share.
func TestTheErrandIsTheSameForEverybody(t *testing.T) {
	ours, err := os.ReadFile("errand.go")
	require.NoError(t, err)
	theirs, err := os.ReadFile("peers/errand.go")
	require.NoError(t, err)
	require.Equal(t, string(ours), string(theirs), "copy errand.go to peers")
}

func TestTheReadmeShowsTheTable(t *testing.T) {
	golden, err := os.ReadFile("testdata/museum.golden")
	require.NoError(t, err)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	table := strings.Split(string(golden), "\n\n")[1]
	require.Contains(t, string(readme), table)
}
