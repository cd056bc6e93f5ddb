// Package flinktrace reads the trace of one job through Flink SQL, and proves that it is
// whole.
//
//	end, err := st.Bound(ctx, 0)
//	trace, err := flinktrace.Read(ctx, session, "job_events", job, end.End)
//
// What a Fluss connector can do decides how. A 1.0 connector runs the query of
// [SQL] as a batch job that ends by itself. A 0.9.1 connector refuses every batch scan
// of a log table; there the table's change log is streamed, which carries offsets,
// and the stream is stopped behind the bound's last record. LIMIT and COUNT(*) are
// never used: on a log table both give wrong answers without an error.
//
// A stream proves itself: each offset of [0, end) came exactly once. A batch is
// compared by its caller with another reader; see [Trace.Offsets].
package flinktrace
