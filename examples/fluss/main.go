// Command fluss is the shortest real program on a Fluss log: it makes one HTTP call
// for a job, durably, and prints how that ended. Run it twice: the second time the
// log answers, and nothing is sent.
//
//	go run ./examples/fluss -bootstrap 127.0.0.1:9123
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store/flussstore"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("fluss", flag.ContinueOnError)
	bootstrap := flags.String("bootstrap", "127.0.0.1:9123", "`host:port` of a server of the cluster")
	table := flags.String("table", flussstore.DefaultTable, "the log's table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	st, err := flussstore.Open(ctx, *bootstrap, &flussstore.Options{Table: *table, Create: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	pay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(stdout, "the service is asked for", r.Header.Get(intentlog.KeyHeader))
	}))
	defer pay.Close()

	targets := intentlog.Targets{"pay": {Base: pay.URL}}
	w, err := intentlog.Open(ctx, st, "billing-0", &intentlog.Options{Targets: targets})
	if err != nil {
		return err
	}
	out, err := w.Do(ctx, "order-1729", intent.POST("pay", "/charges", []byte(`{"amount":1299}`)))
	fmt.Fprintln(stdout, out.Job, "is", out.Status)
	return errors.Join(err, w.Close())
}
