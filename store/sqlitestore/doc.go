// Package sqlitestore keeps a log in one SQLite file: the embedded default.
//
//	st, err := sqlitestore.Open("intents.db", nil)
//
// One process writes at a time; others may read beside it ([Options.ReadOnly]), and
// any SQLite shell can:
//
//	SELECT attempt, step, event_type, action_id FROM job_events
//	WHERE job_id = 'ticket-1042' ORDER BY attempt, step
//
// # What is promised
//
// An acknowledged append survives the death of the process and a power cut: SQLite
// runs in WAL mode with synchronous=FULL. Appends that run at the same time share
// one transaction and so one sync; an append alone waits for nobody.
//
// After a failed write or sync the store is poisoned: that append is Unknown, later
// ones are [store.ErrPoisoned] until the log is opened again. Opening writes again
// what it found in the write-ahead log and syncs it, so that what was once seen
// stays, whatever the kernel did with the pages of the sync that failed.
//
// Every record carries a CRC-32C over all its columns, offsets are dense, and the
// acknowledged end of each bucket stands in a second file beside the log. So a
// flipped byte, a missing row and a log cut below what this machine acknowledged
// are errors. After a power cut that second file may be some seconds old: it can
// then miss a loss, but never invent one.
//
// # Files
//
// For a log x.db: x.db, x.db-wal and x.db-shm are SQLite's. x.db-lock holds the
// lock of the writer and the acknowledged ends. x.db-new exists while a log is
// created. All have mode 0600. To put back an older copy of a log on purpose,
// delete x.db-lock, x.db-wal and x.db-shm with the copy they belong to.
//
// # What it is not
//
// It is not for network file systems, whose locks and syncs are not to be relied
// on. A checksum without a key finds accidents, not people.
package sqlitestore
