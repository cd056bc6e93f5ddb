package intentlog_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// charge is the program of the README.
func charge(ctx context.Context, targets intentlog.Targets, body []byte) error {
	st, err := sqlitestore.Open("intents.db", nil)
	if err != nil {
		return err
	}
	defer st.Close()
	w, err := intentlog.Open(ctx, st, "billing-0", &intentlog.Options{Targets: targets})
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Recover(ctx); err != nil { // settle what the last life left open
		return err
	}
	out, err := w.Do(ctx, "order-1729", intent.POST("payments", "/v1/charges", body))
	if err != nil {
		return err
	}
	fmt.Println(out.Status) // confirmed, reconciled, rejected or held
	return nil
}

// The whole program, run twice: the second run finds the charge in the log.
func Example() {
	dir, err := os.MkdirTemp("", "intentlog")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		panic(err)
	}
	charges := 0
	payments := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		charges++
		io.WriteString(w, `{"id":"ch_1"}`)
	}))
	defer payments.Close()
	targets := intentlog.Targets{"payments": {
		Base:     payments.URL,
		Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever},
	}}
	for range 2 {
		if err := charge(context.Background(), targets, []byte(`{"amount":1299}`)); err != nil {
			panic(err)
		}
	}
	fmt.Println(charges, "charge")
	// Output:
	// confirmed
	// confirmed
	// 1 charge
}
