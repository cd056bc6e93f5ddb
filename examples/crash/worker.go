package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/supervise"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
)

// The job: ticket-1042 is classified, and if it needs a follow-up, the ticket service
// is asked to create one.
const (
	ticket   intent.JobID    = "ticket-1042"
	followUp intent.ActionID = "ticket-1042/followup"
)

// worker is one life of a ticket worker.
type worker struct {
	*intentlog.Worker
	service string           // base URL of the ticket service
	process string           // the name of this process, for the service's audit
	promise receipt.Contract // what the service promises
	hooks   hooks
}

// work is all that a worker does: settle what an earlier life left open, then go on
// with the ticket if that is this worker's to do.
func (w *worker) work(ctx context.Context) (report, error) {
	recovered, err := w.Recover(ctx)
	if err != nil {
		return report{}, err
	}
	r := reportOf(recovered)
	if !r.GoOn {
		return r, nil
	}
	out, err := w.followUp(ctx)
	switch {
	case errors.Is(err, intentlog.ErrFenced):
		r.Fenced = true
	case err != nil:
		return report{}, err
	case !r.recovered():
		r.Decisions = decisionsOf(out)
	}
	r.Sends += out.Sends
	return r, nil
}

// followUp does the job from wherever the log says that it stands.
func (w *worker) followUp(ctx context.Context) (out intentlog.Outcome, err error) {
	j, err := w.Job(ctx, ticket, nil)
	if err != nil {
		return out, err
	}
	defer j.Close()
	if j.Completed() {
		return out, nil
	}
	result, err := j.Compute(ctx, "classify", w.classify)
	if err != nil {
		return out, err
	}
	if string(result) != "needs-followup" {
		return out, j.Complete(ctx)
	}
	body, err := intent.Canonical(map[string]string{"ticket": string(ticket), "outcome": string(result)})
	if err != nil {
		return out, err
	}
	return j.Do(ctx, intent.POST("tickets", "/followups", body).WithAction(followUp))
}

// classify asks the ticket service to compute. It has no effect that matters, so it
// may be done again.
func (w *worker) classify(ctx context.Context) ([]byte, error) {
	body, err := json.Marshal(map[string]string{"ticket": string(ticket)})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.service+"/computations", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if err := w.sign(req); err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Outcome string `json:"outcome"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&answer)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("classify: status %d: %w", resp.StatusCode, err)
	}
	w.hooks.computed()
	return []byte(answer.Outcome), nil
}

// target declares the ticket service: where it is, how to ask what it committed, and
// what it promises. Everything that is not a hook is what a program of yours has.
func (w *worker) target() intentlog.Target {
	return intentlog.Target{
		Base:      w.service,
		Auth:      w.sign,
		Contract:  w.promise,
		Transport: w.hooks.transport(http.DefaultTransport),
		Interpret: w.hooks.interpret(receipt.Interpret),
		Lookup: w.hooks.lookup(receipt.HTTPLookup{
			URL:  func(r receipt.Request) string { return w.service + "/receipts/" + string(r.Intent.Action) },
			Auth: w.sign,
		}),
	}
}

// runWorker is the main function of a worker process.
func runWorker(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	service := flags.String("service", "", "base `URL` of the ticket service")
	log := flags.String("log", "", "where the log is")
	name := flags.String("name", "tickets-0", "stable name of the worker")
	process := flags.String("process", "", "name of this process")
	takeOver := flags.Bool("take-over", false, "take the open jobs of other workers too")
	noContract := flags.Bool("no-contract", false, "declare nothing about the service")
	pause := flags.String("pause", "", "barriers to wait at, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	gate := supervise.NewGate(stdin, stdout, strings.Split(*pause, ","), func() { os.Exit(3) })
	st, err := openLog(ctx, *log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()

	w := &worker{service: *service, process: *process, hooks: hooks{gate}}
	if !*noContract {
		// One effect and one receipt per key, bound to the payload, and never forgotten.
		w.promise = receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever}
	}
	w.Worker, err = intentlog.Open(ctx, w.hooks.store(st), *name, &intentlog.Options{
		Targets:  intentlog.Targets{"tickets": w.target()},
		TakeOver: func(string) bool { return *takeOver },
		// Long enough for every wait at a barrier.
		Limits: recovery.Limits{Send: 2 * time.Minute, Lookup: 2 * time.Minute},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r, err := w.work(ctx)
	if err != nil {
		return err
	}
	return gate.Tell(r)
}
