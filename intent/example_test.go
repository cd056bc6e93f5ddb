package intent_test

import (
	"fmt"

	"github.com/intentlog/intentlog/intent"
)

// An intent and what the log keeps of it.
func ExampleIntent_Detail() {
	in := intent.POST("payments", "/v1/charges", []byte(`{"amount":1299}`)).WithAction("order-1729/charge")
	in.Route.Header = []intent.Field{{Name: "Content-Type", Value: "application/json"}}

	detail, err := in.Detail()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(detail)
	fmt.Println(in.Digest())
	fmt.Println(in) // never the payload

	// Output:
	// intentlog/1 POST payments /v1/charges
	// Content-Type: application/json
	//
	// {"amount":1299}
	// 2ed78cb54f07ab0b5e1d035c86dc3585ac044786b8398d4cbeda2e3b0814e4fb
	// order-1729/charge POST payments (15 bytes)
}

// Where the sender knows by itself where to send, the payload is its own text.
func ExampleNew() {
	in := intent.New("ticket-1042/followup", []byte(`{"outcome":"needs-followup"}`))
	detail, err := in.Detail()
	fmt.Println(detail, err)
	// Output:
	// {"outcome":"needs-followup"} <nil>
}

// A worker died after its intent was in the log. The next one claims the job and
// finds what was asked for, byte by byte.
func ExampleHistory_Fold() {
	const job = "ticket-1042"
	dead := intent.OwnerID("6f1c2a34-8a5e-4b0f-9a51-0d6f2f6a7e01")
	next := intent.OwnerID("b3b0c7d2-51f5-4c1c-8a39-6a0c1c8f2e02")
	payload := `{"outcome":"needs-followup"}`

	log := []intent.Event{
		{
			JobID: job, EventID: intent.NewEventID(job, 1, dead, 1), Attempt: 1, Step: 1,
			Type: intent.Started, Detail: `{"worker":"tickets-0"}`,
		},
		{
			JobID: job, EventID: intent.NewEventID(job, 1, dead, 2), Attempt: 1, Step: 2,
			Type: intent.ActionRequested, ActionID: "ticket-1042/followup",
			PayloadDigest: intent.DigestOf([]byte(payload)), Detail: payload,
		},
		{
			JobID: job, EventID: intent.NewEventID(job, 2, next, 1), Attempt: 2, Step: 1,
			Type: intent.Started, Detail: `{"worker":"tickets-0"}`,
		},
	}
	var h intent.History
	for i := range log {
		if err := h.Fold(&log[i], intent.Mark{Offset: int64(i)}); err != nil {
			fmt.Println(err)
			return
		}
	}
	open := h.Current()
	in, err := open.Intent()
	fmt.Println("attempt", h.Attempt, "finds", open.ID, open.Status)
	fmt.Printf("%s %v\n", in.Payload, err)
	// Output:
	// attempt 2 finds ticket-1042/followup requested
	// {"outcome":"needs-followup"} <nil>
}
