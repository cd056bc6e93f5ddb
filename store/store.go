// Package store says where intents are remembered: [Store] is an append log of
// [intent.Event] records in one or more buckets.
//
// An implementation promises three things that recovery stands on. What an append
// says is true: stored, not stored, or unknown, and unknown is never reported as
// anything else. A bound covers every append that was acknowledged before it was
// asked for. A read delivers every record of its range or an error.
//
// Implementations are [memstore], [sqlitestore] and [flussstore]; [storetest]
// checks each promise of this page against any of them.
//
// [memstore]: https://pkg.go.dev/github.com/intentlog/intentlog/store/memstore
// [sqlitestore]: https://pkg.go.dev/github.com/intentlog/intentlog/store/sqlitestore
// [flussstore]: https://pkg.go.dev/github.com/intentlog/intentlog/store/flussstore
// [storetest]: https://pkg.go.dev/github.com/intentlog/intentlog/store/storetest
package store

import (
	"context"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/bucket"
)

// Store is an append log in buckets. All methods may be called by many goroutines
// at once. Buckets are numbered from 0; offsets are dense from 0 in each bucket and
// order nothing across buckets.
type Store interface {
	// Buckets returns how many buckets the log has. It never changes for a log.
	Buckets() int

	// Append adds events to the end of a bucket, in order, as one batch: all of
	// them become visible, or none. There is at least one event.
	//
	// It returns the offset of the first event once the whole batch is durable
	// and visible to every later Bound. Otherwise it returns an error whose
	// Outcome tells what is known: NotStored only if no event of the batch is or
	// will ever be in the log, else Unknown. After Unknown the batch may be in
	// the log, or may arrive in it later.
	//
	// Cancelling ctx ends the wait; once the batch may have left, that proves
	// nothing about it, and the outcome is Unknown. Append neither keeps nor
	// changes events after it returned.
	Append(ctx context.Context, bucket int, events []intent.Event) (first int64, err error)

	// Bound returns an end of the bucket that is linearizable: it is greater than
	// the offset of every append, by anyone, that was acknowledged before Bound
	// was called. It may append a barrier to learn it. An error says nothing about
	// the bucket.
	Bound(ctx context.Context, bucket int) (Bound, error)

	// Read calls fn for every record of [from, to) of the bucket in offset order,
	// and returns nil only after the last of them. The range must lie within a
	// bound that was returned before; beyond the end is an error, not a wait.
	//
	// A record that is missing, damaged or cannot be reached is an error: see the
	// Err values of this package. So is no progress within the store's own
	// deadline. fn may have been called before an error; what it saw is then a
	// true prefix of the range and nothing more. An error of fn ends the read and
	// is returned as it is. The record is valid during the call of fn; its strings
	// may be kept, and may then pin a larger buffer: clone what lives long.
	Read(ctx context.Context, bucket int, from, to int64, fn func(*Record) error) error

	// Close releases the store. Appends in flight end first, or are Unknown.
	// Every call after Close, but Close, returns an error of outcome NotStored.
	Close() error
}

// Record is one event where it stands in the log.
type Record struct {
	Offset   int64
	CommitMS int64 // when the log took it, by the log's own clock, in Unix ms; never falls within a bucket
	Event    intent.Event
}

// Bound is an exclusive end of a bucket, and the time at it.
type Bound struct {
	End int64
	// NowMS is the log's clock at the bound, in Unix ms, on the same scale as
	// Record.CommitMS and not less than that of any record below End. It is 0
	// where the record at End-1, a barrier, carries it.
	NowMS int64
}

// BucketFor returns the bucket of a job: a hash of its ID, the same as Fluss's.
func BucketFor(job intent.JobID, buckets int) int { return bucket.OfString(string(job), buckets) }
