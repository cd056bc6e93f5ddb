package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/figure"
	"github.com/intentlog/intentlog/internal/ledger"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMain is the main function where this binary is started as a worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestEveryCaseIsRightAndIsTold(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := run(t.Context(), []string{"-store", kind}, &out)
			golden := "testdata/" + kind + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
			}
			want, rerr := os.ReadFile(golden)
			require.NoError(t, rerr)
			require.Equal(t, string(want), out.String())
			require.NoError(t, err)
		})
	}
}

func TestJSONIsOneObjectALine(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	require.NoError(t, run(t.Context(), []string{"-json", "-case", "B2", "-dir", dir}, &out))
	require.Equal(t, `{"case":"B2","decision":"Reconcile","effects_before":1,"effects":1,"computations":1,"sends":1,"log":"sqlite","ok":true}`+"\n", out.String())
	require.FileExists(t, dir+"/B2/service.db")
	require.FileExists(t, dir+"/B2/intents.db")

	out.Reset()
	require.NoError(t, run(t.Context(), []string{"-json", "-case", "B1", "-dir", dir}, &out))
	require.NoError(t, run(t.Context(), []string{"-json", "-case", "B1", "-dir", dir}, &out), "an earlier run's files make no difference")
}

func TestUnknownArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-case", "C"}, {"-store", "paper"}, {"B1"}} {
		require.Error(t, run(t.Context(), args, &bytes.Buffer{}), "%q", args)
	}
}

func TestAWrongCaseIsAnError(t *testing.T) {
	all := cases
	defer func() { cases = all }()
	c := all[1]
	c.want.effects = 2
	cases = []testCase{c}
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), nil, &out), "1 of 1 cases are wrong")
	require.Contains(t, out.String(), "WRONG")
}

// TestDeathAnywhereLeavesOneEffect kills the worker, and then its recovery, wherever
// a user's code or the log is called. Rows are those of the list of faults.
func TestDeathAnywhereLeavesOneEffect(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	type row struct {
		name  string
		kills []string     // where one life after the other dies
		fault ledger.Fault // of the lookup, from the second life to the last but one
		drop  bool         // the answer to the first request is cut off
	}
	var rows []row
	for _, at := range []string{
		appending(1), appended(1), computed, appending(2), appended(2), appending(3), appended(3), unsent, received, appending(4), appended(4),
	} {
		rows = append(rows, row{name: "rows 1-5, 8-10: " + at, kills: []string{at}})
	}
	rows = append(rows, row{name: "row 7: " + asking, kills: []string{asking}, drop: true})
	for _, at := range []string{appending(1), appended(1), asking, answering, unsent, received, appending(2), appended(2)} {
		rows = append(rows, row{name: "rows 11, 12: " + unsent + ", " + at, kills: []string{unsent, at}})
		if at != unsent && at != received {
			rows = append(rows, row{name: "row 11: " + received + ", " + at, kills: []string{received, at}})
		}
	}
	for _, at := range []string{appending(2), appended(2)} {
		rows = append(rows, row{name: "row 13: hold, " + at, kills: []string{received, at}, fault: ledger.Unavailable})
	}
	kills := 0
	for _, r := range rows {
		kills += len(r.kills)
	}
	t.Cleanup(func() { figure.Print(t, "crash/workers-killed", kills) })
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
			defer cancel()
			s := &stage{exe: exe, dir: t.TempDir(), place: "sqlite", out: &bytes.Buffer{}}
			require.NoError(t, s.open(ctx))
			defer func() { require.NoError(t, s.close()) }()
			if r.drop {
				s.service.DropNext()
			}
			for i, at := range r.kills {
				p, err := s.start(at)
				require.NoError(t, err)
				require.NoError(t, p.reached(ctx, at))
				require.NoError(t, p.child.Kill())
				if i == 0 {
					s.fault(r.fault)
				}
			}
			s.fault(ledger.Healthy)
			require.NoError(t, s.finish(ctx), s.out)

			s.check(ctx, t, 1) // nobody died between a send and its answer without asking first
		})
	}
}

// TestAZombieAnywhereLeavesOneEffect stops the worker wherever it can be caught, lets
// another one do the job, and wakes the first.
func TestAZombieAnywhereLeavesOneEffect(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, at := range []string{
		appending(1), appended(1), computed, appending(2), appended(2), appending(3), appended(3), unsent, received, appending(4), appended(4),
	} {
		t.Run("rows 36-38: "+at, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
			defer cancel()
			s := &stage{c: testCase{several: true}, exe: exe, dir: t.TempDir(), place: "memory", out: &bytes.Buffer{}}
			require.NoError(t, s.open(ctx))
			defer func() { require.NoError(t, s.close()) }()
			require.NoError(t, zombie(at)(ctx, s), s.out)
			s.check(ctx, t, 2)
		})
	}
}

