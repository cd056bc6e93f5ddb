package main

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/intentlog/intentlog/internal/flinktest"
)

//go:embed *.sql
var files embed.FS

// query returns the only statement of a file.
func query(name string) (string, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return "", err
	}
	statements, err := flinktest.Split(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if len(statements) != 1 {
		return "", fmt.Errorf("%s: %d statements", name, len(statements))
	}
	return statements[0].Text, nil
}

// converge runs a streaming query until its result is the wanted one; the end of ctx is
// an error that shows what it was. The result is what the changes so far add up to.
func converge(ctx context.Context, s *flinktest.Session, statement string, want []string) error {
	var have []string
	slices.Sort(want)
	var bad error
	_, err := s.Stream(ctx, statement, func(row flinktest.Row) bool {
		text := words(row.Fields)
		at, found := slices.BinarySearch(have, text)
		switch row.Kind {
		case "INSERT", "UPDATE_AFTER":
			have = slices.Insert(have, at, text)
		default:
			if !found {
				bad = fmt.Errorf("%s of %s, which is not there", row.Kind, text)
				return false
			}
			have = slices.Delete(have, at, at+1)
		}
		return !slices.Equal(have, want)
	})
	if err == nil {
		err = bad
	}
	if err == nil && !slices.Equal(have, want) {
		err = fmt.Errorf("the query ended")
	}
	if err != nil {
		return fmt.Errorf("got %q, want %q: %w", have, want, err)
	}
	return nil
}

// limited rewrites a query for a batch job: of a table with a primary key, and of at most
// 2048 rows, LIMIT is right, and a 0.9.1 connector can do it.
func limited(statement string) string {
	return strings.ReplaceAll(statement, "events_by_id", "(SELECT * FROM events_by_id LIMIT 2048)")
}

// words writes a row with a space between its fields.
func words(fields []any) string { return strings.TrimSuffix(fmt.Sprintln(fields...), "\n") }
