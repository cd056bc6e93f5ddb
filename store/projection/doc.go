// Package projection keeps a table events_by_id beside a log: one row per event, with
// the log's nine columns, for people and for SQL.
//
//	sink, err := projection.OpenSQLite("events.db")
//	p := projection.New(st, sink)
//	report, err := p.Import(ctx)
//
// An import reads the whole log up to a bound and folds it first, by the rules that
// recovery follows. A history that breaks them, such as an event ID that stands for
// two events, stops the import before anything is written: an upsert would destroy
// the evidence. Then the rows that are not in the table yet are written.
//
// What becomes of a record:
//
//   - Each event becomes one row, also the events of void attempts: they happened.
//     [Report.Void] counts them.
//   - An identical repetition of an event is the same event and gets no row of its
//     own. [Report.Duplicates] counts those.
//   - Barriers mark bounds and belong to no job: they get no row. [Report.Barriers]
//     counts them.
//
// After an import the table has exactly Report.Events rows. No row ever changes, so
// importing again, or from two processes at once, or after a crash in the middle,
// leaves the same rows, and no reader sees one go back.
//
// The table is no authority. It may lag, and whoever can write to it can change it:
// recovery reads the log.
package projection
