// Command retryablehttp shows how a program that uses hashicorp/go-retryablehttp moves
// over: a charge whose answer is lost, before and after one added line. It is a module
// of its own, so that the library does not depend on go-retryablehttp.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store/memstore"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "retryablehttp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, _ []string, stdout io.Writer) error {
	for _, durable := range []bool{false, true} {
		pay := newPayments()
		client := retryablehttp.NewClient()
		client.Logger, client.RetryWaitMin = nil, time.Millisecond
		if durable {
			w, err := open(ctx, pay.URL)
			if err != nil {
				return err
			}
			defer w.Close()
			Durable(client, w)
		}
		status, err := charge(ctx, client, pay.URL)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "durable: %v, charges: %d, answer: %s\n", durable, pay.charges, strings.TrimSpace(status))
		pay.Close()
	}
	return nil
}

// charge is the program's own code. A client without intentlog ignores the action.
func charge(ctx context.Context, client *retryablehttp.Client, base string) (string, error) {
	ctx = intentlog.WithAction(ctx, "order-1729", "order-1729/charge")
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, base+"/charges", []byte(`{"amount":1799}`))
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	how := resp.Header.Get(intentlog.OutcomeHeader) // set if the answer is rebuilt from a receipt
	return resp.Status + " " + how, nil
}

// open is done once, where the program starts. A real one keeps its log in a
// sqlitestore, and calls Recover first.
func open(ctx context.Context, base string) (*intentlog.Worker, error) {
	return intentlog.Open(ctx, memstore.New(1), "billing-0", &intentlog.Options{
		Targets: intentlog.Targets{"payments": {
			Base:   base,
			Lookup: receipt.HTTPLookup{URL: func(r receipt.Request) string { return base + "/receipts/" + string(r.Intent.Action) }},
		}},
	})
}
