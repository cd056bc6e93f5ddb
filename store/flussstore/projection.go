package flussstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/row"
	"github.com/intentlog/intentlog/store"
)

// positionTable holds how far the projection goes, a row a bucket of the log.
const positionTable = ProjectionTable + "_position"

// projectionSchema is the nine columns with a key.
var projectionSchema = keyed(schema, "event_id")

var positionSchema = row.Schema{
	{Name: "log_bucket", Kind: row.INT},
	{Name: "next_offset", Kind: row.BIGINT, Nullable: true},
	{Name: "last_event_id", Kind: row.STRING, Nullable: true},
	{Name: "table_id", Kind: row.BIGINT, Nullable: true}, // of the events_by_id that it speaks of
}

// keyed returns a copy of a schema in which the key column takes no NULL.
func keyed(s row.Schema, key string) row.Schema {
	s = slices.Clone(s)
	for i := range s {
		s[i].Nullable = s[i].Nullable && s[i].Name != key
	}
	return s
}

// Projection is the table events_by_id of a Fluss database: the sink of a projector of
// package store/projection.
// Beside it stands a table events_by_id_position. Rows are written first and the
// position after they are acknowledged, so a crash between the two costs nothing but
// writing the same rows again. Many processes may use it at once.
type Projection struct {
	c        *fluss.Client
	rows, at *fluss.Table
}

// OpenProjection opens the projection in Options.Database. With Options.Create, tables
// that do not exist are created: events_by_id as [DDL] says, with Options.Buckets and
// Options.Replicas. Of the other options those count that are about the connection.
//
// Without Create, an events_by_id that does not exist is store.ErrNotFound; the table
// of positions is created in any case. A table of other columns, another key or
// another merge engine is an [UnfitError].
func OpenProjection(ctx context.Context, bootstrap string, opts *Options) (*Projection, error) {
	o := opts.withDefaults()
	p := &Projection{c: newClient(bootstrap, o)}
	if err := p.open(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open projection %s.%s: %w", o.Database, ProjectionTable, err), p.c.Close())
	}
	return p, nil
}

func (p *Projection) open(ctx context.Context, o Options) error {
	path := fluss.Path{Database: o.Database, Table: ProjectionTable}
	if o.Create {
		if err := p.c.CreateDatabase(ctx, o.Database, true); err != nil {
			return err
		}
		if err := p.create(ctx, path, fluss.TableDescriptor{
			Schema: projectionSchema, PrimaryKey: []string{"event_id"}, BucketKey: []string{"event_id"}, Buckets: o.Buckets,
			Properties: projectionProperties(o), Comment: projectionComment,
		}); err != nil {
			return err
		}
	}
	var err error
	if p.rows, err = p.c.Table(ctx, path); err != nil {
		return openError(ctx, path, err)
	}
	if err := fitProjection(p.rows.Info()); err != nil {
		return err
	}
	// What is not known of a position that is lost is read again from the log.
	path.Table = positionTable
	properties := map[string]string{propLake: "false"}
	if r := projectionProperties(o)[propReplicas]; r != "" {
		properties[propReplicas] = r
	}
	if err := p.create(ctx, path, fluss.TableDescriptor{
		Schema: positionSchema, PrimaryKey: []string{"log_bucket"}, BucketKey: []string{"log_bucket"}, Buckets: 1,
		Properties: properties, Comment: "intentlog: how far " + ProjectionTable + " goes",
	}); err != nil {
		return err
	}
	if p.at, err = p.c.Table(ctx, path); err != nil {
		return openError(ctx, path, err)
	}
	if have := p.at.Info(); !slices.Equal(have.Schema, positionSchema) || !slices.Equal(have.PrimaryKey, []string{"log_bucket"}) {
		return &UnfitError{Table: path.String(), What: "columns", Have: fmt.Sprint(have.Schema), Want: fmt.Sprint(positionSchema)}
	}
	return nil
}

// create creates a table that does not exist.
func (p *Projection) create(ctx context.Context, path fluss.Path, d fluss.TableDescriptor) error {
	if exists, err := p.c.TableExists(ctx, path); err != nil || exists {
		return err
	}
	err := p.c.CreateTable(ctx, path, d)
	if fluss.CodeOf(err) == msg.TableAlreadyExist {
		return nil // another process was faster
	}
	return err
}

// fitProjection reports the first reason why a table cannot be the projection.
func fitProjection(info *fluss.TableInfo) error {
	unfit := func(what, have, want string) error {
		return &UnfitError{Table: info.Path.String(), What: what, Have: have, Want: want}
	}
	if !slices.Equal(info.PrimaryKey, []string{"event_id"}) {
		return unfit("primary key", strings.Join(info.PrimaryKey, ", "), "event_id")
	}
	if !slices.Equal(info.Schema, projectionSchema) {
		return unfit("columns", fmt.Sprint(info.Schema), fmt.Sprint(projectionSchema))
	}
	if have := info.Properties[propMerge]; have != "" && !strings.EqualFold(have, firstRow) {
		return unfit(propMerge, have, firstRow)
	}
	return nil
}

// Position returns how far a bucket of the log is in the table: see projection.Sink.
func (p *Projection) Position(ctx context.Context, bucket int) (next int64, last intent.EventID, err error) {
	r, err := p.at.Lookup(ctx, []row.Value{row.Int(int32(bucket)), {}, {}, {}})
	if err != nil || r == nil || r[3].Int64() != p.rows.Info().ID {
		return 0, "", named(err) // none, or of an events_by_id that was dropped since
	}
	return r[1].Int64(), intent.EventID(r[2].Text()), nil
}

// Put writes rows and, once they are acknowledged, the position: see projection.Sink.
func (p *Projection) Put(ctx context.Context, bucket int, rows []intent.Event, next int64, last intent.EventID) error {
	if len(rows) > 0 {
		values := make([]row.Value, 0, len(rows)*len(projectionSchema))
		for i := range rows {
			values = appendEvent(values, &rows[i])
		}
		if err := p.rows.Put(ctx, values); err != nil {
			return named(err)
		}
	}
	return named(p.at.Put(ctx, []row.Value{
		row.Int(int32(bucket)), row.Bigint(next), row.String(string(last)), row.Bigint(p.rows.Info().ID),
	}))
}

func appendEvent(values []row.Value, e *intent.Event) []row.Value {
	return append(values,
		row.String(string(e.JobID)), row.String(string(e.EventID)), row.Int(e.Attempt), row.Int(e.Step),
		row.String(string(e.Type)), row.String(string(e.ActionID)), row.String(string(e.PayloadDigest)),
		row.Bigint(e.EmittedAtMS), row.String(e.Detail))
}

// Lookup returns the event of the given ID as the projection has it, or
// store.ErrNotFound.
func (p *Projection) Lookup(ctx context.Context, id intent.EventID) (intent.Event, error) {
	key := make([]row.Value, len(projectionSchema))
	key[1] = row.String(string(id))
	r, err := p.rows.Lookup(ctx, key)
	var e intent.Event
	if err == nil && r == nil {
		err = store.ErrNotFound
	}
	if err == nil {
		err = event(&e, r)
	}
	if err != nil {
		return intent.Event{}, fmt.Errorf("event %q: %w", id, named(err))
	}
	return e, nil
}

// Close closes the connections.
func (p *Projection) Close() error { return p.c.Close() }
