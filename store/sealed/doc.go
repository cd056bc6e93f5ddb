// Package sealed makes the log trust nobody but the holders of a key: a [Store]
// wraps any [store.Store], seals every event on its way in, and lets only genuine
// events out. Everything above it sees plain events.
//
//	log, err := sealed.New(inner, "prod/payments", sealed.Keys{Use: "2026-a", ByID: keys}, nil)
//	w, err := intentlog.Open(ctx, log, "billing-0", opts)
//
// Without it, write access to the log is the power to cause effects with the
// worker's credentials, and read access shows every payload. With it:
//
//   - An event that no key holder wrote, or that was changed in any column, moved to
//     another log, bucket or action, is [ErrUntrusted]. So is a log from which events
//     were taken out, or put in another order or repeated where they did not stand,
//     as soon as a later event stands on what was changed. Nothing is then decided,
//     and nothing is sent.
//   - With [Encrypt], which is the default, details and payload digests can be read
//     by key holders only. With [Sign] they stay readable.
//
// Every event carries, inside its authentication code, how many records of the
// bucket its writer had seen and a hash over all of them. Since the log only grows,
// honest writers and readers always agree about that hash, however they overlap.
//
// What it cannot show by itself is the loss of the newest events, on which nobody
// has built yet: keep [Store.Marks] outside the log and give them to [Options], or
// at least Worker.Bookmark to the worker. Nor does it hide job IDs, action IDs,
// types, times and sizes, or vouch for commit times, which are the log's own word.
//
// A store costs eight bytes of memory for every record that it has read.
package sealed
