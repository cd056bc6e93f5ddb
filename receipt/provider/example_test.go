package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt/provider"
	"github.com/intentlog/intentlog/store/memstore"
)

// A card is charged through Stripe's profile, and declined: a final refusal.
func ExampleStripe() {
	stripe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprint(w, `{"error":{"type":"card_error","code":"card_declined"}}`)
	}))
	defer stripe.Close()

	p := provider.Stripe()
	ctx := context.Background()
	w, err := intentlog.Open(ctx, memstore.New(1), "billing-0", &intentlog.Options{Targets: intentlog.Targets{"payments": {
		Base: stripe.URL, KeyHeader: p.KeyHeader, Key: p.Key, Check: p.Check, Contract: p.Contract, Interpret: p.Interpret,
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	out, err := w.Do(ctx, "order-1729", intent.POST("payments", "/v1/payment_intents", []byte("amount=1799&currency=eur")))
	fmt.Println(out.Status, out.Reason, out.Message, err)
	// Output: rejected refused status 402, "card_declined" <nil>
}
