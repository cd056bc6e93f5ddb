package receipt_test

import (
	"context"
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// A lookup that claims an effect without a receipt about the very action and
// payload has claimed nothing.
func ExampleAsk() {
	in := intent.New("ticket-1042/followup", []byte(`{"ticket":"ticket-1042"}`))
	r := receipt.Request{Intent: in, Digest: in.Digest()}
	ledger := receipt.LookupFunc(func(context.Context, receipt.Request) (receipt.Finding, error) {
		return receipt.Found(&receipt.Receipt{Action: "ticket-7/followup", Digest: in.Digest()}), nil
	})
	f := receipt.Ask(context.Background(), ledger, r)
	fmt.Println(f.Kind, f.Reason)
	// Output: unknown receipt
}
