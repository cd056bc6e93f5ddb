package projection

import (
	"context"

	"github.com/intentlog/intentlog/intent"
)

// Table is the name of the table in every sink.
const Table = "events_by_id"

// Sink is a table events_by_id and, for each bucket of the log, a position: every
// record below offset next is in the table. last is the event ID of the record at
// next-1, which no other log has: it tells that this is a place in this log.
// Implementations are [SQLite] and flussstore.Projection.
type Sink interface {
	// Position returns the bucket's position; zeros where nothing is. It may be behind
	// the rows, never ahead of them.
	Position(ctx context.Context, bucket int) (next int64, last intent.EventID, err error)

	// Put writes rows, each under its event ID, and after them the position. It
	// returns once both are durable; an error proves nothing about either. A row
	// that is there already is written over by the same nine columns, or left as it
	// is. rows may be empty. Put does not keep it.
	//
	// It is not called by two goroutines at once for one bucket. Two processes may
	// write to one table; what they write is the same.
	Put(ctx context.Context, bucket int, rows []intent.Event, next int64, last intent.EventID) error
}
