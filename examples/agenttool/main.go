// Command agenttool runs an agent whose tool sends e-mail. The answer of the mail
// service is lost, and while nobody can know whether the mail went out, the agent is
// told so and cannot send another.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store/memstore"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agenttool:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, _ []string, stdout io.Writer) error {
	mail := newMail()
	defer mail.Close()
	// A real runtime keeps its log in a sqlitestore.
	w, err := intentlog.Open(ctx, memstore.New(1), "agent-0", &intentlog.Options{
		Targets: intentlog.Targets{"mail": {
			Base:   mail.URL,
			Lookup: receipt.HTTPLookup{URL: func(r receipt.Request) string { return mail.URL + "/receipts/" + string(r.Intent.Action) }},
		}},
	})
	if err != nil {
		return err
	}
	defer w.Close()

	a := &agent{w: w, run: "run-7", model: &scripted{}, doubt: map[string]string{}, out: stdout}
	a.tell("user", "Tell Ann that the meeting is at ten.")
	if err := a.loop(ctx, 4); err != nil {
		return err
	}
	mail.repair()
	fmt.Fprintln(stdout, "-- the mail service is back")
	if err := a.recover(ctx); err != nil {
		return err
	}
	if err := a.loop(ctx, 1); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "-- e-mails that went out: %d\n", mail.sent)
	return nil
}
