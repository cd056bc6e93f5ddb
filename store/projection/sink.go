package projection

import (
	"context"

	"github.com/intentlog/intentlog/intent"
)

// Table is the name of the table in every sink.
const Table = "events_by_id"

// Sink is a table events_by_id and, for each bucket of the log, how far it goes.
// Implementations are [SQLite] and flussstore.Projection.
type Sink interface {
	// Position returns how far the bucket is in the table; the zero Position where
	// nothing is. It may be behind the rows, never ahead of them.
	Position(ctx context.Context, bucket int) (Position, error)

	// Put writes rows, each under its event ID, and after them the position. It
	// returns once both are durable; an error proves nothing about either. A row
	// that is there already is written over by the same nine columns, or left as it
	// is. rows may be empty. Put does not keep it.
	//
	// It is not called by two goroutines at once for one bucket. Two processes may
	// write to one table; what they write is the same.
	Put(ctx context.Context, bucket int, rows []intent.Event, to Position) error
}

// Position is a place in a bucket: every record below Next is in the table. The event
// ID of the record at Next-1, which no other log has, tells that it is a place in
// this log. The zero Position is the beginning.
type Position struct {
	Next int64
	Last intent.EventID
}
