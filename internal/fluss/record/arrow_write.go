package record

import (
	"encoding/binary"

	"github.com/intentlog/intentlog/internal/fluss/row"
)

// The ARROW body of a batch is one encapsulated Arrow IPC message, a RecordBatch, with neither schema before it nor end
// mark behind it: the table knows the schema. Its FlatBuffers metadata has a shape that depends on the columns only, so
// it is laid out once per schema and each batch patches the numbers. The layout is the one Java's builder makes:
//
//	 0  -1, size of what follows up to the body
//	 8  root offset, padding, vtable of Message
//	28  Message: vtable, body length int64, version V5, type RecordBatch, header
//	50  vtable of RecordBatch
//	60  RecordBatch: vtable, buffers, nodes, row count int64, padding
//	84  buffer count, then (offset int64, length int64) for each: validity, data; or validity, offsets, data
//	 .  padding, node count, then (row count int64, null count int64) for each column
//
// Buffers start at multiples of eight in the body. Arrow asks for a validity bitmap only where there are nulls; Java
// always writes it, and so do we, which makes the bytes equal.
const (
	metadataAt   = 8  // behind continuation mark and size
	bodyLengthAt = 32 // of the message
	rowCountAt   = 72
	buffersAt    = 88
)

type arrowTemplate struct {
	message []byte
	nodesAt int // position of the first node in message
}

func newArrowTemplate(schema row.Schema) arrowTemplate {
	buffers := 0
	for _, c := range schema {
		buffers += buffersOf(c.Kind)
	}
	nodesAt := buffersAt + 16*buffers + 8
	m := make([]byte, nodesAt+16*len(schema))
	le := binary.LittleEndian
	u16 := func(at int, values ...uint16) {
		for i, v := range values {
			le.PutUint16(m[at+2*i:], v)
		}
	}
	u32 := func(at, v int) { le.PutUint32(m[at:], uint32(v)) }

	le.PutUint32(m, 0xffffffff)
	u32(4, len(m)-metadataAt)
	u32(8, 20)                     // root: the Message, at 28
	u16(16, 12, 22, 14, 21, 16, 4) // vtable: sizes, then version, type, header, body length
	u32(28, 12)                    // back to the vtable
	u16(42, 4)                     // version V5
	u32(44, 16)                    // header: the RecordBatch, at 60
	m[49] = messageRecordBatch     // type
	u16(50, 10, 24, 12, 8, 4)      // vtable: sizes, then row count, nodes, buffers
	u32(60, 10)                    // back to the vtable
	u32(64, 20)                    // buffers, at 84
	u32(68, nodesAt-4-68)          // nodes
	u32(buffersAt-4, buffers)      // vector length
	u32(nodesAt-4, len(schema))    // vector length
	return arrowTemplate{m, nodesAt}
}

// buffersOf is the number of Arrow buffers of a column.
func buffersOf(k row.Kind) int {
	if k.Variable() {
		return 3
	}
	return 2
}

// append appends the message for count rows, which the caller has checked against the schema and the size limit.
func (t *arrowTemplate) append(dst []byte, schema row.Schema, rows []row.Value, count int) []byte {
	start := len(dst)
	dst = append(dst, t.message...)
	w := arrowBody{dst: dst, start: len(dst), buffer: start + buffersAt}
	columns := len(schema)
	for c := range schema {
		nulls := w.validity(rows[c:], columns, count)
		switch k := schema[c].Kind; {
		case k.Variable():
			w.texts(rows[c:], columns)
		case k == row.BOOLEAN:
			w.booleans(rows[c:], columns, count)
		default:
			w.fixed(rows[c:], columns, k.Width())
		}
		node := w.dst[start+t.nodesAt+16*c:]
		binary.LittleEndian.PutUint64(node, uint64(count))
		binary.LittleEndian.PutUint64(node[8:], uint64(nulls))
	}
	message := w.dst[start:]
	binary.LittleEndian.PutUint64(message[bodyLengthAt:], uint64(len(w.dst)-w.start))
	binary.LittleEndian.PutUint64(message[rowCountAt:], uint64(count))
	return w.dst
}

// arrowBody appends buffers and notes each in the metadata. The cells of a column are rows[0], rows[step], ...
type arrowBody struct {
	dst    []byte
	start  int // of the body
	buffer int // position of the next buffer's entry in the metadata
}

// note ends the buffer that began at from: its place and true length go into the metadata, padding behind it.
func (w *arrowBody) note(from int) {
	entry := w.dst[w.buffer:]
	binary.LittleEndian.PutUint64(entry, uint64(from-w.start))
	binary.LittleEndian.PutUint64(entry[8:], uint64(len(w.dst)-from))
	w.buffer += 16
	var zeros [8]byte
	w.dst = append(w.dst, zeros[:-(len(w.dst)-w.start)&7]...)
}

func (w *arrowBody) validity(rows []row.Value, step, count int) (nulls int) {
	from := len(w.dst)
	for range (count + 7) / 8 {
		w.dst = append(w.dst, 0)
	}
	bitmap := w.dst[from:]
	for i, at := 0, 0; at < len(rows); i, at = i+1, at+step {
		if rows[at].IsNull() {
			nulls++
		} else {
			bitmap[i>>3] |= 1 << (i & 7)
		}
	}
	w.note(from)
	return nulls
}

func (w *arrowBody) texts(rows []row.Value, step int) {
	from := len(w.dst)
	end := uint32(0)
	w.dst = binary.LittleEndian.AppendUint32(w.dst, 0)
	for at := 0; at < len(rows); at += step {
		end += uint32(len(rows[at].Text()))
		w.dst = binary.LittleEndian.AppendUint32(w.dst, end)
	}
	w.note(from)
	from = len(w.dst)
	for at := 0; at < len(rows); at += step {
		w.dst = append(w.dst, rows[at].Text()...)
	}
	w.note(from)
}

func (w *arrowBody) booleans(rows []row.Value, step, count int) {
	from := len(w.dst)
	for range (count + 7) / 8 {
		w.dst = append(w.dst, 0)
	}
	bitmap := w.dst[from:]
	for i, at := 0, 0; at < len(rows); i, at = i+1, at+step {
		bitmap[i>>3] |= byte(rows[at].Bits()) << (i & 7)
	}
	w.note(from)
}

// fixed writes numbers, and zero for a null.
func (w *arrowBody) fixed(rows []row.Value, step, width int) {
	from := len(w.dst)
	for at := 0; at < len(rows); at += step {
		switch bits := rows[at].Bits(); width {
		case 1:
			w.dst = append(w.dst, byte(bits))
		case 2:
			w.dst = binary.LittleEndian.AppendUint16(w.dst, uint16(bits))
		case 4:
			w.dst = binary.LittleEndian.AppendUint32(w.dst, uint32(bits))
		default:
			w.dst = binary.LittleEndian.AppendUint64(w.dst, bits)
		}
	}
	w.note(from)
}
