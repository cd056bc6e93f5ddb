package intentlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store/memstore"
)

func TestATargetWithoutWhatItsContractNeedsIsRefused(t *testing.T) {
	for missing, target := range map[string]intentlog.Target{
		"Window": {DeadlineHeader: "X-Not-After", Contract: receipt.Contract{Safety: receipt.NotAfter}},
		"Fence":  {AttemptHeader: "X-Attempt", Contract: receipt.Contract{Safety: receipt.Fenced}},
	} {
		target.Base = "https://pay.example"
		_, err := intentlog.Open(t.Context(), memstore.New(1), "w", &intentlog.Options{Targets: intentlog.Targets{"pay": target}})
		require.ErrorContains(t, err, "needs a "+missing)
	}
}
