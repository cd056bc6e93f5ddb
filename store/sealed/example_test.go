package sealed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sealed"
)

func Example() {
	ctx := context.Background()
	keys := sealed.Keys{Use: "2026-a", ByID: map[string][]byte{"2026-a": []byte("32 bytes from a secret manager..")}}
	inner := memstore.New(1) // or a SQLite file, or a Fluss table
	log, err := sealed.New(inner, "prod/tickets", keys, nil)
	if err != nil {
		panic(err)
	}
	const owner = "7f8d1c9a-2b3e-4f50-8a6b-0c1d2e3f4a5b"
	started := intent.Event{
		JobID: "ticket-1042", EventID: intent.NewEventID("ticket-1042", 1, owner, 1), Attempt: 1, Step: 1,
		Type: intent.Started, Detail: `{"worker":"desk-0"}`,
	}
	if _, err := log.Append(ctx, 0, []intent.Event{started}); err != nil {
		panic(err)
	}
	show := func(r *store.Record) error {
		head, _, sealed := strings.Cut(r.Event.Detail, "\n")
		if sealed {
			head = strings.Join(strings.Fields(head)[:3], " ") + " ..."
		}
		fmt.Println(r.Event.JobID, r.Event.Type, head)
		return nil
	}
	_ = inner.Read(ctx, 0, 0, 1, show) // what stands in the log
	_ = log.Read(ctx, 0, 0, 1, show)   // what a key holder sees

	// Somebody who can write to the log, and holds no key, claims the job.
	started.Attempt, started.EventID = 2, intent.NewEventID("ticket-1042", 2, owner, 1)
	_, _ = inner.Append(ctx, 0, []intent.Event{started})
	err = log.Read(ctx, 0, 0, 2, show)
	fmt.Println(errors.Is(err, sealed.ErrUntrusted))
	// Output:
	// ticket-1042 STARTED sealed/1 aead 2026-a ...
	// ticket-1042 STARTED {"worker":"desk-0"}
	// ticket-1042 STARTED {"worker":"desk-0"}
	// true
}
