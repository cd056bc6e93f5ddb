package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// The log that recover1m recovers.
const (
	recoverEvents = 1_000_000
	recoverOpen   = 1000
)

// recovered is what a child process tells of one recovery.
type recovered struct {
	Seconds   float64 `json:"seconds"`
	PeakMB    float64 `json:"peak_mb"`
	Decisions int     `json:"decisions"`
}

// recover1m recovers a log of a million events with a thousand open intents, in a
// process of its own, against a bare scan of the same file through database/sql.
func recover1m(ctx context.Context, dir string, p *peers, r *report) error {
	small, err := writeLog(ctx, filepath.Join(dir, "recover-small.db"), recoverEvents/4, recoverOpen)
	if err != nil {
		return err
	}
	full, err := writeLog(ctx, filepath.Join(dir, "recover.db"), recoverEvents, recoverOpen)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	child := func(path string) (recovered, error) {
		var got recovered
		out, err := exec.CommandContext(ctx, exe, "recover-one", path).Output()
		if err == nil {
			err = json.Unmarshal(out, &got)
		}
		if err == nil && got.Decisions != recoverOpen {
			err = fmt.Errorf("%d decisions, want %d", got.Decisions, recoverOpen)
		}
		return got, err
	}
	var ours, scan []float64
	var peak, smallPeak float64
	for range 3 {
		s, err := p.run(ctx, "scan", full)
		if err != nil {
			return err
		}
		// A recovery claims the jobs, so each one appends its claims.
		got, err := child(full)
		if err != nil {
			return err
		}
		ours, scan, peak = append(ours, got.Seconds), append(scan, s), max(peak, got.PeakMB)
	}
	got, err := child(small)
	if err != nil {
		return err
	}
	smallPeak = got.PeakMB
	r.lower("recover1m", median(ours), median(scan), "scan of all rows through database/sql", "s")
	r.note("recover1m: peak memory %.0f MB with %d events, %.0f MB with %d, %d open jobs in both", peak, recoverEvents, smallPeak, recoverEvents/4, recoverOpen)
	return nil
}

// recoverOne is the child: it recovers one log and prints a recovered.
func recoverOne(ctx context.Context, fs *flag.FlagSet, args []string, r *report) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	start := time.Now()
	st, err := sqlitestore.Open(fs.Arg(0), &sqlitestore.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer st.Close()
	owner, err := intent.NewOwner("bench")
	if err != nil {
		return err
	}
	svc := receipt.Service{Lookup: receipt.LookupFunc(func(context.Context, receipt.Request) (receipt.Finding, error) {
		return receipt.NotFound(), nil
	}), Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever}}
	plan, err := recovery.Recover(ctx, st, owner, recovery.One(svc), nil)
	if err != nil {
		return err
	}
	return json.NewEncoder(r.out).Encode(recovered{
		Seconds: time.Since(start).Seconds(), PeakMB: peakMB(), Decisions: len(plan.Decisions),
	})
}

// writeLog writes a log of jobs with four events each, the last of them open.
func writeLog(ctx context.Context, path string, events, open int) (string, error) {
	st, err := sqlitestore.Open(path, nil)
	if err != nil {
		return "", err
	}
	defer st.Close()
	return path, fill(ctx, st, events, open, func() int { return 1024 })
}

// fill appends a realistic mix: STARTED, the intent, its receipt, COMPLETED. The
// last open jobs lack the latter two. Each batch has as many events as size says.
func fill(ctx context.Context, st store.Store, events, open int, size func() int) error {
	var batch []intent.Event
	together := size()
	jobs := (events - 2*open) / 4
	for i := range jobs + open {
		job := intent.JobID(fmt.Sprintf("job-%d", i))
		add := func(step int32, typ intent.Type, action bool, detail string) {
			ev := intent.Event{
				JobID: job, EventID: intent.NewEventID(job, 1, benchOwner, step), Attempt: 1, Step: step,
				Type: typ, EmittedAtMS: 1_800_000_000_000, Detail: detail,
			}
			if action {
				ev.ActionID, ev.PayloadDigest = intent.ActionID(string(job)+"/1"), payloadDigest
			}
			batch = append(batch, ev)
		}
		add(1, intent.Started, false, `{"worker":"bench","single":true}`)
		add(2, intent.ActionRequested, true, payload)
		if i < jobs {
			rec := receipt.Receipt{Action: intent.ActionID(string(job) + "/1"), Digest: payloadDigest, Code: 201, MediaType: "application/json", Body: []byte(`{"ok":true}`)}
			detail, err := rec.Encode()
			if err != nil {
				return err
			}
			add(3, intent.ActionConfirmed, true, detail)
			add(4, intent.Completed, false, "")
		}
		for last := i == jobs+open-1; len(batch) >= together || last && len(batch) > 0; together = size() {
			n := min(together, len(batch))
			if _, err := st.Append(ctx, 0, batch[:n]); err != nil {
				return err
			}
			batch = slices.Delete(batch, 0, n)
		}
	}
	return nil
}
