package flinktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// StatementError says which statement of a script failed.
type StatementError struct {
	Statement Statement
	Err       error
}

// Error names the line, the beginning of the statement and the cause.
func (e *StatementError) Error() string {
	return fmt.Sprintf("line %d: %.60q: %v", e.Statement.Line, e.Statement.Text, e.Err)
}

// Unwrap returns the cause.
func (e *StatementError) Unwrap() error { return e.Err }

// ErrNoSentinel says that a script seemed to run but the query behind it did not give its answer.
var ErrNoSentinel = errors.New("the sentinel did not come back")

// errAsync says that nobody has waited for the job of an INSERT.
var errAsync = errors.New("table.dml-sync is off, so this job's end is not known")

// Run runs all statements of a script, each with its semicolon, in order, and returns one result for
// each. It stops at the first that fails, with a [StatementError]. A script that Split refuses is not begun.
//
// Success is claimed only when, after the last statement, a query has returned a value that is in
// neither the script's text nor the query's own: no echo of either can be taken for it, and a session
// that is broken, or stuck in a half-written statement set, cannot give it.
//
// Every query must end by itself; ctx bounds the whole.
func (s *Session) Run(ctx context.Context, script string) ([]*Result, error) {
	statements, err := Split(script)
	if err != nil {
		return nil, err
	}
	var results []*Result
	for _, statement := range statements {
		r, err := s.Exec(ctx, statement.Text)
		if err == nil && r.JobID != "" && !r.Query {
			err = s.requireSync(ctx)
		}
		if err != nil {
			return results, &StatementError{Statement: statement, Err: err}
		}
		results = append(results, r)
	}
	return results, s.sentinel(ctx)
}

func (s *Session) requireSync(ctx context.Context) error {
	sync, err := s.property(ctx, "table.dml-sync")
	if err == nil && sync != "true" {
		err = errAsync
	}
	return err
}

func (s *Session) sentinel(ctx context.Context) error {
	// rand.Text never repeats in practice, so no script can hold the two halves together by accident.
	a, b := rand.Text(), rand.Text()
	r, err := s.Exec(ctx, fmt.Sprintf("SELECT '%s' || '-end-' || '%s' AS sentinel", a, b))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoSentinel, err)
	}
	if len(r.Rows) != 1 || len(r.Rows[0].Fields) != 1 || r.Rows[0].Fields[0] != a+"-end-"+b {
		return fmt.Errorf("%w: got %v", ErrNoSentinel, r.Fields())
	}
	return nil
}
