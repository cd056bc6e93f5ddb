package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"github.com/intentlog/intentlog/intent"
)

// The format of the file.
const (
	sqliteID      = 0x694C7072 // "iLpr": application_id in the file's header
	sqliteVersion = 1          // user_version

	sqliteTables = `CREATE TABLE events_by_id (
  job_id TEXT NOT NULL,
  event_id TEXT NOT NULL PRIMARY KEY,
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  event_type TEXT NOT NULL,
  action_id TEXT NOT NULL,
  payload_digest TEXT NOT NULL,
  emitted_at_ms INTEGER NOT NULL,
  detail TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE events_by_id_position (
  bucket INTEGER NOT NULL PRIMARY KEY,
  next_offset INTEGER NOT NULL,
  last_event_id TEXT NOT NULL
);`
)

// SQLite is a sink in a SQLite file of its own, with the tables events_by_id and
// events_by_id_position. Any SQLite program can read it meanwhile.
type SQLite struct{ db *sql.DB }

var _ Sink = (*SQLite)(nil)

// ErrForeign says that a file is no projection, or one of an unknown version.
var ErrForeign = errors.New("not a projection of a known version")

// OpenSQLite opens the projection at path, or creates it, with mode 0600. Rows and
// position are written in one transaction. A power cut may take the last of them,
// which the next import writes again.
func OpenSQLite(path string) (*SQLite, error) {
	s, err := openSQLite(path)
	if err != nil {
		return nil, fmt.Errorf("open projection %s: %w", path, err)
	}
	return s, nil
}

func openSQLite(path string) (*SQLite, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(abs, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}
	name.RawQuery = "_pragma=busy_timeout(5000)&_pragma=synchronous(NORMAL)&_txlock=immediate"
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := prepareSQLite(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &SQLite{db: db}, nil
}

// prepareSQLite creates the tables in an empty file, and refuses any other file.
func prepareSQLite(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	var id, version, objects int64
	if err := tx.QueryRow(`SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
		(SELECT COUNT(*) FROM sqlite_schema)`).Scan(&id, &version, &objects); err != nil {
		return err
	}
	switch {
	case id == sqliteID && version == sqliteVersion:
		return nil
	case id != 0 || version != 0 || objects != 0:
		return fmt.Errorf("%w: application_id %#x, user_version %d", ErrForeign, id, version)
	}
	if _, err := tx.Exec(sqliteTables + fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", sqliteID, sqliteVersion)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = db.Exec("PRAGMA journal_mode=WAL")
	return err
}

// Position implements [Sink].
func (s *SQLite) Position(ctx context.Context, bucket int) (next int64, last intent.EventID, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT next_offset, last_event_id FROM events_by_id_position WHERE bucket = ?", bucket).Scan(&next, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", nil
	}
	return next, last, err
}

// Put implements [Sink].
func (s *SQLite) Put(ctx context.Context, bucket int, rows []intent.Event, next int64, last intent.EventID) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	insert, err := tx.PrepareContext(ctx, "INSERT INTO events_by_id VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
	if err != nil {
		return err
	}
	for i := range rows {
		e := &rows[i]
		if _, err := insert.ExecContext(ctx, string(e.JobID), string(e.EventID), e.Attempt, e.Step, string(e.Type),
			string(e.ActionID), string(e.PayloadDigest), e.EmittedAtMS, e.Detail); err != nil {
			return fmt.Errorf("row %q: %w", e.EventID, err)
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO events_by_id_position VALUES (?, ?, ?)", bucket, next, string(last)); err != nil {
		return err
	}
	return tx.Commit()
}

// Close closes the file.
func (s *SQLite) Close() error { return s.db.Close() }
