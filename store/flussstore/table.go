package flussstore

import (
	"context"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// table is what the store needs of a Fluss client: one log table that was opened
// and is pinned by its ID. Errors are those of package store: an append that is
// not acknowledged is a *store.AppendError, a read that is not complete wraps one
// of the Err values.
type table interface {
	info() tableInfo
	// append adds the events as one atomic batch with acks=all.
	append(ctx context.Context, bucket int, events []intent.Event) (first int64, err error)
	// read delivers [from, to), or an error.
	read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error
	// earliest is the first offset that can still be read.
	earliest(ctx context.Context, bucket int) (int64, error)
	// settings are the options of the cluster as the leader of a bucket has them.
	settings(ctx context.Context, bucket int) (map[string]string, error)
	close() error
}

// tableInfo describes a table as it was when it was opened.
type tableInfo struct {
	id         int64
	columns    []string // name and type, as in SQL
	primaryKey []string
	bucketKey  []string
	partitions []string
	buckets    int
	replicas   int
	properties map[string]string
}
