// Package fluss is a client of Apache Fluss 0.9.1 and 1.0: a native speaker of its wire protocol, in floors that can be used alone.
// Package wire knows frames and fields, msg the messages, row and record the bytes of rows and batches; this package knows connections,
// routing, retries and what an answer proves.
//
//	c := fluss.New(fluss.Options{Bootstrap: []string{"127.0.0.1:9123"}})
//	defer c.Close()
//	t, err := c.Table(ctx, fluss.Path{Database: "app", Table: "events"})
//	base, err := t.Append(ctx, 0, values)                     // one row after the other
//	err = t.Read(ctx, 0, 0, base+1, func(r *fluss.Records) error {
//		for r.Next() {
//			use(r.Offset(), r.Row())
//		}
//		return nil // a damaged row ends the loop and the read
//	})
//
// What it promises. An append ends in one of three ways, stored, not stored or unknown, and [AppendError] says which; retries carry
// identical bytes with the same writer id and sequence, one batch at a time per bucket, so that a retry cannot store twice. A bounded
// read delivers every record of its range in order or returns an error: an empty answer is neither the end nor an absence. A table is
// pinned by its id: one that was dropped and created again under the same name is another table. Every call ends, also without a
// deadline in its context. A cancelled context ends the waiting only; it proves nothing about the server.
//
// What it does not do. Remote (tiered) segments are reported, not read. Partitioned tables and projections are not supported.
//
// Memory. Per bucket that is appended to there is one batch of at most Options.MaxBatchBytes (or one call's rows, when they alone are
// larger, up to Options.MaxFrame); rows of waiting calls stay with their callers. Per read there are two fetch answers of about
// Options.FetchBytes. Per connection there are 64 KiB.
package fluss
