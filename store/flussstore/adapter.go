package flussstore

// This file is all of the log that knows internal/fluss. An official Go client
// takes its place by another file that implements table. (options.go has its
// Password, and projection.go tables of its own.)

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/row"
	"github.com/intentlog/intentlog/store"
)

// schema is the nine columns.
var schema = row.Schema{
	{Name: "job_id", Kind: row.STRING, Nullable: true},
	{Name: "event_id", Kind: row.STRING, Nullable: true},
	{Name: "attempt", Kind: row.INT, Nullable: true},
	{Name: "step", Kind: row.INT, Nullable: true},
	{Name: "event_type", Kind: row.STRING, Nullable: true},
	{Name: "action_id", Kind: row.STRING, Nullable: true},
	{Name: "payload_digest", Kind: row.STRING, Nullable: true},
	{Name: "emitted_at_ms", Kind: row.BIGINT, Nullable: true},
	{Name: "detail", Kind: row.STRING, Nullable: true},
}

// logTable is a table over the client of internal/fluss.
type logTable struct {
	c *fluss.Client
	t *fluss.Table
}

func newClient(bootstrap string, o Options) *fluss.Client {
	addrs := strings.FieldsFunc(bootstrap, func(r rune) bool { return r == ',' || r == ' ' })
	co := fluss.Options{
		Bootstrap: addrs, Dial: o.Dial, TLS: o.TLS,
		AllowPlaintextCredentials: o.AllowPlaintextCredentials, AllowAddr: o.AllowAddr,
		RetryTimeout: o.Timeout, ProgressTimeout: o.ProgressTimeout, Logger: o.Logger,
	}
	if o.User != "" {
		co.Credentials = &fluss.Credentials{User: o.User, Password: o.Password}
	}
	return fluss.New(co)
}

