package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

// workflow is DBOS on SQLite: one workflow per job, whose ID is the job's, with one
// step that places the order. The step is recorded after it ran. Steps may be tried
// again, and a process that starts recovers the workflows of its executor.
func workflow(ctx context.Context, e errand) error {
	e.Key = ofJob // the workflow's ID, which DBOS documents as an idempotency key
	file := filepath.Join(e.Dir, "dbos.db")
	spoil := func() error { return nil }
	if e.Spoil {
		spoil = func() error { return execute(file, fullDisk) }
	} else if err := execute(file, emptyDisk); err != nil {
		return err
	}
	c, err := dbos.NewContext(ctx, dbos.Config{
		DatabaseURL: "sqlite:" + file, AppName: "museum", ExecutorID: "executor-" + e.Executor,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	place := func(c dbos.Context, job string) (string, error) {
		return dbos.RunAsStep(c, func(ctx context.Context) (string, error) {
			err := e.place(ctx, job)
			if err == nil {
				err = spoil()
			}
			return done, err
		}, dbos.WithStepMaxRetries(2), dbos.WithStepBaseInterval(10*time.Millisecond),
			dbos.WithStepRetryPredicate(func(err error) bool { return !errors.Is(err, errPermanent) }))
	}
	dbos.RegisterWorkflow(c, place, dbos.WithWorkflowName("place"))
	if err := dbos.Launch(c); err != nil {
		return err
	}
	e.each(func(job string) (says, why string) {
		h, err := dbos.RunWorkflow(c, place, job, dbos.WithWorkflowID(job))
		if err != nil {
			return "", err.Error()
		}
		if _, err = h.GetResult(dbos.WithHandlePollingInterval(20 * time.Millisecond)); err != nil {
			return failed, err.Error()
		}
		return done, ""
	})
	return dbos.Shutdown(c, time.Second)
}

// place is the step: send, and ask before the next try where the code is careful.
func (e errand) place(ctx context.Context, job string) error {
	req, err := e.request(ctx, job)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: e.Patience}
	err = verdict(client.Do(req))
	if err == nil || !e.Look || errors.Is(err, errPermanent) {
		return err
	}
	switch known, lerr := e.ask(ctx, job); {
	case lerr != nil:
		return errors.Join(errPermanent, lerr)
	case known:
		return nil
	}
	return err
}

// fullDisk makes the database refuse the outcomes of steps and of workflows, and
// emptyDisk takes them again.
const (
	fullDisk = `CREATE TRIGGER full_1 BEFORE INSERT ON operation_outputs
	BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END;
CREATE TRIGGER full_2 BEFORE UPDATE ON workflow_status
	BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`
	emptyDisk = `DROP TRIGGER IF EXISTS full_1; DROP TRIGGER IF EXISTS full_2`
)

func execute(file, stmt string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(stmt)
	return err
}