// A living worker reads the answer, and asks where the answer proves nothing.
func TestALivingWorkerAndTheServicesAnswers(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for name, row := range map[string]struct {
		before func(context.Context, *stage) error
		log    string
	}{
		"row 29: the first request is answered as known": {
			func(ctx context.Context, s *stage) error {
				_, _, err := s.ledger.Commit(ctx, followUp, []byte(`{"outcome":"needs-followup","ticket":"ticket-1042"}`))
				return err
			},
			asked + " ACTION_CONFIRMED COMPLETED",
		},
		"row 32: 500 after the effect": {
			func(_ context.Context, s *stage) error {
				s.service.FailNext()
				return nil
			},
			asked + " RECONCILED ACTION_CONFIRMED COMPLETED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
			defer cancel()
			s := &stage{exe: exe, dir: t.TempDir(), place: "sqlite", out: &bytes.Buffer{}}
			require.NoError(t, s.open(ctx))
			defer func() { require.NoError(t, s.close()) }()
			require.NoError(t, row.before(ctx, s))
			require.NoError(t, s.finish(ctx), s.out)
			records, err := s.log.read(ctx)
			require.NoError(t, err)
			require.Equal(t, []string{row.log}, attempts(records))
			s.check(ctx, t, 1)
		})
	}
}

// doubtful is a log that, every other time, does not say what became of an append.
type doubtful struct {
	store.Store
	stores bool // whether it is there
	n      atomic.Int32
}

func (d *doubtful) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	if d.n.Add(1)%2 == 0 {
		return d.Store.Append(ctx, bucket, events)
	}
	if d.stores {
		if _, err := d.Store.Append(ctx, bucket, events); err != nil {
			return 0, err
		}
	}
	return 0, &store.AppendError{Bucket: bucket, Err: errors.New("no answer")}
}

func TestAnUnansweredAppendIsLearntBeforeAnythingIsSent(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for name, stores := range map[string]bool{"row 3: it is not there": false, "row 4: it is there": true} {
		for _, at := range []string{"", computed, unsent, received} {
			t.Run(name+" "+at, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
				defer cancel()
				s := &stage{exe: exe, dir: t.TempDir(), place: "memory", out: &bytes.Buffer{}}
				require.NoError(t, s.open(ctx))
				defer func() { require.NoError(t, s.close()) }()
				require.NoError(t, s.log.close())
				var err error
				s.log, err = serve(&doubtful{Store: memstore.New(1), stores: stores}, "doubtful")
				require.NoError(t, err)
				if at != "" {
					p, err := s.start(at)
					require.NoError(t, err)
					require.NoError(t, p.reached(ctx, at))
					require.NoError(t, p.child.Kill())
				}
				require.NoError(t, s.finish(ctx), s.out)
				s.check(ctx, t, 1)
			})
		}
	}
}

// A service that ignores keys has an effect for each request. This is the limit of
// what any log can do, and why the contract must be true.
func TestRow38AZombieAndAServiceWithoutKeysMakeTwoEffects(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	s := &stage{c: testCase{several: true}, exe: exe, dir: t.TempDir(), place: "memory", out: &bytes.Buffer{}}
	require.NoError(t, s.open(ctx))
	defer func() { require.NoError(t, s.close()) }()
	require.NoError(t, s.ledger.IgnoreKeys())
	require.NoError(t, zombie(unsent)(ctx, s), s.out)

	records, err := s.log.read(ctx)
	require.NoError(t, err)
	snap, err := s.ledger.Snapshot(ctx)
	require.NoError(t, err)
	require.Len(t, snap.Effects, 2)
	var found string
	compare(records, snap, func(format string, args ...any) { found += fmt.Sprintf(format, args...) + "\n" })
	require.Contains(t, found, "2 effects of ticket-1042/followup", "and the verdict sees it")
}

// check tests what must be true in the end, wherever somebody died or slept.
func (s *stage) check(ctx context.Context, t *testing.T, mostSends int) {
	records, err := s.log.read(ctx)
	require.NoError(t, err)
	require.NoError(t, s.finish(ctx))
	again, err := s.log.read(ctx)
	require.NoError(t, err)
	require.Equal(t, len(records), len(again), "one more life has nothing to do")
	var h intent.History
	for _, r := range records {
		require.NoError(t, h.Fold(&r.Event, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}))
	}
	require.True(t, h.Done, "%s", s.out)

	snap, err := s.ledger.Snapshot(ctx)
	require.NoError(t, err)
	compare(records, snap, func(format string, args ...any) { t.Errorf(format, args...) })
	require.Len(t, snap.Effects, 1)
	require.LessOrEqual(t, len(snap.Sends()), mostSends, "%s", s.out)
}
