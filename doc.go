// Package intentlog makes the side effects of a worker durable: it writes down
// what is about to be done before it is done, and after a crash it finds out what
// became of it.
//
// A worker makes other services do things: create a ticket, charge a card, send a
// message. It can die, or lose the answer, at any moment, and then its own log can
// say what it meant and not whether it happened. Guessing "no" does it twice,
// guessing "yes" loses it.
//
//	st, err := sqlitestore.Open("intents.db", nil)
//	w, err := intentlog.Open(ctx, st, "billing-0", &intentlog.Options{Targets: targets})
//	report, err := w.Recover(ctx) // settle what the last life left open
//	out, err := w.Do(ctx, "order-1729", intent.POST("payments", "/v1/charges", body))
//
// [Worker.Do] writes an intent, a stable action ID with the exact request bytes and
// their SHA-256, to an append log; sends the request once the log has acknowledged
// it; and records the receipt. After a crash, or a lost answer, the other service
// is asked through a receipt lookup of the user's, and the answer is one of three:
// Retry, the same bytes under the same ID; Reconcile, the receipt that exists is
// recorded; or HoldUnknown, nobody can know yet.
//
// What is promised: no byte is sent that the log has not acknowledged; the ID and
// the bytes of an action never change; nothing is sent again on evidence that the
// user did not declare sufficient; doubt is never turned into a retry.
//
// What is not: that an effect happens once is a property of the other service. It
// deduplicates by the action ID, for as long as its [receipt.Contract] says, or
// nobody does, and then intentlog holds instead of sending twice.
//
// The parts stand alone: package intent has the events and their rules, store the
// log, receipt what services say, recovery the decisions. This package is the door.
package intentlog
