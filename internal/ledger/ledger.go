package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/intentlog/intentlog/intent"
)

// Ledger is what the service did, in one SQLite file. All methods are safe for
// concurrent use.
type Ledger struct {
	db      *sql.DB
	keyless bool
}

const schema = `
CREATE TABLE IF NOT EXISTS computations (
	id INTEGER PRIMARY KEY, ticket TEXT NOT NULL, outcome TEXT NOT NULL, at_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS effects (
	id INTEGER PRIMARY KEY, action_id TEXT NOT NULL, payload TEXT NOT NULL, at_ms INTEGER NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS one_effect_per_action ON effects (action_id);
CREATE TABLE IF NOT EXISTS receipts (
	effect_id INTEGER PRIMARY KEY REFERENCES effects (id), action_id TEXT NOT NULL,
	payload_digest TEXT NOT NULL, reference TEXT NOT NULL, at_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS http_audit (
	id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, process TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL,
	action_id TEXT NOT NULL, payload_digest TEXT NOT NULL, payload TEXT NOT NULL, status INTEGER NOT NULL);
`

// Open opens the ledger in the file, or creates it.
func Open(path string) (*Ledger, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	db.SetMaxOpenConns(1) // transactions follow one another
	for _, stmt := range []string{"PRAGMA journal_mode=WAL", "PRAGMA foreign_keys=ON", schema} {
		if _, err := db.Exec(stmt); err != nil {
			db.Close()
			return nil, fmt.Errorf("open ledger: %w", err)
		}
	}
	return &Ledger{db: db}, nil
}

// IgnoreKeys makes a ledger of the kind that most services have: every request has an
// effect of its own. It is called before the ledger is used.
func (l *Ledger) IgnoreKeys() error {
	l.keyless = true
	_, err := l.db.Exec(`DROP INDEX one_effect_per_action`)
	return err
}

// Close closes the file.
func (l *Ledger) Close() error { return l.db.Close() }

// Receipt is the service's word for an effect.
type Receipt struct {
	Action    intent.ActionID
	Digest    intent.Digest
	Reference string
}

// ErrOtherPayload says that the action ID stands for an effect of other bytes.
var ErrOtherPayload = errors.New("the key is bound to another payload")

// Commit has the effect, once per action: created tells whether this call did. The
// same action with the same payload gets the original receipt; with another it gets
// the receipt of the other one and ErrOtherPayload.
func (l *Ledger) Commit(ctx context.Context, action intent.ActionID, payload []byte) (r Receipt, created bool, err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return r, false, err
	}
	defer tx.Rollback() // nothing, after a commit
	r, known, err := find(ctx, tx, action)
	switch {
	case err != nil:
		return r, false, err
	case l.keyless:
	case known && r.Digest != intent.DigestOf(payload):
		return r, false, ErrOtherPayload
	case known:
		return r, false, nil
	}
	now := time.Now().UnixMilli()
	res, err := tx.ExecContext(ctx, `INSERT INTO effects (action_id, payload, at_ms) VALUES (?, ?, ?)`, string(action), string(payload), now)
	if err != nil {
		return r, false, err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return r, false, err
	}
	r = Receipt{Action: action, Digest: intent.DigestOf(payload), Reference: fmt.Sprintf("followup-%d", id)}
	_, err = tx.ExecContext(ctx, `INSERT INTO receipts (effect_id, action_id, payload_digest, reference, at_ms) VALUES (?, ?, ?, ?, ?)`,
		id, string(r.Action), string(r.Digest), r.Reference, now)
	if err != nil {
		return r, false, err
	}
	return r, true, tx.Commit()
}

// Find returns the receipt of an action.
func (l *Ledger) Find(ctx context.Context, action intent.ActionID) (r Receipt, known bool, err error) {
	return find(ctx, l.db, action)
}

func find(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, action intent.ActionID,
) (r Receipt, known bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT action_id, payload_digest, reference FROM receipts WHERE action_id = ? ORDER BY effect_id LIMIT 1`, string(action)).
		Scan(&r.Action, &r.Digest, &r.Reference)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	return r, err == nil, err
}

// Compute counts a computation.
func (l *Ledger) Compute(ctx context.Context, ticket, outcome string) error {
	_, err := l.db.ExecContext(ctx, `INSERT INTO computations (ticket, outcome, at_ms) VALUES (?, ?, ?)`,
		ticket, outcome, time.Now().UnixMilli())
	return err
}

// arrived puts a request on the audit, without an answer yet.
func (l *Ledger) arrived(ctx context.Context, r Request) (id int64, err error) {
	res, err := l.db.ExecContext(ctx,
		`INSERT INTO http_audit (at_ms, process, method, path, action_id, payload_digest, payload, status) VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
		time.Now().UnixMilli(), r.Process, r.Method, r.Path, string(r.Action), string(r.Digest), r.Payload)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// answered notes the status of the answer to a request.
func (l *Ledger) answered(ctx context.Context, id int64, status int) error {
	_, err := l.db.ExecContext(ctx, `UPDATE http_audit SET status = ? WHERE id = ?`, status, id)
	return err
}
