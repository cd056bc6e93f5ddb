// Package invariant says what every run must satisfy, whatever went wrong in it,
// as pure functions over a [Trace] of the run.
//
//	rec := invariant.NewRecorder()
//	st := rec.Store("first life", faultyStore)     // outermost: what the worker sees
//	svc.Sender = rec.Sender("first life", sender)  // outermost: what the worker sends
//	...                                            // rec.Effect where the service commits
//	trace, err := rec.Trace(ctx, honestStore)      // reads the log as it really is
//	require.NoError(t, invariant.Check(trace))
//
// A trace may also be put together by hand, from a ledger and a log that real
// processes left behind; checks whose evidence is missing in it pass.
//
//	I1  [OneEffect]       key-bound service: at most one effect per action, exactly one when it is confirmed and done
//	I2  [SavedBytes]      every body sent equals the bytes of an acknowledged ACTION_REQUESTED
//	I3  [NoSendOnHold]    no send after a hold until it is resolved
//	I4  [WholePrefix]     every acknowledged event is in the prefix that recovery read, or recovery returned an error
//	I5  [FittingReceipts] a confirmation's receipt matches ID and digest
//	I6  [Quiet]           recovering twice: the second sends nothing and appends no new outcome
//	I7  [DoneStaysDone]   more history never turns "done" into Retry
//	I8  [SendRule]        no send without having read everything below the claim and the intent
//	I9  [ReconcileSilent] Reconcile sends nothing
//	I10 [Ended]           once faults stop, each job ends completed, rejected or held
//
// [Check] is all of them but I6 and I10, which are about a certain moment of a run
// that only the caller knows. Each returns nil, or an error that names the
// invariant and joins every violation. They are not safe for use while the trace
// still grows.
package invariant
