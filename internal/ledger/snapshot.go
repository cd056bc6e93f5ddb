package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/intentlog/intentlog/intent"
)

// Effect is one row of table effects.
type Effect struct {
	Action  intent.ActionID
	Payload string
}

// Request is one row of table http_audit: a request as it arrived.
type Request struct {
	AtMS    int64  // when it arrived, by this machine's clock
	Process string // who sent it, by its own word
	Method  string
	Path    string
	Action  intent.ActionID
	Digest  intent.Digest // of the payload; empty where there is none
	Payload string
	Status  int // of the answer; 0 if none was given
}

// Snapshot is all that the ledger holds, each part in the order of its happening.
type Snapshot struct {
	Computations int
	Effects      []Effect
	Receipts     []Receipt
	Audit        []Request
}

// Sends returns the requests that asked for an effect.
func (s Snapshot) Sends() (sends []Request) {
	for _, r := range s.Audit {
		if r.Method == "POST" && r.Path == effectPath {
			sends = append(sends, r)
		}
	}
	return sends
}

// Snapshot reads the ledger.
func (l *Ledger) Snapshot(ctx context.Context) (s Snapshot, err error) {
	if err := l.db.QueryRowContext(ctx, `SELECT count(*) FROM computations`).Scan(&s.Computations); err != nil {
		return s, fmt.Errorf("read ledger: %w", err)
	}
	err = l.rows(ctx, `SELECT action_id, payload FROM effects ORDER BY id`, func(scan func(...any) error) error {
		var e Effect
		defer func() { s.Effects = append(s.Effects, e) }()
		return scan(&e.Action, &e.Payload)
	})
	if err != nil {
		return s, err
	}
	err = l.rows(ctx, `SELECT action_id, payload_digest, reference FROM receipts ORDER BY effect_id`, func(scan func(...any) error) error {
		var r Receipt
		defer func() { s.Receipts = append(s.Receipts, r) }()
		return scan(&r.Action, &r.Digest, &r.Reference)
	})
	if err != nil {
		return s, err
	}
	const audit = `SELECT at_ms, process, method, path, action_id, payload_digest, payload, status FROM http_audit ORDER BY id`
	return s, l.rows(ctx, audit, func(scan func(...any) error) error {
		var r Request
		defer func() { s.Audit = append(s.Audit, r) }()
		return scan(&r.AtMS, &r.Process, &r.Method, &r.Path, &r.Action, &r.Digest, &r.Payload, &r.Status)
	})
}

func (l *Ledger) rows(ctx context.Context, query string, each func(scan func(...any) error) error) error {
	rows, err := l.db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	defer func(r *sql.Rows) { _ = r.Close() }(rows)
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
	}
	return rows.Err()
}
