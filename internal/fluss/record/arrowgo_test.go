package record

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/intentlog/intentlog/internal/fluss/row"
)

// arrow-go as the oracle: it reads what we write and we read what it writes. It wants a schema message in front, which
// Fluss leaves out.

func arrowSchema(s row.Schema) *arrow.Schema {
	types := map[row.Kind]arrow.DataType{
		row.BOOLEAN: arrow.FixedWidthTypes.Boolean, row.TINYINT: arrow.PrimitiveTypes.Int8,
		row.SMALLINT: arrow.PrimitiveTypes.Int16, row.INT: arrow.PrimitiveTypes.Int32, row.BIGINT: arrow.PrimitiveTypes.Int64,
		row.FLOAT: arrow.PrimitiveTypes.Float32, row.DOUBLE: arrow.PrimitiveTypes.Float64,
		row.STRING: arrow.BinaryTypes.String, row.BYTES: arrow.BinaryTypes.Binary,
	}
	fields := make([]arrow.Field, len(s))
	for i, c := range s {
		fields[i] = arrow.Field{Name: c.Name, Type: types[c.Kind], Nullable: c.Nullable}
	}
	return arrow.NewSchema(fields, nil)
}

// arrowPeer encodes and decodes record batch messages with arrow-go.
type arrowPeer struct {
	rows   row.Schema
	schema *arrow.Schema
	build  *array.RecordBuilder
	head   []byte // the schema message
	codec  []ipc.Option
}

func newArrowPeer(t require.TestingT, s row.Schema, codec ...ipc.Option) *arrowPeer {
	p := &arrowPeer{rows: s, schema: arrowSchema(s), codec: codec}
	p.build = array.NewRecordBuilder(memory.DefaultAllocator, p.schema)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(p.schema))
	require.NoError(t, w.Close())
	p.head = b.Bytes()[:b.Len()-8] // without the end mark
	return p
}

func (p *arrowPeer) record(rows []row.Value) arrow.RecordBatch {
	columns := len(p.rows)
	for at := 0; at < len(rows); at += columns {
		for c, v := range rows[at : at+columns] {
			switch b := p.build.Field(c).(type) {
			case *array.StringBuilder:
				if v.IsNull() {
					b.AppendNull()
				} else {
					b.Append(v.Text())
				}
			case *array.BinaryBuilder:
				if v.IsNull() {
					b.AppendNull()
				} else {
					b.Append([]byte(v.Text()))
				}
			default:
				appendNumber(b, v)
			}
		}
	}
	return p.build.NewRecordBatch()
}

func appendNumber(b array.Builder, v row.Value) {
	if v.IsNull() {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.Int64() == 1)
	case *array.Int8Builder:
		b.Append(int8(v.Int64()))
	case *array.Int16Builder:
		b.Append(int16(v.Int64()))
	case *array.Int32Builder:
		b.Append(int32(v.Int64()))
	case *array.Int64Builder:
		b.Append(v.Int64())
	case *array.Float32Builder:
		b.Append(float32(v.Float64()))
	case *array.Float64Builder:
		b.Append(v.Float64())
	}
}

// message encodes rows as the lone record batch message that Fluss wants.
func (p *arrowPeer) message(rows []row.Value) ([]byte, error) {
	record := p.record(rows)
	defer record.Release()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, append([]ipc.Option{ipc.WithSchema(p.schema)}, p.codec...)...)
	if err := w.Write(record); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes()[len(p.head) : b.Len()-8], nil
}

func (p *arrowPeer) batch(t require.TestingT, rows []row.Value) []byte {
	message, err := p.message(rows)
	require.NoError(t, err)
	b := appendHeader(nil, goldenMeta, len(rows)/len(p.rows))
	b = append(b, message...)
	seal(b)
	return b
}

