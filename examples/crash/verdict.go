package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/ledger"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
)

// Result is one case as it ended.
type Result struct {
	Case         string   `json:"case"`
	Decision     string   `json:"decision"`         // the kinds, one after the other
	Reason       string   `json:"reason,omitempty"` // of the holds
	Before       int      `json:"effects_before"`   // effects when the worker was dead, or its answer lost
	Effects      int      `json:"effects"`
	Computations int      `json:"computations"`
	Sends        int      `json:"sends"`
	Log          string   `json:"log"` // which log it ran on
	OK           bool     `json:"ok"`
	Problems     []string `json:"problems,omitempty"`

	killed string
}

// judge reads the log and the ledger, each by itself, and compares them with each
// other and with what the case wants.
func (s *stage) judge(ctx context.Context, r *Result) error {
	records, err := s.log.read(ctx)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	snap, err := s.ledger.Snapshot(ctx)
	if err != nil {
		return err
	}
	r.Decision, r.Reason = inWords(s.decisions)
	r.Before, r.Effects, r.Computations, r.Sends = s.before, len(snap.Effects), snap.Computations, len(snap.Sends())
	wrong := func(format string, args ...any) { r.Problems = append(r.Problems, fmt.Sprintf(format, args...)) }

	w := s.c.want
	got := want{r.Decision, r.Reason, r.Before, r.Effects, r.Computations, r.Sends, attempts(records)}
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", w); g != w {
		wrong("got %s, want %s", g, w)
	}
	for _, p := range s.processes {
		sends := 0
		for _, send := range snap.Sends() {
			if send.Process == p.process {
				sends++
			}
		}
		if p.told && sends != p.report.Sends {
			wrong("%s says that it sent %d times, the service saw %d", p.process, p.report.Sends, sends)
		}
	}
	compare(records, snap, wrong)
	return nil
}

// compare checks the log against the ledger: what must be true of every run,
// whatever happened in it.
func compare(records []store.Record, snap ledger.Snapshot, wrong func(string, ...any)) {
	if len(snap.Effects) != len(snap.Receipts) {
		wrong("%d effects and %d receipts", len(snap.Effects), len(snap.Receipts))
	}
	effects := map[intent.ActionID]int{}
	for _, e := range snap.Effects {
		effects[e.Action]++
	}
	for action, n := range effects {
		if n > 1 {
			wrong("%d effects of %s", n, action)
		}
	}
	for _, send := range snap.Sends() {
		at := slices.IndexFunc(records, func(r store.Record) bool {
			return r.Event.Type == intent.ActionRequested && r.Event.ActionID == send.Action
		})
		if at < 0 {
			wrong("%s sent %s, and there is no intent of it in the log", send.Process, send.Action)
			continue
		}
		asked := records[at]
		in, err := intent.ParseDetail(asked.Event.ActionID, asked.Event.Detail)
		switch {
		case err != nil:
			wrong("the intent of %s: %v", send.Action, err)
		case string(in.Payload) != send.Payload || send.Digest != asked.Event.PayloadDigest:
			wrong("%s sent other bytes for %s than the log has", send.Process, send.Action)
		case asked.CommitMS > send.AtMS:
			wrong("%s was sent before its intent was in the log", send.Action)
		}
		if onHold(records, send) {
			wrong("%s was sent while it was on hold", send.Action)
		}
	}
	for _, r := range records {
		switch r.Event.Type {
		case intent.ActionConfirmed, intent.Reconciled:
			got, err := receipt.Parse(r.Event.Detail)
			if err != nil {
				wrong("%s holds no receipt: %v", r.Event.EventID, err)
			} else if !slices.Contains(snap.Receipts, ledger.Receipt{Action: got.Action, Digest: got.Digest, Reference: got.Reference}) {
				wrong("%s holds a receipt that the service did not give", r.Event.EventID)
			}
		case intent.Completed:
			if effects[followUp] != 1 {
				wrong("the job is completed and there are %d effects", effects[followUp])
			}
		}
	}
}

// onHold reports whether the request came after a hold and before its end, by the
// clock that the log and the ledger share on this machine.
func onHold(records []store.Record, send ledger.Request) (held bool) {
	for _, r := range records {
		if r.Event.ActionID != send.Action || r.CommitMS >= send.AtMS {
			continue
		}
		switch r.Event.Type {
		case intent.HoldUnknown:
			held = true
		case intent.HoldResolved, intent.ActionConfirmed, intent.Reconciled:
			held = false
		}
	}
	return held
}

// attempts lists the event types of each owner's attempt, in the order of the claims.
func attempts(records []store.Record) (out []string) {
	at := map[string]int{}
	for _, r := range records {
		if r.Event.Type == intent.Barrier {
			continue
		}
		key := fmt.Sprint(r.Event.Attempt, r.Event.Owner())
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, fmt.Sprintf("%d:", r.Event.Attempt))
		}
		out[at[key]] += " " + string(r.Event.Type)
	}
	return out
}

// inWords joins decisions, each kind and each reason once where it repeats itself.
func inWords(decisions []decision) (kinds, reasons string) {
	var k, r []string
	for _, d := range decisions {
		k = append(k, d.Kind)
		if d.Reason != "" {
			r = append(r, d.Reason)
		}
	}
	return strings.Join(slices.Compact(k), " then "), strings.Join(slices.Compact(r), ", ")
}
