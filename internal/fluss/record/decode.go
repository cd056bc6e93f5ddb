package record

import (
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/internal/fluss/row"
	"github.com/intentlog/intentlog/internal/fluss/sticky"
)

// DefaultDecompressLimit is the zero of DecoderOptions.DecompressLimit.
const DefaultDecompressLimit = 64 << 20

// DecoderOptions are the choices of a decoder.
type DecoderOptions struct {
	// DecompressLimit bounds the bytes one compressed batch may expand to; 0 means DefaultDecompressLimit.
	DecompressLimit int
}

// A Decoder reads the records of log batches of one schema, one batch after the other:
//
//	err := d.Reset(batch, from)
//	for d.Next() { use(d.Offset(), d.Row()) }
//	err = d.Err()
//
// It makes one string of each batch and cuts every STRING and BYTES value out of it, so a row costs no allocation; a
// value that is kept keeps its batch's string alive (strings.Clone parts them). A Decoder is for one goroutine.
type Decoder struct {
	schema row.Schema
	format Format
	limit  int64
	inflater

	batch   Batch
	changes string // one byte a record of an ARROW batch that is not append-only
	columns []column
	body    string        // ARROW: what the columns' positions count in
	records sticky.Reader // INDEXED: what is unread
	next    int           // index in the batch of the record that Next will deliver
	change  Change
	row     []row.Value
	err     error
}

// NewDecoder returns a decoder for batches with the given schema. The caller picks the decoder by Batch.SchemaID: a
// batch keeps the schema it was written with. A nil options means all defaults. The schema is kept and must not change.
func NewDecoder(schema row.Schema, format Format, options *DecoderOptions) (*Decoder, error) {
	if err := schema.Validate(); err != nil {
		return nil, err
	}
	if format != Arrow && format != Indexed {
		return nil, fmt.Errorf("cannot read log format %s", format)
	}
	d := &Decoder{schema: schema, format: format, limit: DefaultDecompressLimit, row: make([]row.Value, len(schema))}
	if options != nil && options.DecompressLimit > 0 {
		d.limit = int64(options.DecompressLimit)
	}
	if format == Arrow {
		for _, c := range schema {
			d.columns = append(d.columns, column{kind: c.Kind, width: c.Kind.Width()})
		}
	}
	return d, nil
}

// Reset starts on a batch and passes over its records below offset from. It copies what it needs: the batch's bytes are
// the caller's again when it returns. The error is a *CorruptError, *UnsupportedError or *LimitError, and then also what
// Err returns.
func (d *Decoder) Reset(b Batch, from int64) error {
	d.batch, d.next, d.change, d.err = b, 0, Append, nil
	d.changes, d.body, d.records = "", "", sticky.Reader{}
	switch {
	case b.Count == 0:
		d.finish(len(b.body), "body of an empty batch")
	case d.format == Arrow:
		d.resetArrow()
	default:
		d.records = sticky.New(string(b.body))
	}
	if d.err == nil && from > b.BaseOffset {
		d.skip(from - b.BaseOffset)
	}
	return d.err
}

// skip passes over the first n records, without reading them where the format allows.
func (d *Decoder) skip(n int64) {
	if n >= int64(d.batch.Count) {
		d.next = int(d.batch.Count)
		return
	}
	if d.format == Arrow {
		d.next = int(n)
		return
	}
	for range n {
		d.records.Take(int(int32(d.records.Uint32())))
		d.next++
	}
}

// Next moves to the next record. It returns false at the end of the batch or at an error, which Err tells.
func (d *Decoder) Next() bool {
	if d.err != nil || d.next >= int(d.batch.Count) {
		return false
	}
	if d.format == Arrow {
		d.nextArrow()
	} else {
		d.nextIndexed()
	}
	d.next++
	return d.err == nil
}

// Offset is the log offset of the current record.
func (d *Decoder) Offset() int64 { return d.batch.BaseOffset + int64(d.next) - 1 }

// Change is what the current record does.
func (d *Decoder) Change() Change { return d.change }

// Row is the current record's values in column order. The slice is overwritten by the next call of Next; its values stay
// good.
func (d *Decoder) Row() []row.Value { return d.row }

// Err is the error that ended the batch early, or nil.
func (d *Decoder) Err() error { return d.err }

func (d *Decoder) nextIndexed() {
	record := sticky.New(d.records.Take(int(int32(d.records.Uint32()))))
	d.change = Change(record.Uint8())
	err := errors.Join(d.records.Err(), record.Err())
	if err == nil && d.change > Delete {
		err = fmt.Errorf("change %d", d.change)
	}
	if err == nil {
		err = d.schema.DecodeIndexed(d.row, record.Take(record.Len()))
	}
	if err != nil {
		d.corrupt(fmt.Sprintf("record %d", d.next), err)
		return
	}
	if d.next == int(d.batch.Count)-1 {
		d.finish(d.records.Len(), "body behind the last record")
	}
}

func (d *Decoder) nextArrow() {
	if d.changes != "" {
		d.change = Change(d.changes[d.next])
	}
	for i := range d.columns {
		if !d.columns[i].value(d.body, d.next, &d.row[i]) {
			d.corrupt(fmt.Sprintf("record %d, column %s: text outside its buffer", d.next, d.schema[i].Name), nil)
			return
		}
	}
}

// finish refuses bytes that nobody accounts for: they would mean that count and body do not belong together.
func (d *Decoder) finish(left int, what string) {
	if left > 0 {
		d.corrupt(fmt.Sprintf("%s: %d bytes too many", what, left), nil)
	}
}

func (d *Decoder) corrupt(reason string, err error) {
	d.err = &CorruptError{Offset: d.batch.BaseOffset, Reason: reason, Err: err}
}
