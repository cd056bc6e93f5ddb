// Package intent says what is about to be done, and reads what was done before.
//
// An [Intent] is one effect that a worker wants another service to have: a stable
// action ID, the exact request bytes, and their SHA-256. It becomes a durable fact
// as an [Event] of type [ActionRequested] in an append log, before the first byte
// leaves. A [History] is the fold of one job's events: who owns the job, which of
// its actions are open, and what is known about them.
//
//	in := intent.New("ticket-1042/followup", body)
//	detail, err := in.Detail() // what the log keeps: body, unchanged
//
// What the package promises: bytes that a caller hands over are never rewritten;
// the same action ID never stands for two payloads in an accepted history; an
// event that cannot be understood is an error, never skipped.
//
// What it does not do: it reads no clock, no file and no network.
package intent
