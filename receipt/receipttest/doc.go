// Package receipttest finds out what another service really guarantees: it sends to
// it, asks it, counts its effects, and says which [receipt.Contract] it may claim.
//
//	svc := receipttest.Document("https://tickets.example/followups", "https://tickets.example/receipts", nil)
//	svc.Effects = countRows                   // an independent count
//	report, err := receipttest.Probe(ctx, svc, nil)
//	fmt.Print(report)                         // or, in a test: receipttest.Run(t, svc)
//
// [Document] fits a service that speaks the receipt protocol; any other is described
// by a [receipt.Sender] and a [receipt.Lookup], which may be those that a worker will
// use. The probe has real effects, under fresh action IDs: point it at a test
// installation, and let nobody else use that while it is counted.
//
// Nothing is granted on the service's own word. Without Effects there is no witness
// of a second effect, without Crash none of one transaction, without Expire none of
// a retention: the report then tells what is missing, and what could be claimed if
// that held. A report is evidence, and not a proof: a fault that shows once in a
// thousand requests is not found by eight.
package receipttest
