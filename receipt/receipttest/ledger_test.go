package receipttest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/ledger"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/receipt/receipttest"
)

// installation is the service of the examples, which can be stopped and started
// again over the file of its ledger.
type installation struct {
	path    string
	ledger  *ledger.Ledger
	service atomic.Pointer[ledger.Service]
}

func (in *installation) start() (err error) {
	if in.ledger, err = ledger.Open(in.path); err == nil {
		in.service.Store(ledger.NewService(in.ledger))
	}
	return err
}

func (in *installation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in.service.Load().ServeHTTP(w, r)
}

func install(t *testing.T) (*installation, receipttest.Service) {
	in := &installation{path: filepath.Join(t.TempDir(), "service.db")}
	require.NoError(t, in.start())
	srv := httptest.NewServer(in)
	t.Cleanup(func() {
		srv.Close()
		in.ledger.Close()
	})
	svc := receipttest.Document(srv.URL+"/followups", srv.URL+"/receipts", nil)
	svc.Effects = func(ctx context.Context) (int, error) {
		snap, err := in.ledger.Snapshot(ctx)
		return len(snap.Effects), err
	}
	svc.Hold = func() receipttest.Held { return in.service.Load().HoldNext() }
	svc.Crash = func(_ context.Context, send func()) error {
		in.service.Load().DropNext() // commits, and cuts the connection
		send()
		if err := in.ledger.Close(); err != nil {
			return err
		}
		return in.start()
	}
	svc.Expire = func(context.Context, time.Duration) error { return nil } // no clock of it ages a key
	svc.Retention = receipt.Forever
	return in, svc
}

func TestTheExamplesServiceGuaranteesWhatTheyDeclare(t *testing.T) {
	_, svc := install(t)
	report := receipttest.Run(t, svc)
	require.Equal(t, receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever}, report.Contract)
	require.True(t, report.Lookup)
}

func TestTheExamplesServiceWithItsFaultsIsExposed(t *testing.T) {
	for fault, broken := range map[ledger.Fault]string{
		ledger.Unavailable:        receipttest.AfterCommit,
		ledger.ProxyNotFound:      receipttest.UnknownKey,
		ledger.Unauthorized:       receipttest.UnknownKey,
		ledger.UnknownContract:    receipttest.AfterCommit,
		ledger.WrongReceiptAction: receipttest.AfterCommit,
		ledger.WrongReceiptDigest: receipttest.AfterCommit,
	} {
		in, svc := install(t)
		in.service.Load().SetFault(fault)
		svc.Crash = nil // the restart would heal it
		report, err := receipttest.Probe(t.Context(), svc, quick)
		require.NoError(t, err)
		require.Equal(t, receipttest.Broken, report.Case(broken).Verdict, "%s\n%s", fault, report)
		require.False(t, report.Lookup, "%s", fault)
	}
}
