package sealed_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store/memstore"
)

// A receipt that fits into a log need not fit into a sealed one: that the service
// said it is worth more than what it said.
func TestAReceiptTooLargeToBeSealedConfirmsWithoutItsBody(t *testing.T) {
	for name, looked := range map[string]bool{"an answer": false, "a finding": true} {
		t.Run(name, func(t *testing.T) {
			large := func(r receipt.Request) *receipt.Receipt {
				return &receipt.Receipt{
					Action: r.Intent.Action, Digest: r.Digest, Code: 200, Reference: "ch_1",
					Body: bytes.Repeat([]byte{0xff, 1}, 450<<10),
				}
			}
			sends := 0
			service := receipt.Service{
				Sender: receipt.SenderFunc(func(_ context.Context, r receipt.Request) (receipt.Answer, error) {
					if sends++; looked {
						return receipt.Answer{}, nil // lost
					}
					return receipt.Answer{Result: receipt.Accepted, Receipt: large(r)}, nil
				}),
				Lookup: receipt.LookupFunc(func(_ context.Context, r receipt.Request) (receipt.Finding, error) {
					return receipt.Found(large(r)), nil
				}),
			}
			st := wrap(t, memstore.New(1), ring, nil)
			w, err := intentlog.Open(t.Context(), st, "billing-0", &intentlog.Options{Service: service})
			require.NoError(t, err)
			defer w.Close()
			for range 2 {
				out, err := w.Do(t.Context(), "order-1", intent.New("order-1/1", []byte("b")))
				require.NoError(t, err)
				require.Equal(t, map[bool]any{false: intentlog.Confirmed, true: intentlog.Reconciled}[looked], any(out.Status))
				require.Equal(t, "ch_1", out.Receipt.Reference)
				require.Empty(t, out.Receipt.Body)
			}
			report, err := w.Recover(t.Context())
			require.NoError(t, err)
			require.Empty(t, report.Outcomes)
			require.Equal(t, 1, sends)
		})
	}
}