// read decodes a record batch message; the column arrays are only touched, not turned into values, when sink is nil.
func (p *arrowPeer) read(message []byte, sink func(arrow.RecordBatch)) error {
	r, err := ipc.NewReader(bytes.NewReader(append(p.head[:len(p.head):len(p.head)], message...)))
	if err != nil {
		return err
	}
	defer r.Release()
	if !r.Next() {
		return fmt.Errorf("no record batch: %w", r.Err())
	}
	sink(r.RecordBatch())
	return nil
}

func values(rec arrow.RecordBatch) []row.Value {
	out := make([]row.Value, rec.NumRows()*rec.NumCols())
	for c, column := range rec.Columns() {
		for i := range int(rec.NumRows()) {
			v := &out[i*int(rec.NumCols())+c]
			if column.IsNull(i) {
				continue
			}
			switch a := column.(type) {
			case *array.String:
				*v = row.String(a.Value(i))
			case *array.Binary:
				*v = row.Bytes(string(a.Value(i)))
			case *array.Boolean:
				*v = row.Boolean(a.Value(i))
			case *array.Int8:
				*v = row.Tinyint(a.Value(i))
			case *array.Int16:
				*v = row.Smallint(a.Value(i))
			case *array.Int32:
				*v = row.Int(a.Value(i))
			case *array.Int64:
				*v = row.Bigint(a.Value(i))
			case *array.Float32:
				*v = row.Float(a.Value(i))
			case *array.Float64:
				*v = row.Double(a.Value(i))
			}
		}
	}
	return out
}

func TestArrowGoReadsWhatWeWriteAndWeReadWhatItWrites(t *testing.T) {
	codecs := map[string][]ipc.Option{"none": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}}
	rapid.Check(t, func(t *rapid.T) {
		var schema row.Schema
		for i := range rapid.IntRange(1, 12).Draw(t, "columns") {
			schema = append(schema, row.Column{
				Name: fmt.Sprint("c", i), Kind: row.Kind(rapid.IntRange(1, 9).Draw(t, "kind")), Nullable: rapid.Bool().Draw(t, "nullable"),
			})
		}
		var rows []row.Value
		for range rapid.IntRange(1, 20).Draw(t, "rows") {
			for _, c := range schema {
				rows = append(rows, drawValue(t, c))
			}
		}
		for name, codec := range codecs {
			peer := newArrowPeer(t, schema, codec...)
			dec, err := NewDecoder(schema, Arrow, nil)
			require.NoError(t, err)
			got, _ := readAll(t, dec, peer.batch(t, rows))
			require.Equal(t, rows, got, name)
		}
		enc, err := NewEncoder(schema, Arrow)
		require.NoError(t, err)
		batch, err := enc.Append([]byte("before"), goldenMeta, rows)
		require.NoError(t, err)
		require.NoError(t, newArrowPeer(t, schema).read(batch[len("before")+headerSize:], func(rec arrow.RecordBatch) {
			require.Equal(t, rows, values(rec))
		}))
	})
}

func drawValue(t *rapid.T, c row.Column) row.Value {
	if c.Nullable && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return row.Value{}
	}
	switch c.Kind {
	case row.STRING:
		return row.String(rapid.String().Draw(t, "text"))
	case row.BYTES:
		return row.Bytes(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
	case row.FLOAT:
		return row.Float(rapid.Float32().Draw(t, "float"))
	case row.DOUBLE:
		return row.Double(rapid.Float64().Draw(t, "double"))
	}
	return row.FromBits(c.Kind, rapid.Uint64().Draw(t, "bits"))
}

func TestArrowGoReadsTheNineColumns(t *testing.T) {
	enc, err := NewEncoder(nine, Arrow)
	require.NoError(t, err)
	rows := sampleRows(64, true)
	batch, err := enc.Append(nil, goldenMeta, rows)
	require.NoError(t, err)
	require.NoError(t, newArrowPeer(t, nine).read(batch[headerSize:], func(rec arrow.RecordBatch) {
		require.Equal(t, rows, values(rec))
	}))
}
