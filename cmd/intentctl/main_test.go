package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	times = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)
)

// ctl runs the tool and returns what it printed, owner IDs as OWNER, times as TIME.
func ctl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	text := uuids.ReplaceAllString(out.String(), "OWNER")
	return times.ReplaceAllString(text, "TIME"), err
}

// table splits printed columns.
func table(out string) (rows [][]string) {
	for line := range strings.Lines(out) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

// held makes a log with one held job and one completed one.
func held(t *testing.T) (path string, opts *intentlog.Options) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "intents.db")
	st, err := sqlitestore.Open(path, nil)
	require.NoError(t, err)
	defer st.Close()
	lost := true
	opts = &intentlog.Options{Service: receipt.Service{
		Sender: receipt.SenderFunc(func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
			if r.Job == "order-7" && lost {
				lost = false
				return receipt.Answer{}, errors.New("connection reset")
			}
			return receipt.Answer{Result: receipt.Accepted, Receipt: &receipt.Receipt{Action: r.Intent.Action, Digest: r.Digest}}, nil
		}),
		Lookup: receipt.LookupFunc(func(context.Context, receipt.Request) (receipt.Finding, error) {
			return receipt.Doubt(receipt.ReasonAuth, errors.New("status 401")), nil
		}),
	}}
	w, err := intentlog.Open(t.Context(), st, "billing-0", opts)
	require.NoError(t, err)
	defer w.Close()
	out, err := w.Do(t.Context(), "order-7", intent.New("", []byte(`{}`)))
	require.NoError(t, err)
	require.Equal(t, intentlog.Held, out.Status)
	_, err = w.Do(t.Context(), "order-8", intent.New("", []byte(`{}`)))
	require.NoError(t, err)
	return path, opts
}

func TestListTraceAndVerifyShowWhatTheLogHolds(t *testing.T) {
	path, _ := held(t)
	out, err := ctl(t, "-log", path, "list")
	require.NoError(t, err)
	require.Equal(t, "JOB      WORKER     ATTEMPT  ACTION     STATUS  REASON  AGE\n"+
		"order-7  billing-0  1        order-7/1  held    auth    0s\n"+
		"1 open, 1 completed\n", out)

	out, err = ctl(t, "-log", path, "trace", "order-7")
	require.NoError(t, err)
	require.Equal(t, [][]string{
		{"ATTEMPT", "STEP", "EVENT", "ACTION", "OFFSET", "COMMITTED", "OWNER", "WHY"},
		{"1", "1", "STARTED", "-", "0", "TIME", "OWNER", "-"},
		{"1", "2", "ACTION_REQUESTED", "order-7/1", "1", "TIME", "OWNER", "-"},
		{"1", "3", "HOLD_UNKNOWN", "order-7/1", "2", "TIME", "OWNER", `"{\"reason\":\"auth\",\"message\":\"status`, `401\"}"`},
	}, table(out))

	out, err = ctl(t, "-log", path, "verify")
	require.NoError(t, err)
	require.Equal(t, "7 records in 1 buckets, 0 barriers; 1 jobs completed, 1 open, 1 of them held; 0 broken\n", out)
}

func TestResolveAllowsExactlyOneMoreSend(t *testing.T) {
	path, opts := held(t)
	out, err := ctl(t, "-log", path, "resolve", "-decision", "retry", "-by", "ada", "-reason", "the bank says no", "order-7", "order-7/1")
	require.NoError(t, err)
	require.Equal(t, "recorded: retry of order-7/1 by ada\n", out)

	st, err := sqlitestore.Open(path, nil)
	require.NoError(t, err)
	defer st.Close()
	w, err := intentlog.Open(t.Context(), st, "billing-0", opts)
	require.NoError(t, err)
	defer w.Close()
	report, err := w.Recover(t.Context())
	require.NoError(t, err)
	require.Equal(t, recovery.Retry, report.Decisions[0].Kind)
	require.Equal(t, intentlog.Confirmed, report.Outcomes[0].Status)
	require.Equal(t, 1, report.Outcomes[0].Sends)
}

func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	path, opts := held(t)
	_, err := ctl(t, "-log", path, "resolve", "-decision", "retry", "order-7", "order-7/1")
	require.Error(t, err, "a decision has a name and a reason")
	_, err = ctl(t, "-log", path, "resolve", "-decision", "retry", "-by", "ada", "-reason", "x", "order-8", "order-8/1")
	require.ErrorContains(t, err, "not open")
	_, err = ctl(t, "-log", path+"-none", "list")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = ctl(t, "-log", path, "trace", "order-9")
	require.ErrorContains(t, err, "no events")
	_, err = ctl(t, "list")
	require.Error(t, err)

	st, err := sqlitestore.Open(path, nil)
	require.NoError(t, err)
	defer st.Close()
	w, err := intentlog.Open(t.Context(), st, "billing-0", opts)
	require.NoError(t, err)
	defer w.Close()
	_, err = ctl(t, "-log", path, "resolve", "-decision", "retry", "-by", "ada", "-reason", "x", "order-7", "order-7/1")
	require.ErrorIs(t, err, store.ErrLocked)
	_, err = ctl(t, "-log", path, "verify")
	require.NoError(t, err, "reading goes on beside a running worker")
}
