package recovery_test

import (
	"context"
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

// A worker died between its intent and the answer. The next life asks the service,
// which has a receipt: nothing is sent again.
func Example() {
	ctx, st := context.Background(), memstore.New(1)
	in := intent.New("ticket-1042/followup", []byte(`{"ticket":"ticket-1042"}`))
	leaveOpen(st, "ticket-1042", in)

	svc := receipt.Service{
		Lookup: receipt.LookupFunc(func(_ context.Context, r receipt.Request) (receipt.Finding, error) {
			return receipt.Found(&receipt.Receipt{Action: r.Intent.Action, Digest: r.Digest, Reference: "followup-7"}), nil
		}),
	}
	owner, _ := intent.NewOwner("tickets-0")
	plan, err := recovery.Recover(ctx, st, owner, recovery.One(svc), nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Decisions[0])
	outcomes, err := plan.Apply(ctx)
	fmt.Println(outcomes[0].Status, outcomes[0].Receipt.Reference, outcomes[0].Sends, err)
	// Output:
	// ticket-1042: Reconcile ticket-1042/followup
	// reconciled followup-7 0 <nil>
}

// leaveOpen is what the earlier life logged.
func leaveOpen(st store.Store, job intent.JobID, in intent.Intent) {
	owner, _ := intent.NewOwner("tickets-0")
	x := recovery.NewExecutor(recovery.NewView(st, nil), owner, nil, recovery.Limits{}, nil)
	detail, _ := in.Detail()
	_, err := x.Append(context.Background(), job, 1, []intent.Event{
		{JobID: job, Type: intent.Started, Detail: `{"worker":"tickets-0","single":true}`},
		{JobID: job, Type: intent.ActionRequested, ActionID: in.Action, PayloadDigest: in.Digest(), Detail: detail},
	})
	if err != nil {
		panic(err)
	}
}
