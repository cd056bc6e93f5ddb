package record

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/intentlog/intentlog/internal/fluss/row"
	"github.com/intentlog/intentlog/internal/fluss/sticky"
)

// column is a column of an ARROW batch whose buffers were found long enough for all rows. Offsets of texts are looked at
// one by one as they are used.
type column struct {
	kind     row.Kind
	width    int    // bytes of a value; 0 for texts and booleans
	validity string // one bit a row, 0 for NULL; "" when there is no NULL
	offsets  string // texts: int32 for each row and one more
	data     string
}

// value puts the value of row i into v. It is false when a text lies outside its buffer.
func (c *column) value(i int, v *row.Value) bool {
	if c.validity != "" && c.validity[i>>3]>>(i&7)&1 == 0 {
		*v = row.Value{}
		return true
	}
	switch c.kind {
	case row.STRING, row.BYTES:
		from, to := sticky.Uint32(c.offsets[4*i:]), sticky.Uint32(c.offsets[4*i+4:])
		if from > to || uint64(to) > uint64(len(c.data)) {
			return false
		}
		if c.kind == row.STRING {
			*v = row.String(c.data[from:to])
		} else {
			*v = row.Bytes(c.data[from:to])
		}
	case row.INT:
		*v = row.Int(int32(sticky.Uint32(c.data[4*i:])))
	case row.BIGINT:
		*v = row.Bigint(int64(sticky.Uint64(c.data[8*i:])))
	case row.BOOLEAN:
		*v = row.Boolean(c.data[i>>3]>>(i&7)&1 == 1)
	default:
		r := sticky.New(c.data[c.width*i : c.width*(i+1)])
		*v = row.TakeFixed(&r, c.kind)
	}
	return true
}

// resetArrow finds the columns in the batch's body and checks that every buffer has its rows.
func (d *Decoder) resetArrow() {
	body := d.batch.body
	count := int(d.batch.Count)
	if !d.batch.AppendOnly() {
		if len(body) < count {
			d.corrupt(fmt.Sprintf("%d changes in %d bytes", count, len(body)), nil)
			return
		}
		d.changes, body = string(body[:count]), body[count:]
		if i := strings.IndexFunc(d.changes, func(c rune) bool { return c > rune(Delete) }); i >= 0 {
			d.corrupt(fmt.Sprintf("record %d: change %d", i, d.changes[i]), nil)
			return
		}
	}
	if len(body) < metadataAt || binary.LittleEndian.Uint32(body) != 0xffffffff {
		d.corrupt("no ARROW message", nil)
		return
	}
	size := int64(int32(binary.LittleEndian.Uint32(body[4:])))
	body = body[metadataAt:]
	if size < 0 || size > int64(len(body)) {
		d.corrupt(fmt.Sprintf("ARROW metadata of %d bytes, %d are there", size, len(body)), nil)
		return
	}
	m, what, err := parseMessage(body[:size])
	body = body[size:]
	if err != nil {
		d.corrupt("ARROW metadata", err)
		return
	}
	if what != "" {
		d.err = &UnsupportedError{d.batch.BaseOffset, what}
		return
	}
	if m.rows != int64(count) {
		d.corrupt(fmt.Sprintf("%d rows in an ARROW message, %d records in the header", m.rows, count), nil)
		return
	}
	if m.bodyLength < 0 || m.bodyLength > int64(len(body)) {
		d.corrupt(fmt.Sprintf("ARROW body of %d bytes, %d are there", m.bodyLength, len(body)), nil)
		return
	}
	d.locate(m, body[:m.bodyLength])
}

// locate fills d.columns from the buffers that the metadata lists, in the order of the schema.
func (d *Decoder) locate(m arrowMessage, body []byte) {
	want := 0
	for i := range d.schema {
		want += buffersOf(d.schema[i].Kind)
	}
	if len(m.nodes) != 16*len(d.schema) || len(m.buffers) != 16*want {
		d.corrupt(fmt.Sprintf("%d ARROW columns with %d buffers, the schema has %d with %d",
			len(m.nodes)/16, len(m.buffers)/16, len(d.schema), want), nil)
		return
	}
	list := m.buffers
	if m.codec != codecNone {
		if list, body, d.err = d.inflate(m.codec, list, body, d.limit, d.batch.BaseOffset); d.err != nil {
			return
		}
	}
	buffers := bufferList{list, string(body)}
	for i := range d.schema {
		node := m.nodes[16*i:]
		rows, nulls := binary.LittleEndian.Uint64(node), binary.LittleEndian.Uint64(node[8:])
		c, reason := buffers.column(d.schema[i].Kind, int(d.batch.Count), rows, nulls)
		if reason != "" {
			d.corrupt(fmt.Sprintf("ARROW column %s: %s", d.schema[i].Name, reason), nil)
			return
		}
		d.columns[i] = c
	}
}

// bufferList hands out the buffers of an ARROW body in order: offset and length as the metadata has them.
type bufferList struct {
	entries []byte // pairs of int64
	body    string
}

// next returns the next buffer, or false if it does not lie in the body.
func (l *bufferList) next() (string, bool) {
	from, to, ok := bufferBounds(l.entries, len(l.body))
	l.entries = l.entries[16:]
	return l.body[from:to], ok
}

// bufferBounds reads the first entry of a buffer list; both bounds are 0 if the buffer does not lie in size bytes.
func bufferBounds(entries []byte, size int) (from, to uint64, ok bool) {
	offset, length := binary.LittleEndian.Uint64(entries), binary.LittleEndian.Uint64(entries[8:])
	if offset > uint64(size) || length > uint64(size)-offset {
		return 0, 0, false
	}
	return offset, offset + length, true
}

// column takes the buffers of a column of rows values. The reason is "" when each is long enough.
func (l *bufferList) column(kind row.Kind, rows int, nodeRows, nulls uint64) (c column, reason string) {
	c = column{kind: kind, width: kind.Width()}
	if nodeRows != uint64(rows) {
		return c, fmt.Sprintf("%d values in a batch of %d", int64(nodeRows), rows)
	}
	bits := (rows + 7) / 8
	validity, ok := l.next()
	if ok && kind.Variable() {
		c.offsets, ok = l.next()
	}
	data, okData := l.next()
	if !ok || !okData {
		return c, "buffer outside the body"
	}
	c.data = data
	if nulls != 0 {
		if len(validity) < bits {
			return c, "too few validity bits"
		}
		c.validity = validity
	}
	switch {
	case kind.Variable():
		if len(c.offsets)/4 < rows+1 {
			return c, "too few offsets"
		}
	case kind == row.BOOLEAN:
		if len(data) < bits {
			return c, "too few values"
		}
	case len(data)/c.width < rows:
		return c, "too few values"
	}
	return c, ""
}
