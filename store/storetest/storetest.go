// Package storetest is the conformance kit of [store.Store]: each promise of its
// comments is a case, named for the behaviour. Recovery stands on these promises,
// so whoever writes a store runs the kit against it:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness {
//			st := memstore.New(3)
//			return storetest.Harness{Store: st, Reopen: func() (store.Store, error) { return st.Reopen(), nil }}
//		})
//	}
//
// A store may answer Unknown or NotStored, append barriers, and be slow; it may not
// lie. The kit is the only writer of the log that it is given. Run it with -race.
//
// It cannot cut the power: that an acknowledged append survives a crash is for the
// store's own tests to show.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/intentlog/intentlog/store"
)

// Harness is an empty log to test.
type Harness struct {
	Store store.Store // the kit closes it
	// Reopen opens the same log again after Store, or the store that Reopen returned
	// before, was closed. Where it is nil, nothing is checked about a second life.
	Reopen func() (store.Store, error)
}

// Failure is a promise that a store broke.
type Failure struct {
	Case string // the name of the case
	Why  string // the promise
	Err  error  // what was seen
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %v\n\tthe promise: %s", f.Case, f.Err, f.Why)
}

func (f *Failure) Unwrap() error { return f.Err }

// Run tests a store: a subtest for each case, each with an empty log from open.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			if f := c.check(open(t)); f != nil {
				t.Error(f)
			}
		})
	}
}

// Check is Run for a program, such as a health check of an installation: it returns
// what was broken. An error of open ends it.
func Check(open func() (Harness, error)) ([]*Failure, error) {
	var failures []*Failure
	for _, c := range cases() {
		h, err := open()
		if err != nil {
			return failures, fmt.Errorf("open for %s: %w", c.name, err)
		}
		if f := c.check(h); f != nil {
			failures = append(failures, f)
		}
	}
	return failures, nil
}

// deadline bounds a case. A store that waits for ever fails by it.
const deadline = time.Minute

// testCase is one promise.
type testCase struct {
	name string
	why  string
	run  func(ctx context.Context, l *log) error
}

func (c *testCase) check(h Harness) *Failure {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	l := newLog(h)
	err := c.run(ctx, l)
	if err == nil {
		err = l.audit(ctx)
	}
	if closeErr := l.st.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close: %w", closeErr)
	}
	if err == nil {
		return nil
	}
	return &Failure{Case: c.name, Why: c.why, Err: err}
}

func cases() []testCase {
	var all []testCase
	for _, group := range [][]testCase{appendCases, boundCases, readCases, lifeCases} {
		all = append(all, group...)
	}
	return all
}

// errStop is an error of our own, to be handed back.
var errStop = errors.New("stop here")
