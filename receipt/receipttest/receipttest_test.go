package receipttest_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/receipt/receipttest"
)

var (
	none  = receipt.Contract{}
	bound = receipt.Contract{Safety: receipt.KeyBound, Retention: retention}
)

// quick keeps the waits of services that never answer short.
var quick = &receipttest.Options{Backoff: time.Millisecond, Rounds: 2, Parallel: 4}

func TestHonestServiceIsGrantedItsContract(t *testing.T) {
	report := receipttest.Run(t, newService(honest).serve(t))
	require.Equal(t, bound, report.Contract)
	require.Equal(t, bound, report.Possible)
	require.True(t, report.Lookup)
	require.Empty(t, report.Missing)
	for _, c := range report.Cases {
		require.Equal(t, receipttest.Kept, c.Verdict, c.Name)
	}
}

func TestHandlerIsProbedInProcess(t *testing.T) {
	s := newService(honest)
	report := receipttest.Run(t, s.describe("http://service.test", s))
	require.Equal(t, bound, report.Contract)
}

func TestEveryLieIsExposed(t *testing.T) {
	for _, row := range []struct {
		lie      lie
		broken   string // the case that must show it
		contract receipt.Contract
		lookup   bool
	}{
		{noKeys, receipttest.SameBytes, none, false},
		{newReference, receipttest.SameBytes, none, true},
		{perPayload, receipttest.OtherBytes, none, false},
		{anyPayload, receipttest.OtherBytes, none, true},
		{checkThenAct, receipttest.Concurrent, none, true},
		{checkOnEntry, receipttest.Late, none, true},
		{effectFirst, receipttest.CrashCase, none, false},
		{receiptFirst, receipttest.CrashCase, none, false},
		{forgets, receipttest.Expiry, receipt.Contract{Safety: receipt.KeyBound}, true},
		{earlyReceipt, receipttest.InFlight, bound, false},
		{lag, receipttest.AfterCommit, none, false},
		{flickers, receipttest.AfterCommit, bound, false},
		{bareNotFound, receipttest.UnknownKey, bound, false},
		{alwaysPending, receipttest.UnknownKey, bound, false},
		{hides, receipttest.NoAuth, bound, false},
	} {
		t.Run(string(row.lie), func(t *testing.T) {
			report, err := receipttest.Probe(t.Context(), newService(row.lie).serve(t), quick)
			require.NoError(t, err)
			require.Equal(t, receipttest.Broken, report.Case(row.broken).Verdict, report.String())
			require.Equal(t, row.contract, report.Contract, report.String())
			require.Equal(t, row.lookup, report.Lookup, report.String())
			require.NotEmpty(t, report.Missing)
		})
	}
}

func TestDuplicateWithoutAReceiptNeedsALookup(t *testing.T) {
	svc := newService(neverReplays).serve(t)
	report, err := receipttest.Probe(t.Context(), svc, quick)
	require.NoError(t, err)
	require.Equal(t, bound, report.Contract, report.String())

	svc = newService(neverReplays).serve(t)
	svc.Lookup = nil
	report, err = receipttest.Probe(t.Context(), svc, quick)
	require.NoError(t, err)
	require.Equal(t, receipttest.Broken, report.Case(receipttest.SameBytes).Verdict)
	require.Equal(t, none, report.Contract)
}

func TestNothingIsGrantedWithoutAWitness(t *testing.T) {
	for name, row := range map[string]struct {
		without  func(*receipttest.Service)
		contract receipt.Contract
		possible receipt.Contract
		lookup   bool
	}{
		"no count":       {func(s *receipttest.Service) { s.Effects = nil }, none, bound, true},
		"no crash":       {func(s *receipttest.Service) { s.Crash = nil }, none, bound, true},
		"no clock":       {func(s *receipttest.Service) { s.Expire = nil }, receipt.Contract{Safety: receipt.KeyBound}, bound, true},
		"no claim":       {func(s *receipttest.Service) { s.Retention = 0 }, receipt.Contract{Safety: receipt.KeyBound}, receipt.Contract{Safety: receipt.KeyBound}, true},
		"no lookup":      {func(s *receipttest.Service) { s.Lookup = nil }, bound, bound, false},
		"no hold":        {func(s *receipttest.Service) { s.Hold = nil }, bound, bound, true},
		"no credentials": {func(s *receipttest.Service) { s.Anonymous = nil }, bound, bound, true},
		"a URL and no more": {
			func(s *receipttest.Service) { *s = receipttest.Service{Sender: s.Sender, Lookup: s.Lookup} },
			none,
			receipt.Contract{Safety: receipt.KeyBound},
			true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			svc := newService(honest).serve(t)
			row.without(&svc)
			report, err := receipttest.Probe(t.Context(), svc, quick)
			require.NoError(t, err)
			require.Equal(t, row.contract, report.Contract, report.String())
			require.Equal(t, row.possible, report.Possible, report.String())
			require.Equal(t, row.lookup, report.Lookup, report.String())
			require.NotEmpty(t, report.Missing, report.String())
		})
	}
}

func TestKeysThatAreKeptForEver(t *testing.T) {
	svc := newService(honest).serve(t)
	svc.Retention = receipt.Forever
	report, err := receipttest.Probe(t.Context(), svc, quick)
	require.NoError(t, err)
	require.Equal(t, receipttest.Broken, report.Case(receipttest.Expiry).Verdict, "it keeps them for a day")

	svc.Expire = func(context.Context, time.Duration) error { return nil } // a service without a clock
	report, err = receipttest.Probe(t.Context(), svc, quick)
	require.NoError(t, err)
	require.Equal(t, receipt.Forever, report.Contract.Retention)
}

func TestProbeThatCannotBeDoneIsAnError(t *testing.T) {
	svc := newService(honest).serve(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := receipttest.Probe(ended, svc, quick)
	require.ErrorIs(t, err, context.Canceled)

	_, err = receipttest.Probe(t.Context(), receipttest.Service{}, quick)
	require.Error(t, err)

	refusing := receipttest.Document("http://service.test/effects", "http://service.test/receipts", &receipttest.DocumentOptions{
		Handler: http.NotFoundHandler(),
	})
	report, err := receipttest.Probe(t.Context(), refusing, quick)
	require.ErrorContains(t, err, "a plain request ended lost (contract)")
	require.Equal(t, none, report.Contract)

	for _, broken := range []func(*receipttest.Service){
		func(s *receipttest.Service) { s.Effects = func(context.Context) (int, error) { return 0, errHook } },
		func(s *receipttest.Service) { s.Crash = func(context.Context, func()) error { return errHook } },
		func(s *receipttest.Service) { s.Expire = func(context.Context, time.Duration) error { return errHook } },
	} {
		svc := newService(honest).serve(t)
		broken(&svc)
		report, err := receipttest.Probe(t.Context(), svc, quick)
		require.ErrorIs(t, err, errHook)
		require.Equal(t, none, report.Contract)
	}
}

func TestCrashTellsWhichHalfWasLost(t *testing.T) {
	for lie, seen := range map[lie]string{
		effectFirst:  "the effect outlived the crash and its receipt did not",
		receiptFirst: "the receipt outlived the crash and there is no effect",
	} {
		report, err := receipttest.Probe(t.Context(), newService(lie).serve(t), quick)
		require.NoError(t, err)
		require.Equal(t, seen, report.Case(receipttest.CrashCase).Seen)
	}
}
