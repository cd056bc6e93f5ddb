package intentlog_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// charge is the program of the README.
func charge(ctx context.Context, payments string, addToken func(*http.Request) error, body []byte) error {
	targets := intentlog.Targets{"payments": {
		Base: payments, Auth: addToken, // declare only what the service documents:
		Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: 24 * time.Hour},
	}}
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
	return existing(ctx, w, payments)
}

// existing is code that had its http.Client before.
func existing(ctx context.Context, w *intentlog.Worker, payments string) error {
	client := &http.Client{Transport: w.Transport(nil)}
	ctx = intentlog.WithAction(ctx, "order-1730", "order-1730/charge")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, payments+"/v1/charges", strings.NewReader(`{"amount":5}`))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	fmt.Println(resp.StatusCode)
	return resp.Body.Close()
}

// The whole program, run twice: the second run finds both charges in the log.
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
	addToken := func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer token")
		return nil
	}
	for range 2 {
		if err := charge(context.Background(), payments.URL, addToken, []byte(`{"amount":1299}`)); err != nil {
			panic(err)
		}
	}
	fmt.Println(charges, "charges")
	// Output:
	// confirmed
	// 200
	// confirmed
	// 200
	// 2 charges
}
