// Package receipt says what the world says: whether an intended effect exists.
//
// A [Lookup] is the user's way to ask the other service. It answers with a
// [Finding]: Committed with a [Receipt], Absent, InFlight, or Unknown with a
// reason. A [Contract] is what the user declares about that service; it decides
// what an Absent is worth, since a request that is still on the wire can overtake
// it. A [Sender] performs the call and tells what is known afterwards.
//
//	svc := receipt.Service{
//		Lookup:   receipt.LookupFunc(askLedger),
//		Sender:   receipt.SenderFunc(post),
//		Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: 24 * time.Hour},
//	}
//
// Every zero value is the cautious one: the zero Finding and the zero Answer are
// Unknown, the zero Contract never allows a second send. The library, not the
// caller, validates a receipt: [Ask] and [Send] turn what does not fit into
// Unknown, a panic and an error included. Nothing here is a proof about the other
// service: a Contract is a claim by the user, and receipttest can test it.
package receipt
