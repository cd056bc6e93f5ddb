package fluss

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// Table is a table that was opened, pinned by its id: calls on it fail with a *TableChangedError once it was dropped, also when another
// one took its name. It is safe for concurrent use and needs no closing.
type Table struct {
	c      *Client
	info   *TableInfo
	format record.Format
	enc    *record.Encoder
	keys   keyColumns

	appenders []*appender // by bucket

	routes     atomic.Pointer[routes]
	refreshing chan struct{} // one token; who has it may replace routes

	mu      sync.Mutex
	schemas map[int16]row.Schema // schemas that batches were met with
}

// routes is where the buckets of a table are led. It is never changed, only replaced.
type routes struct {
	leaders []string // by bucket; "" while there is no leader
}

// Table opens a table. It asks for the description of the table only; leaders are looked up when they are needed.
func (c *Client) Table(ctx context.Context, path Path) (*Table, error) {
	info, err := c.TableInfo(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(info.Partitions) > 0 {
		return nil, fmt.Errorf("table %s: partitioned tables are not supported", path)
	}
	format, err := info.Format()
	if err != nil {
		return nil, err
	}
	enc, err := record.NewEncoder(info.Schema, format)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", path, err)
	}
	t := &Table{
		c: c, info: info, format: format, enc: enc, refreshing: make(chan struct{}, 1),
		schemas: map[int16]row.Schema{int16(info.SchemaID): info.Schema},
	}
	if t.keys, err = newKeyColumns(info); err != nil {
		return nil, fmt.Errorf("table %s: %w", path, err)
	}
	t.refreshing <- struct{}{}
	api := msg.KeyProduceLog
	if len(info.PrimaryKey) > 0 {
		api = msg.KeyPutKv
	}
	for b := range info.Buckets {
		t.appenders = append(t.appenders, newAppender(t, int32(b), api))
	}
	return t, nil
}

// Info describes the table as it was when it was opened.
func (t *Table) Info() *TableInfo { return t.info }

// Changed asks whether the table is still the one that was opened; it returns a *TableChangedError when it is not.
func (t *Table) Changed(ctx context.Context) error {
	_, err := t.refresh(ctx, t.routes.Load())
	return err
}

// OffsetKind selects what Offset returns.
type OffsetKind int32

const (
	// Earliest is the first offset that can still be read.
	Earliest OffsetKind = msg.OffsetEarliest
	// Latest is the end of what is committed, as the answering replica knows it. It is not linearizable: after a restart it may be too
	// low, after a failover too high. The offset of an own append is the only sure bound.
	Latest OffsetKind = msg.OffsetLatest
)

// Offset returns an offset of a bucket.
func (t *Table) Offset(ctx context.Context, bucket int, kind OffsetKind) (int64, error) {
	req := &msg.ListOffsetsRequest{FollowerID: -1, Type: int32(kind), TableID: t.info.ID, Buckets: []int32{int32(bucket)}}
	offset := int64(-1)
	err := t.onLeader(ctx, bucket, func(ctx context.Context, cn *conn) error {
		var m msg.ListOffsetsResponse
		if err := cn.roundTrip(ctx, req, &m); err != nil {
			return err
		}
		for _, b := range m.Buckets {
			if b.Bucket != int32(bucket) {
				continue
			}
			if b.Code != msg.None {
				return serverError(msg.KeyListOffsets, cn.addr, b.Code, b.Message)
			}
			offset = b.Offset
			if offset < 0 {
				return fmt.Errorf("%w: offset %d", ErrProtocol, offset)
			}
			return nil
		}
		return fmt.Errorf("%w: %s named no bucket %d", ErrProtocol, msg.KeyListOffsets, bucket)
	})
	return offset, wrap(err, "offset of table %s bucket %d", t.info.Path, bucket)
}

// Schema returns a schema of the table by the id that a batch carries.
func (t *Table) schema(ctx context.Context, id int16) (row.Schema, error) {
	t.mu.Lock()
	s, ok := t.schemas[id]
	t.mu.Unlock()
	if ok {
		return s, nil
	}
	s, err := t.c.TableSchema(ctx, t.info.Path, int(id))
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.schemas[id] = s
	t.mu.Unlock()
	return s, nil
}

// check refuses a bucket that the table does not have.
func (t *Table) check(bucket int) error {
	if bucket < 0 || bucket >= t.info.Buckets {
		return fmt.Errorf("table %s has no bucket %d, only 0 to %d", t.info.Path, bucket, t.info.Buckets-1)
	}
	return nil
}

