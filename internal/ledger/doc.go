// Package ledger is the other service of the examples and tests: an HTTP service
// that has effects, and an independent ledger of what it did.
//
//	l, err := ledger.Open("service.db")
//	srv := httptest.NewServer(ledger.NewService(l))
//
// It speaks the receipt protocol of package receipt:
//
//	POST /computations            counts a computation and answers with its outcome
//	POST /followups               the effect; the key is in Idempotency-Key
//	GET  /receipts/{action_id}    what became of an action
//
// An effect and its receipt commit in one transaction, unique per action ID and bound
// to the exact payload: the first request with a key is answered 201, the same bytes
// again 200 with the original receipt, other bytes 409. Every request is on the audit
// before anything is done about it.
//
// [Service] can be made to misbehave: see [Fault], [Service.DropNext],
// [Service.FailNext], [Service.HoldNext] and [Ledger.IgnoreKeys].
package ledger
