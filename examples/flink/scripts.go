package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentlog/intentlog/internal/flinktest"
)

// badScript is one that the SQL client runs with exit code 0, though it failed.
type badScript struct {
	name, text string
	shown      bool // whether the client prints the error at least
	rejected   func(error) bool
}

var badScripts = []badScript{
	{"script-invalid-end", "SHOW TABLES;\nSELECT * FROM no_such_table;\n", true, func(err error) bool {
		var failed *flinktest.StatementError
		return errors.As(err, &failed) && strings.Contains(err.Error(), "no_such_table")
	}},
	{"script-open-quote", "SHOW TABLES;\nSELECT 'oops;\n", false, func(err error) bool {
		return errors.Is(err, flinktest.ErrUnterminated)
	}},
	{"script-failing-job", "SET 'table.dml-sync' = 'true';\nINSERT INTO events_by_id (event_id) SELECT CAST(NULLIF('a', 'a') AS STRING);\n", true, func(err error) bool {
		var failed *flinktest.StatementError
		return errors.As(err, &failed) && strings.Contains(err.Error(), "NULL")
	}},
}

func scriptCases(l *lab) (cases []testCase) {
	for _, s := range badScripts {
		cases = append(cases, testCase{s.name, func(ctx context.Context) (outcome, error) { return l.reject(ctx, s) }})
	}
	return cases
}

// reject runs a script by the official client, which says that all is well, and by the
// gateway's own interface, where it must fail.
func (l *lab) reject(ctx context.Context, s badScript) (o outcome, err error) {
	session, err := l.openSession(ctx)
	if err != nil {
		return o, err
	}
	if _, err := session.Run(ctx, "USE "+conflictDB+";"); err != nil {
		return o, err
	}
	_, rejected := session.Run(ctx, s.text)
	if !s.rejected(rejected) {
		return o, fmt.Errorf("not rejected for its fault: %w", rejected)
	}
	begin := fmt.Sprintf("CREATE CATALOG fluss WITH ('type' = 'fluss', 'bootstrap.servers' = '%s');\nUSE CATALOG fluss;\nUSE %s;\n", l.fluss.Bootstrap(), conflictDB)
	output, code, err := l.flink.SQLClient(ctx, begin+s.text)
	if err != nil {
		return o, err
	}
	said, _, _ := strings.Cut(rejected.Error(), "\n")
	return outcome{0, fmt.Sprintf("the SQL client exits with %d; %.90s", code, said)}, errors.Join(
		unequal("exit code", code, 0), unequal("[ERROR] shown", strings.Contains(output, "[ERROR]"), s.shown))
}