// leader returns a connection to the leader of a bucket. bad, when not nil, are the routes with which the last attempt failed; they are
// replaced first. It returns the routes that it used.
func (t *Table) leader(ctx context.Context, api msg.Key, bucket int, bad *routes) (*conn, *routes, error) {
	r := t.routes.Load()
	if r == nil || r == bad {
		var err error
		if r, err = t.refresh(ctx, r); err != nil {
			return nil, nil, err
		}
	}
	addr := ""
	if bucket < len(r.leaders) {
		addr = r.leaders[bucket]
	}
	if addr == "" {
		t.c.turn.Add(1)
		return nil, r, serverError(msg.KeyGetMetadata, "", msg.LeaderNotAvailable, "no leader is known")
	}
	cn, err := t.c.conn(ctx, api, addr)
	return cn, r, err
}

// refresh replaces the routes unless somebody else already replaced seen.
func (t *Table) refresh(ctx context.Context, seen *routes) (*routes, error) {
	select {
	case <-t.refreshing:
	case <-ctx.Done():
		return nil, &TransportError{API: msg.KeyGetMetadata, Err: ctx.Err()}
	}
	defer func() { t.refreshing <- struct{}{} }()
	if r := t.routes.Load(); r != seen {
		return r, nil
	}
	m, err := t.c.learn(ctx, t.info.Path.wire())
	if CodeOf(err) != msg.None {
		return nil, t.missing(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	var found *msg.TableMetadata
	for i := range m.Tables {
		if m.Tables[i].Path == t.info.Path.wire() {
			found = &m.Tables[i]
		}
	}
	if found == nil || found.TableID != t.info.ID {
		// Another id is another table, or a server that has not heard of this one yet.
		return nil, t.missing(ctx, nil)
	}
	r := &routes{leaders: make([]string, t.info.Buckets)}
	for _, b := range found.Buckets {
		if b.Leader != nil && b.Bucket >= 0 && int(b.Bucket) < len(r.leaders) {
			r.leaders[b.Bucket] = t.c.tabletAddr(*b.Leader)
		}
	}
	t.routes.Store(r)
	return r, nil
}

// missing finds out why metadata do not know the table: a table that is gone makes the whole request fail with UnknownServerError, one
// that the user may not see is left out, and a server's metadata may be older than the table.
func (t *Table) missing(ctx context.Context, cause error) error {
	info, err := t.c.TableInfo(ctx, t.info.Path)
	switch {
	case CodeOf(err) == msg.TableNotExist || CodeOf(err) == msg.DatabaseNotExist:
		return &TableChangedError{Path: t.info.Path, Was: t.info.ID, Now: -1}
	case err != nil:
		return err
	case info.ID != t.info.ID:
		return &TableChangedError{Path: t.info.Path, Was: t.info.ID, Now: info.ID}
	case cause != nil:
		return cause
	}
	// The table exists, but the server that was asked has not heard of it yet.
	return serverError(msg.KeyGetMetadata, "", msg.LeaderNotAvailable, "the table is not in the answer")
}

// onLeader calls f with a connection to the leader of a bucket until it succeeds. f must be harmless to repeat.
func (t *Table) onLeader(ctx context.Context, bucket int, f func(context.Context, *conn) error) error {
	if err := t.check(bucket); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.c.o.RetryTimeout)
	defer cancel()
	var bad *routes
	for attempt := 0; ; attempt++ {
		cn, r, err := t.leader(ctx, 0, bucket, bad)
		if err == nil {
			err = f(ctx, cn)
		}
		if err == nil || !repeatable(err, attempt) {
			return err
		}
		if r != nil {
			bad = r
		}
		if sleep(ctx, backoff(attempt)) != nil {
			return err
		}
	}
}

// maxUnknownServerErrors bounds how often a request is repeated that a server refuses without a reason.
const maxUnknownServerErrors = 3

// repeatable reports whether a harmless request that ended with err is worth another attempt.
func repeatable(err error, attempt int) bool {
	var transport *TransportError
	code := CodeOf(err)
	switch {
	case errors.Is(err, ErrClosed) || errors.Is(err, context.Canceled):
		return false
	case code == msg.UnknownServerError:
		return attempt < maxUnknownServerErrors
	case code != msg.None:
		return code.Retriable() && code != msg.CorruptMessage && code != msg.CorruptRecord
	case errors.Is(err, ErrPlaintextCredentials):
		return false
	}
	return errors.As(err, &transport) || errors.Is(err, ErrNoServer)
}
