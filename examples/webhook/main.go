// Command webhook delivers an event to a subscriber whose first answer is lost, once
// as an existing program does and once after three of its lines were changed.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store/memstore"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(1)
	}
}

// event is what subscribers are told.
type event struct {
	ID   string `json:"id"`
	What string `json:"what"`
}

func (e event) job() intent.JobID       { return intent.JobID("webhook/" + e.ID) }
func (e event) action() intent.ActionID { return intent.ActionID(e.ID) }

func run(ctx context.Context, _ []string, stdout io.Writer) error {
	ev := event{ID: "evt-1", What: "invoice paid"}

	sub := newSubscriber()
	defer sub.Close()
	err := before(ctx, sub.URL, ev)
	fmt.Fprintln(stdout, "before, first try, failed:", err != nil)
	err = before(ctx, sub.URL, ev)
	fmt.Fprintf(stdout, "before, second try, failed: %v; the subscriber acted %d times\n", err != nil, sub.acted)

	sub = newSubscriber()
	defer sub.Close()
	w, err := open(ctx, sub.URL)
	if err != nil {
		return err
	}
	defer w.Close()
	err = after(ctx, w, sub.URL, ev)
	fmt.Fprintf(stdout, "after, first try, failed: %v; the subscriber acted %d times\n", err != nil, sub.acted)
	return nil
}

// open is done once, where the program starts. A real one keeps its log in a
// sqlitestore, and calls Recover first.
func open(ctx context.Context, subscriber string) (*intentlog.Worker, error) {
	return intentlog.Open(ctx, memstore.New(1), "webhooks-0", &intentlog.Options{
		Targets: intentlog.Targets{"subscriber": {
			Base:     subscriber,
			Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever},
		}},
	})
}
