// Package row encodes and decodes single rows of Apache Fluss: the INDEXED and COMPACTED row formats and compacted keys.
//
//	schema := row.Schema{{Name: "id", Kind: row.STRING}, {Name: "n", Kind: row.BIGINT, Nullable: true}}
//	b, err := schema.AppendIndexed(nil, []row.Value{row.String("k1"), row.Bigint(7)})
//
// A row is a []Value in column order. Everything is little-endian; nothing here does I/O. A decoded text value is a
// substring of the string it was decoded from and keeps that string alive.
package row

import (
	"fmt"
	"math"
)

// A Column is one column of a table.
type Column struct {
	Name     string
	Kind     Kind
	Nullable bool
}

// A Schema is the columns of a table, in order.
type Schema []Column

// Validate refuses a schema without columns and a column of an unknown kind.
func (s Schema) Validate() error {
	if len(s) == 0 {
		return fmt.Errorf("schema has no columns")
	}
	for _, c := range s {
		if c.Kind == NULL || c.Kind > BYTES {
			return fmt.Errorf("column %s: unsupported type %s", c.Name, c.Kind)
		}
	}
	return nil
}

// A ValueError says why a row cannot be encoded. It is the caller's mistake; nothing was written.
type ValueError struct {
	Column string // "" when the row as a whole is wrong
	Reason string
}

func (e *ValueError) Error() string {
	if e.Column == "" {
		return "row: " + e.Reason
	}
	return "column " + e.Column + ": " + e.Reason
}

// Check reports the first reason why v is not a row of the schema: a missing or surplus value, another kind, a null in
// a column that has none, a text of more than 2 GiB.
func (s Schema) Check(v []Value) error {
	if len(v) != len(s) {
		return &ValueError{Reason: fmt.Sprintf("%d values for %d columns", len(v), len(s))}
	}
	for i := range v {
		c := &s[i]
		if v[i].kind == c.Kind && len(v[i].text) <= math.MaxInt32 {
			continue
		}
		if v[i].kind == NULL && c.Nullable {
			continue
		}
		return c.reject(v[i])
	}
	return nil
}

func (c *Column) reject(v Value) error {
	switch {
	case v.kind == NULL:
		return &ValueError{c.Name, "null in a NOT NULL column"}
	case v.kind != c.Kind:
		return &ValueError{c.Name, fmt.Sprintf("%s value in a %s column", v.kind, c.Kind)}
	}
	return &ValueError{c.Name, "text longer than 2 GiB"}
}

// variable counts the columns that take a slot in the length list of an INDEXED row.
func (s Schema) variable() int {
	n := 0
	for i := range s {
		if s[i].Kind.Variable() {
			n++
		}
	}
	return n
}

// nullBytes is the size of the null bits: one a column, least significant first, 1 for NULL.
func (s Schema) nullBytes() int { return (len(s) + 7) / 8 }

func isNull(bits string, column int) bool { return bits[column>>3]>>(column&7)&1 == 1 }