func openTable(ctx context.Context, bootstrap string, o Options) (table, error) {
	c := newClient(bootstrap, o)
	path := fluss.Path{Database: o.Database, Table: o.Table}
	if o.Create {
		if err := create(ctx, c, path, o); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	t, err := c.Table(ctx, path)
	if err != nil {
		return nil, errors.Join(openError(ctx, path, err), c.Close())
	}
	// Servers may go on for a moment to tell of an earlier table of that name. IDs only
	// grow. Any other error is for the calls that come next.
	_ = patient(ctx, func() error { return t.Changed(ctx) }, func(err error) bool {
		var changed *fluss.TableChangedError
		return errors.As(err, &changed) && changed.Now >= 0 && changed.Now < changed.Was
	})
	return &logTable{c: c, t: t}, nil
}

// openError tells a table that is not there and one that the client cannot use from
// a cluster that did not answer.
func openError(ctx context.Context, path fluss.Path, err error) error {
	var transport *fluss.TransportError
	switch code := fluss.CodeOf(err); {
	case code == msg.TableNotExist || code == msg.DatabaseNotExist:
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	case code != msg.None || ctx.Err() != nil || errors.As(err, &transport) || errors.Is(err, fluss.ErrNoServer) || errors.Is(err, fluss.ErrProtocol):
		return err
	}
	return &UnfitError{Table: path.String(), What: "description", Have: err.Error(), Want: "a log table of nine columns"}
}

// create creates what is not there yet. Another process may be faster, which is
// no error: the table is validated after that.
func create(ctx context.Context, c *fluss.Client, path fluss.Path, o Options) error {
	if exists, err := c.TableExists(ctx, path); err != nil || exists {
		return err
	}
	err := insist(ctx, func() error { return c.CreateDatabase(ctx, path.Database, true) })
	if err != nil && fluss.CodeOf(err) != msg.DatabaseAlreadyExist {
		return err
	}
	err = insist(ctx, func() error {
		return c.CreateTable(ctx, path, fluss.TableDescriptor{
			Schema: schema, BucketKey: []string{"job_id"}, Buckets: o.Buckets, Properties: properties(o),
			Comment: "intentlog: the nine columns of an event, kept for ever",
		})
	})
	if fluss.CodeOf(err) == msg.TableAlreadyExist {
		return nil
	}
	return err
}

// insist repeats a creation that failed without a reason: its answer was lost, or
// the coordinator stumbled over another one of the same name, which it reports as
// an unknown error. What was created meanwhile shows as existing.
func insist(ctx context.Context, create func() error) error {
	return patient(ctx, create, func(err error) bool {
		var transport *fluss.TransportError
		return fluss.CodeOf(err) == msg.UnknownServerError || errors.As(err, &transport)
	})
}

// patient calls f up to eight times, with pauses of five seconds in all, while it
// fails with an error that passes by itself.
func patient(ctx context.Context, f func() error, passes func(error) bool) error {
	for pause := 20 * time.Millisecond; ; pause *= 2 {
		err := f()
		if err == nil || !passes(err) || pause > 2*time.Second {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

func (l *logTable) info() tableInfo {
	i := l.t.Info()
	columns := make([]string, len(i.Schema))
	for n, c := range i.Schema {
		columns[n] = c.Name + " " + c.Kind.String()
	}
	return tableInfo{
		id: i.ID, columns: columns, primaryKey: i.PrimaryKey, bucketKey: i.BucketKey, partitions: i.Partitions,
		buckets: i.Buckets, replicas: i.Replicas(), properties: i.Properties,
	}
}

// rowPool holds the rows of appends; a lone append would else allocate as much
// for them as for all the rest.
var rowPool = sync.Pool{New: func() any { return new([]row.Value) }}

func (l *logTable) append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	rows := rowPool.Get().(*[]row.Value)
	values := (*rows)[:0]
	for i := range events {
		e := &events[i]
		values = append(values,
			row.String(string(e.JobID)), row.String(string(e.EventID)), row.Int(e.Attempt), row.Int(e.Step),
			row.String(string(e.Type)), row.String(string(e.ActionID)), row.String(string(e.PayloadDigest)),
			row.Bigint(e.EmittedAtMS), row.String(e.Detail))
	}
	first, err := l.t.Append(ctx, bucket, values)
	clear(values)
	*rows = values
	rowPool.Put(rows)
	if err == nil {
		return first, nil
	}
	out := &store.AppendError{Bucket: bucket, Err: named(err)}
	if fluss.OutcomeOf(err) == fluss.NotStored {
		out.Outcome = store.NotStored
	}
	return 0, out
}

func (l *logTable) read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	var rec store.Record
	var own error // of fn, or about a row: to be returned as it is
	next := from
	err := l.t.Read(ctx, bucket, from, to, func(r *fluss.Records) error {
		for r.Next() {
			rec.Offset, rec.CommitMS = r.Offset(), r.Batch.CommitMillis
			if own = event(&rec.Event, r.Row()); own != nil {
				own = &store.ReadError{Bucket: bucket, Offset: rec.Offset, Err: own}
				return own
			}
			if own = fn(&rec); own != nil {
				return own
			}
			next = rec.Offset + 1
		}
		return nil
	})
	switch {
	case err == nil || own != nil:
		return own
	case ctx.Err() != nil:
		return &store.ReadError{Bucket: bucket, Offset: next, Err: fmt.Errorf("%w: %w", ctx.Err(), err)}
	}
	var re *fluss.ReadError
	if errors.As(err, &re) && re.Reason == fluss.OutOfRange {
		why := store.ErrLogRegressed
		if first, unknown := l.earliest(ctx, bucket); unknown != nil {
			why = unknown
		} else if next < first {
			why = store.ErrPrefixMissing
		}
		return &store.ReadError{Bucket: bucket, Offset: next, Err: fmt.Errorf("%w: %w", why, err)}
	}
	return &store.ReadError{Bucket: bucket, Offset: next, Err: named(err)}
}

// event takes the nine columns of a row. A NULL is damage: no writer of events
// leaves one.
func event(e *intent.Event, v []row.Value) error {
	if len(v) != len(schema) {
		return fmt.Errorf("%w: %d columns", store.ErrVersion, len(v))
	}
	for i := range v {
		if v[i].Kind() != schema[i].Kind {
			return fmt.Errorf("%w: column %s is %s, want %s", store.ErrCorrupt, schema[i].Name, v[i].Kind(), schema[i].Kind)
		}
	}
	*e = intent.Event{
		JobID: intent.JobID(v[0].Text()), EventID: intent.EventID(v[1].Text()),
		Attempt: int32(v[2].Int64()), Step: int32(v[3].Int64()), Type: intent.Type(v[4].Text()),
		ActionID: intent.ActionID(v[5].Text()), PayloadDigest: intent.Digest(v[6].Text()),
		EmittedAtMS: v[7].Int64(), Detail: v[8].Text(),
	}
	return nil
}

func (l *logTable) earliest(ctx context.Context, bucket int) (int64, error) {
	return l.t.Offset(ctx, bucket, fluss.Earliest)
}

func (l *logTable) settings(ctx context.Context, bucket int) (map[string]string, error) {
	configs, err := l.t.ClusterConfigs(ctx, bucket)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(configs))
	for _, c := range configs {
		out[c.Key] = c.Value
	}
	return out, nil
}

func (l *logTable) close() error { return l.c.Close() }

// named puts the store's name for an error in front of it.
func named(err error) error {
	var re *fluss.ReadError
	var changed *fluss.TableChangedError
	name := error(nil)
	switch {
	case errors.As(err, &changed) || fluss.CodeOf(err) == msg.TableNotExist:
		name = store.ErrTableChanged
	case errors.Is(err, fluss.ErrClosed):
		name = store.ErrClosed
	case errors.Is(err, fluss.ErrBatchTooLarge) || fluss.CodeOf(err) == msg.RecordTooLarge:
		name = store.ErrTooLarge
	case errors.As(err, &re):
		name = map[fluss.Reason]error{
			fluss.NoProgress: store.ErrNoProgress, fluss.Remote: store.ErrPrefixRemote, fluss.Gap: store.ErrGap,
			fluss.Corrupt: store.ErrCorrupt, fluss.UnknownSchema: store.ErrVersion,
		}[re.Reason]
	}
	if name == nil {
		return err
	}
	return fmt.Errorf("%w: %w", name, err)
}
