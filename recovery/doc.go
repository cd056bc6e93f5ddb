// Package recovery says what to do now: it reads what a log holds, asks the other
// services what they committed, and decides.
//
//	plan, err := recovery.Recover(ctx, st, owner, recovery.One(svc), nil)
//	for _, d := range plan.Decisions { fmt.Println(d) }
//	outcomes, err := plan.Apply(ctx)
//
// [Recover] reads each bucket up to a linearizable bound, claims the open jobs
// that it may take, reads on to its own claims, looks up every open intent, and
// decides: Retry, Reconcile or HoldUnknown, or Complete and Resume where nothing
// is in doubt. It sends nothing. [Plan.Apply] carries the decisions out.
//
// A [View] is what one owner has seen of a log. All its appends go through it,
// which is how the send rule holds: an append returns only when every record
// below it has been seen. An [Executor] performs one action that the log has
// acknowledged, from the send to the recorded outcome; a lost answer in a living
// process goes through the same lookup and the same table as one after a crash.
//
// The decisions are a pure function; its complete table is
// testdata/decide.golden. Doubt is never turned into a retry: an error of a store,
// of a lookup, of a contract, a short read or a cancelled context can only make
// the answer HoldUnknown, or no answer. Who deduplicates a retried request is the
// other service, by its key; what it promises is the user's [receipt.Contract].
package recovery
