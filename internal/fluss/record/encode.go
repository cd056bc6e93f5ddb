package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/intentlog/intentlog/internal/fluss/row"
)

// ErrTooLarge says that rows do not fit into one batch, whose size is a signed 32-bit number.
var ErrTooLarge = errors.New("rows do not fit into one batch")

// Meta is what a writer decides about a batch besides its rows.
type Meta struct {
	SchemaID int16 // from the table's metadata
	WriterID int64 // from InitWriter; -1 without idempotence
	Sequence int32 // per writer and bucket: 0, then one more for each batch; -1 without idempotence
}

// An Encoder makes log batches of one schema. It is immutable and may be used by several goroutines.
type Encoder struct {
	schema row.Schema
	format Format
	arrow  arrowTemplate
}

// NewEncoder returns an encoder of append-only batches. The schema is kept and must not change.
func NewEncoder(schema row.Schema, format Format) (*Encoder, error) {
	if err := schema.Validate(); err != nil {
		return nil, err
	}
	e := &Encoder{schema: schema, format: format}
	switch format {
	case Arrow:
		e.arrow = newArrowTemplate(schema)
	case Indexed:
	default:
		return nil, fmt.Errorf("cannot write log format %s", format)
	}
	return e, nil
}

// Append appends to dst one batch that holds rows: whole rows back to back, at least one, so len(rows) is a multiple of
// the number of columns. The bytes are the same for the same input, fit for an identical retry, and hold no reference to
// rows. The error is a *row.ValueError or ErrTooLarge; dst then comes back as it was.
func (e *Encoder) Append(dst []byte, m Meta, rows []row.Value) ([]byte, error) {
	columns := len(e.schema)
	if len(rows) == 0 || len(rows)%columns != 0 {
		return dst, &row.ValueError{Reason: fmt.Sprintf("%d values are not whole rows of %d columns", len(rows), columns)}
	}
	text := 0
	for at := 0; at < len(rows); at += columns {
		if err := e.schema.Check(rows[at : at+columns]); err != nil {
			return dst, err
		}
		for i := range columns {
			text += len(rows[at+i].Text())
		}
	}
	count := len(rows) / columns
	// An upper bound on everything but the texts, taken before any byte is written: 8 bytes of value, 4 of length or
	// offset and 1 of null bits a cell, and per batch and column the header, the template and padding.
	bound := headerSize + len(e.arrow.message) + 32*columns + 5*count + 13*len(rows) + text
	if bound > math.MaxInt32 {
		return dst, ErrTooLarge
	}
	start := len(dst)
	out := slices.Grow(dst, bound)
	out = appendHeader(out, m, count)
	var err error
	if e.format == Arrow {
		out = e.arrow.append(out, e.schema, rows, count)
	} else {
		out, err = appendIndexed(out, e.schema, rows)
	}
	if err != nil {
		return dst, err
	}
	seal(out[start:])
	return out, nil
}

// appendHeader appends a header of magic 0 whose length and checksum are left to seal.
func appendHeader(dst []byte, m Meta, count int) []byte {
	var h [headerSize]byte
	le := binary.LittleEndian
	le.PutUint16(h[schemaAt:], uint16(m.SchemaID))
	h[27] = appendOnly
	le.PutUint32(h[28:], uint32(count-1))
	le.PutUint64(h[32:], uint64(m.WriterID))
	le.PutUint32(h[40:], uint32(m.Sequence))
	le.PutUint32(h[44:], uint32(count))
	return append(dst, h[:]...)
}

func seal(batch []byte) {
	binary.LittleEndian.PutUint32(batch[lengthAt:], uint32(len(batch)-lengthEnd))
	binary.LittleEndian.PutUint32(batch[crcAt:], crc32.Checksum(batch[schemaAt:], castagnoli))
}

// appendIndexed appends records in INDEXED form: int32 length of the rest, int8 change, row.
func appendIndexed(dst []byte, schema row.Schema, rows []row.Value) ([]byte, error) {
	for ; len(rows) > 0; rows = rows[len(schema):] {
		start := len(dst)
		var err error
		dst, err = schema.AppendIndexed(append(dst, 0, 0, 0, 0, byte(Append)), rows[:len(schema)])
		if err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	}
	return dst, nil
}
