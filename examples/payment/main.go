// Command payment charges a card at a Stripe-like service, which loses its answer.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt/provider"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "payment:", err)
		os.Exit(1)
	}
}

// run charges the card of order-1729. Its argument is the folder of the log.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	stripe := newStripe() // a fake; yours is https://api.stripe.com
	defer stripe.Close()

	st, err := sqlitestore.Open(filepath.Join(append(args, "intents.db")...), nil)
	if err != nil {
		return err
	}
	defer st.Close()
	p := provider.Stripe()
	w, err := intentlog.Open(ctx, st, "billing-0", &intentlog.Options{Targets: intentlog.Targets{"stripe": {
		Base: stripe.URL, Auth: token, KeyHeader: p.KeyHeader, Check: p.Check, Contract: p.Contract, Interpret: p.Interpret,
	}}})
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Recover(ctx); err != nil {
		return err
	}
	charge := intent.POST("stripe", "/v1/charges", []byte("amount=1799&currency=eur&source=tok_visa"))
	charge.Route.Header = []intent.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}}
	out, err := w.Do(ctx, "order-1729", charge)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %s%s\n", out.Job, out.Status, out.Message)
	if out.Receipt != nil {
		fmt.Fprintf(stdout, "receipt: %s\n", out.Receipt.Body)
	}
	fmt.Fprintf(stdout, "Stripe was asked under %v; charges: %d\n", stripe.seen, stripe.charges)
	return nil
}

func token(r *http.Request) error { r.SetBasicAuth("sk_test_1", ""); return nil }
