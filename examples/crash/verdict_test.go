package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/ledger"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
)

// A verdict that cannot be "wrong" is worth nothing: each lie about a good run must
// be found.
func TestCompareFindsWhatCannotBe(t *testing.T) {
	const payload = `{"outcome":"needs-followup"}`
	digest := intent.DigestOf([]byte(payload))
	good := ledger.Receipt{Action: followUp, Digest: digest, Reference: "followup-1"}
	detail, err := (&receipt.Receipt{Action: good.Action, Digest: good.Digest, Reference: good.Reference}).Encode()
	require.NoError(t, err)

	type run struct {
		records []store.Record
		snap    ledger.Snapshot
	}
	fresh := func() *run {
		event := func(ms int64, typ intent.Type, detail string) store.Record {
			return store.Record{CommitMS: ms, Event: intent.Event{
				JobID: ticket, Attempt: 1, Type: typ, ActionID: followUp, PayloadDigest: digest, Detail: detail,
			}}
		}
		return &run{
			records: []store.Record{
				event(10, intent.ActionRequested, payload),
				event(30, intent.ActionConfirmed, detail),
				event(30, intent.Completed, ""),
			},
			snap: ledger.Snapshot{
				Effects:  []ledger.Effect{{Action: followUp, Payload: payload}},
				Receipts: []ledger.Receipt{good},
				Audit: []ledger.Request{{
					AtMS: 20, Process: "process 1", Method: "POST", Path: "/followups",
					Action: followUp, Digest: digest, Payload: payload, Status: 201,
				}},
			},
		}
	}
	for name, row := range map[string]struct {
		change func(*run)
		want   string // empty: nothing is wrong
	}{
		"a good run":   {func(*run) {}, ""},
		"two effects":  {func(r *run) { r.snap.Effects = append(r.snap.Effects, r.snap.Effects[0]) }, "2 effects of"},
		"no receipt":   {func(r *run) { r.snap.Receipts = nil }, "1 effects and 0 receipts"},
		"no effect":    {func(r *run) { r.snap.Effects, r.snap.Receipts = nil, nil }, "completed and there are 0 effects"},
		"no intent":    {func(r *run) { r.records = r.records[1:] }, "no intent of it"},
		"other bytes":  {func(r *run) { r.snap.Audit[0].Payload = "{}" }, "other bytes"},
		"too early":    {func(r *run) { r.snap.Audit[0].AtMS = 9 }, "before its intent"},
		"during hold":  {func(r *run) { r.records[1].Event.Type, r.records[1].CommitMS = intent.HoldUnknown, 15 }, "while it was on hold"},
		"after hold":   {func(r *run) { r.records[1].Event.Type = intent.HoldUnknown }, ""},
		"made-up word": {func(r *run) { r.snap.Receipts[0].Reference = "followup-2" }, "did not give"},
		"no word":      {func(r *run) { r.records[1].Event.Detail = "{" }, "holds no receipt"},
	} {
		t.Run(name, func(t *testing.T) {
			r := fresh()
			row.change(r)
			var found string
			compare(r.records, r.snap, func(format string, args ...any) { found += fmt.Sprintf(format, args...) + "\n" })
			if row.want == "" {
				require.Empty(t, found)
			} else {
				require.Contains(t, found, row.want)
			}
		})
	}
}
