package fluss

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// The table JSON of the protocol. Keys that the server demands are always present; nullable is written only when it is false.
type tableJSON struct {
	Version      int               `json:"version"`
	Schema       schemaJSON        `json:"schema"`
	Comment      string            `json:"comment,omitempty"`
	PartitionKey []string          `json:"partition_key"`
	BucketKey    []string          `json:"bucket_key"`
	Buckets      *int              `json:"bucket_count,omitempty"`
	Properties   map[string]string `json:"properties"`
	Custom       map[string]string `json:"custom_properties"`
}

type schemaJSON struct {
	Version    int          `json:"version"`
	Columns    []columnJSON `json:"columns"`
	PrimaryKey []string     `json:"primary_key,omitempty"`
}

type columnJSON struct {
	Name string   `json:"name"`
	Type typeJSON `json:"data_type"`
}

type typeJSON struct {
	Type     string `json:"type"`
	Nullable *bool  `json:"nullable,omitempty"`
}

// typeNames are the names in table JSON of the column types that package row knows.
var typeNames = map[row.Kind]string{
	row.BOOLEAN: "BOOLEAN", row.TINYINT: "TINYINT", row.SMALLINT: "SMALLINT", row.INT: "INTEGER", row.BIGINT: "BIGINT",
	row.FLOAT: "FLOAT", row.DOUBLE: "DOUBLE", row.STRING: "STRING", row.BYTES: "BYTES",
}

// TableInfo describes a table. It must not be changed.
type TableInfo struct {
	Path       Path
	ID         int64 // changes when the table is dropped and created again
	SchemaID   int
	Schema     row.Schema
	PrimaryKey []string // empty for a log table
	BucketKey  []string
	Partitions []string // names of partition columns; this client reads and writes only tables without
	Buckets    int
	Properties map[string]string
	Custom     map[string]string
	Created    time.Time
}

// Format is how the table's log is encoded; an error names a format that this client does not know.
func (i *TableInfo) Format() (record.Format, error) {
	switch f := i.Properties["table.log.format"]; strings.ToUpper(f) {
	case "", "ARROW":
		return record.Arrow, nil
	case "INDEXED":
		return record.Indexed, nil
	default:
		return 0, fmt.Errorf("table %s: log format %q is not supported", i.Path, f)
	}
}

// Replicas is the table's replication factor, 0 when the server does not say.
func (i *TableInfo) Replicas() int {
	n, _ := strconv.Atoi(i.Properties["table.replication.factor"])
	return n
}

func parseTable(path Path, m *msg.GetTableInfoResponse) (*TableInfo, error) {
	var t struct {
		tableJSON
		Schema json.RawMessage `json:"schema"`
	}
	if err := json.Unmarshal(m.JSON, &t); err != nil {
		return nil, fmt.Errorf("%w: table JSON: %w", ErrProtocol, err)
	}
	schema, key, err := parseSchema(t.Schema)
	if err != nil {
		return nil, err
	}
	info := &TableInfo{
		Path: path, ID: m.TableID, SchemaID: int(m.SchemaID), Schema: schema, PrimaryKey: key, BucketKey: t.BucketKey,
		Partitions: t.PartitionKey, Properties: t.Properties, Custom: t.Custom, Created: time.UnixMilli(m.Created),
	}
	if t.Buckets == nil || *t.Buckets < 1 || *t.Buckets > 1<<20 {
		return nil, fmt.Errorf("%w: table JSON without a sound bucket_count", ErrProtocol)
	}
	info.Buckets = *t.Buckets
	return info, nil
}

// parseSchema reads a schema, with the names of the primary key.
func parseSchema(doc []byte) (row.Schema, []string, error) {
	var s schemaJSON
	if err := json.Unmarshal(doc, &s); err != nil {
		return nil, nil, fmt.Errorf("%w: schema JSON: %w", ErrProtocol, err)
	}
	var schema row.Schema
	for _, c := range s.Columns {
		kind := row.NULL
		for k, name := range typeNames {
			if name == c.Type.Type {
				kind = k
			}
		}
		if kind == row.NULL {
			return nil, nil, fmt.Errorf("column %q has type %q, which is not supported", c.Name, c.Type.Type)
		}
		schema = append(schema, row.Column{Name: c.Name, Kind: kind, Nullable: c.Type.Nullable == nil || *c.Type.Nullable})
	}
	return schema, s.PrimaryKey, schema.Validate()
}
