package fluss

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// TableDescriptor is what a table is created with.
type TableDescriptor struct {
	Schema     row.Schema
	PrimaryKey []string          // column names; empty for a log table
	BucketKey  []string          // column names; may be empty
	Buckets    int               // 0 means the cluster's default
	Properties map[string]string // keys must begin with "table."
	Custom     map[string]string // any other keys
	Comment    string
}

// MarshalJSON renders the descriptor as the protocol's table JSON.
func (d TableDescriptor) MarshalJSON() ([]byte, error) {
	t := tableJSON{
		Version: 1, Comment: d.Comment, PartitionKey: []string{}, BucketKey: nonNil(d.BucketKey),
		Properties: map[string]string{}, Custom: map[string]string{},
		Schema: schemaJSON{Version: 1, PrimaryKey: d.PrimaryKey},
	}
	if d.Buckets > 0 {
		t.Buckets = &d.Buckets
	}
	for k, v := range d.Properties {
		t.Properties[k] = v
	}
	for k, v := range d.Custom {
		t.Custom[k] = v
	}
	for _, col := range d.Schema {
		name, ok := typeNames[col.Kind]
		if !ok {
			return nil, fmt.Errorf("column %s: no type %s", col.Name, col.Kind)
		}
		c := columnJSON{Name: col.Name, Type: typeJSON{Type: name}}
		if !col.Nullable {
			c.Type.Nullable = new(bool)
		}
		t.Schema.Columns = append(t.Schema.Columns, c)
	}
	return json.Marshal(t)
}

// CreateDatabase creates a database. An existing one is an error with code DatabaseAlreadyExist unless ignoreIfExists is set.
func (c *Client) CreateDatabase(ctx context.Context, name string, ignoreIfExists bool) error {
	err := c.coordinate(ctx, &msg.CreateDatabaseRequest{Name: name, IgnoreIfExists: ignoreIfExists}, &msg.Empty{})
	return wrap(err, "create database %s", name)
}

// DropDatabase drops a database, with its tables when cascade is set. One that does not exist is an error with code DatabaseNotExist.
func (c *Client) DropDatabase(ctx context.Context, name string, cascade bool) error {
	err := c.coordinate(ctx, &msg.DropDatabaseRequest{Name: name, Cascade: cascade}, &msg.Empty{})
	return wrap(err, "drop database %s", name)
}

// DatabaseExists asks whether a database exists and may be seen.
func (c *Client) DatabaseExists(ctx context.Context, name string) (bool, error) {
	var have msg.ExistsResponse
	err := c.anywhere(ctx, &msg.DatabaseExistsRequest{Name: name}, &have)
	return have.Exists, wrap(err, "look for database %s", name)
}

// CreateTable creates a table. An existing one is an error with code TableAlreadyExist; its schema is not compared with d. When it
// returns, servers may still be busy opening the buckets: calls on the table wait for that.
func (c *Client) CreateTable(ctx context.Context, path Path, d TableDescriptor) error {
	doc, err := d.MarshalJSON()
	if err != nil {
		return wrap(err, "create table %s", path)
	}
	err = c.coordinate(ctx, &msg.CreateTableRequest{Path: path.wire(), JSON: doc}, &msg.Empty{})
	return wrap(err, "create table %s", path)
}

// DropTable drops a table. One that does not exist is an error with code TableNotExist.
func (c *Client) DropTable(ctx context.Context, path Path) error {
	err := c.coordinate(ctx, &msg.DropTableRequest{Path: path.wire()}, &msg.Empty{})
	return wrap(err, "drop table %s", path)
}

// TableExists asks whether a table exists and may be seen.
func (c *Client) TableExists(ctx context.Context, path Path) (bool, error) {
	var have msg.ExistsResponse
	err := c.anywhere(ctx, &msg.TableExistsRequest{Path: path.wire()}, &have)
	return have.Exists, wrap(err, "look for table %s", path)
}

// TableInfo describes a table as it is now. One that does not exist is an error with code TableNotExist.
func (c *Client) TableInfo(ctx context.Context, path Path) (*TableInfo, error) {
	var m msg.GetTableInfoResponse
	if err := c.anywhere(ctx, &msg.GetTableInfoRequest{Path: path.wire()}, &m); err != nil {
		return nil, wrap(err, "describe table %s", path)
	}
	info, err := parseTable(path, &m)
	return info, wrap(err, "describe table %s", path)
}

// TableSchema returns one schema of a table, the current one when id is 0.
func (c *Client) TableSchema(ctx context.Context, path Path, id int) (row.Schema, error) {
	var m msg.GetTableSchemaResponse
	if err := c.anywhere(ctx, &msg.GetTableSchemaRequest{Path: path.wire(), SchemaID: int32(id)}, &m); err != nil {
		return nil, wrap(err, "schema %d of table %s", id, path)
	}
	schema, _, err := parseSchema(m.JSON)
	return schema, wrap(err, "schema %d of table %s", id, path)
}

// ClusterConfig is one option of the cluster and where its value comes from.
type ClusterConfig struct {
	Key, Value, Source string
}

// ClusterConfigs returns the options that are set, in the view of the server that leads the bucket of t: every server answers with its
// own. Options that are not set have their defaults and are not listed. It needs the right to describe the cluster.
func (t *Table) ClusterConfigs(ctx context.Context, bucket int) ([]ClusterConfig, error) {
	var m msg.DescribeClusterConfigsResponse
	err := t.onLeader(ctx, bucket, func(ctx context.Context, cn *conn) error {
		return cn.roundTrip(ctx, &msg.DescribeClusterConfigsRequest{}, &m)
	})
	out := make([]ClusterConfig, len(m.Configs))
	for i, cfg := range m.Configs {
		out[i] = ClusterConfig(cfg)
	}
	return out, wrap(err, "describe the cluster's options")
}

// anywhere is askAny with retries: what it asks for changes nothing.
func (c *Client) anywhere(ctx context.Context, req msg.Request, resp msg.Message) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.RetryTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := c.askAny(ctx, req, resp)
		code := CodeOf(err)
		if err == nil || (code != msg.None && code != msg.NotCoordinatorLeader && !code.StaleMetadata()) {
			return err
		}
		if attempt == 3 || sleep(ctx, backoff(attempt)) != nil {
			return err
		}
	}
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
