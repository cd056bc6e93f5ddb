package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
)

// object is the status that the reconciler keeps of a job.
type object struct{ Phase, Why string }

// The phases: none yet, and two more.
const (
	created = "created"
	broken  = "failed"
)

// reconciler is a small model of a controller to which an error is a failure: it
// creates what its own status does not show as created, records what went wrong as
// failed, and creates what is failed anew in the next pass. Its status has no
// precondition: the last write wins, as with a merge patch.
func reconciler(ctx context.Context, e errand) error {
	client := &http.Client{Timeout: e.Patience}
	e.each(func(job string) (says, why string) {
		for range tries {
			if status := e.status(job); status.Phase == created {
				return done, ""
			}
			next := e.pass(ctx, client, job)
			if next.Phase == created && e.Spoil {
				return "", "the status cannot be written"
			}
			if err := e.setStatus(job, next); err != nil {
				return "", err.Error()
			}
			why = next.Why
		}
		if e.status(job).Phase == created {
			return done, ""
		}
		return failed, why
	})
	return nil
}

// pass is one reconciliation: observe if there is something to observe, then create.
func (e errand) pass(ctx context.Context, client *http.Client, job string) object {
	if e.Look && e.status(job).Phase == broken {
		switch known, err := e.ask(ctx, job); {
		case err != nil:
			return object{broken, err.Error()}
		case known:
			return object{Phase: created}
		}
	}
	req, err := e.request(ctx, job)
	if err == nil {
		err = verdict(client.Do(req))
	}
	if err != nil {
		return object{broken, err.Error()}
	}
	return object{Phase: created}
}

func (e errand) status(job string) (o object) {
	text, err := os.ReadFile(filepath.Join(e.Dir, job+".json"))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return object{}
	}
	return o
}

func (e errand) setStatus(job string, o object) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.Dir, job+".json"), text, 0o600)
}
