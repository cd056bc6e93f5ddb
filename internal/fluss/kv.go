package fluss

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/intentlog/intentlog/internal/bucket"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// keyColumns are the positions of a table's key columns.
type keyColumns struct {
	primary, bucket []int
}

func newKeyColumns(info *TableInfo) (keyColumns, error) {
	find := func(names []string) ([]int, error) {
		var at []int
		for _, name := range names {
			i := slices.IndexFunc(info.Schema, func(c row.Column) bool { return c.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("%w: key column %q is not in the schema", ErrProtocol, name)
			}
			at = append(at, i)
		}
		return at, nil
	}
	var k keyColumns
	var err error
	if k.primary, err = find(info.PrimaryKey); err != nil {
		return k, err
	}
	if k.bucket, err = find(info.BucketKey); err != nil {
		return k, err
	}
	if len(k.bucket) == 0 {
		k.bucket = k.primary
	}
	return k, nil
}

var errNoPrimaryKey = errors.New("the table has no primary key")

// Put writes whole rows into a table with a primary key and returns when all in-sync replicas have them. The rows of one bucket are
// written together; between buckets Put is not atomic, and stops at the first that fails. Its errors are those of Append.
func (t *Table) Put(ctx context.Context, values []row.Value) error {
	columns := len(t.info.Schema)
	if len(values) == 0 || len(values)%columns != 0 {
		return t.appenders[0].refuse(&row.ValueError{Reason: "values are not whole rows"})
	}
	return t.change(ctx, values, func(r []row.Value) ([]byte, error) { return t.info.Schema.AppendCompacted(nil, r) })
}

// Delete removes rows of a table with a primary key. The rows are whole, but only their key columns count; the others may be NULL.
// It is otherwise like Put.
func (t *Table) Delete(ctx context.Context, values []row.Value) error {
	return t.change(ctx, values, func([]row.Value) ([]byte, error) { return nil, nil })
}

func (t *Table) change(ctx context.Context, values []row.Value, encode func([]row.Value) ([]byte, error)) error {
	if len(t.keys.primary) == 0 {
		return t.appenders[0].refuse(errNoPrimaryKey)
	}
	columns := len(t.info.Schema)
	puts := make([][]record.Put, t.info.Buckets)
	sizes := make([]int, t.info.Buckets)
	for ; len(values) >= columns; values = values[columns:] {
		key, b, err := t.key(values[:columns])
		if err != nil {
			return t.appenders[0].refuse(err)
		}
		body, err := encode(values[:columns])
		if err != nil {
			return t.appenders[b].refuse(err)
		}
		puts[b] = append(puts[b], record.Put{Key: key, Row: body})
		sizes[b] += 16 + len(key) + len(body)
	}
	for b := range puts {
		if len(puts[b]) == 0 {
			continue
		}
		if _, err := t.appenders[b].add(ctx, nil, puts[b], sizes[b], 0); err != nil {
			return err
		}
	}
	return nil
}

// key encodes the primary key of a row and finds its bucket.
func (t *Table) key(r []row.Value) (key []byte, b int, err error) {
	if key, err = t.info.Schema.AppendKey(nil, r, t.keys.primary...); err != nil {
		return nil, 0, err
	}
	of := key
	if !slices.Equal(t.keys.bucket, t.keys.primary) {
		if of, err = t.info.Schema.AppendKey(nil, r, t.keys.bucket...); err != nil {
			return nil, 0, err
		}
	}
	return key, bucket.Of(of, t.info.Buckets), nil
}

// Lookup returns the row with the primary key of key, nil when there is none. key is a whole row of which only the key columns count.
// It sees every put that was acknowledged before.
func (t *Table) Lookup(ctx context.Context, key []row.Value) ([]row.Value, error) {
	if len(t.keys.primary) == 0 {
		return nil, errNoPrimaryKey
	}
	k, b, err := t.key(key)
	if err != nil {
		return nil, err
	}
	var value []byte
	req := &msg.LookupRequest{TableID: t.info.ID, Buckets: []msg.LookupBucket{{Bucket: int32(b), Keys: [][]byte{k}}}}
	err = t.onLeader(ctx, b, func(ctx context.Context, cn *conn) error {
		var m msg.LookupResponse
		if err := cn.roundTrip(ctx, req, &m); err != nil {
			return err
		}
		if len(m.Buckets) != 1 || m.Buckets[0].Bucket != int32(b) {
			return fmt.Errorf("%w: %s answered for other buckets", ErrProtocol, msg.KeyLookup)
		}
		r := &m.Buckets[0]
		if r.Code != msg.None {
			return serverError(msg.KeyLookup, cn.addr, r.Code, r.Message)
		}
		if len(r.Values) != 1 {
			return fmt.Errorf("%w: %d values for one key", ErrProtocol, len(r.Values))
		}
		value = r.Values[0].Bytes
		return nil
	})
	if err != nil || len(value) == 0 {
		return nil, wrap(err, "lookup in table %s", t.info.Path)
	}
	id, compacted, err := record.LookupValue(string(value))
	if err != nil {
		return nil, wrap(err, "lookup in table %s", t.info.Path)
	}
	out, err := t.decodeRow(ctx, id, compacted)
	return out, wrap(err, "lookup in table %s", t.info.Path)
}

// LimitScan returns up to limit rows of a bucket of a table with a primary key, in no order. It sees every put that was acknowledged
// before; a limit of math.MaxInt32 returns all rows, as far as they fit into one frame.
func (t *Table) LimitScan(ctx context.Context, bucket int, limit int32) ([][]row.Value, error) {
	if len(t.keys.primary) == 0 {
		return nil, errNoPrimaryKey
	}
	var records []byte
	req := &msg.LimitScanRequest{TableID: t.info.ID, Bucket: int32(bucket), Limit: limit}
	err := t.onLeader(ctx, bucket, func(ctx context.Context, cn *conn) error {
		var m msg.LimitScanResponse
		if err := cn.roundTrip(ctx, req, &m); err != nil {
			return err
		}
		if m.Code != msg.None {
			return serverError(msg.KeyLimitScan, cn.addr, m.Code, m.Message)
		}
		records = m.Records
		return nil
	})
	if err != nil {
		return nil, wrap(err, "scan table %s bucket %d", t.info.Path, bucket)
	}
	var rows [][]row.Value
	s := record.NewValueScanner(string(records))
	for {
		id, compacted, err := s.Next()
		if err == io.EOF {
			return rows, nil
		}
		var r []row.Value
		if err == nil {
			r, err = t.decodeRow(ctx, id, compacted)
		}
		if err != nil {
			return nil, wrap(err, "scan table %s bucket %d", t.info.Path, bucket)
		}
		rows = append(rows, r)
	}
}

func (t *Table) decodeRow(ctx context.Context, id int16, compacted string) ([]row.Value, error) {
	schema, err := t.schema(ctx, id)
	if err != nil {
		return nil, err
	}
	out := make([]row.Value, len(schema))
	return out, schema.DecodeCompacted(out, compacted)
}
