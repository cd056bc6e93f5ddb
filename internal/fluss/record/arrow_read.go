package record

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/intentlog/intentlog/internal/fluss/row"
	"github.com/intentlog/intentlog/internal/fluss/sticky"
)

// column is a column of an ARROW batch whose buffers were found long enough for all rows. Offsets of texts are looked at
// one by one as they are used. Buffers are kept as positions in the body, not as strings: a fetch is many small batches,
// and filling nine columns with pointers for each would keep the garbage collector's write barrier busy.
type column struct {
	kind     row.Kind
	nullable bool // there are nulls, and validity says where
	width    int  // bytes of a value; 0 for texts and booleans
	validity int  // one bit a row, 0 for NULL
	offsets  int  // texts: int32 for each row and one more
	data     int
	size     int // of data
}

// value puts the value of row i into v. It is false when a text lies outside its buffer.
func (c *column) value(body string, i int, v *row.Value) bool {
	if c.nullable && body[c.validity+i>>3]>>(i&7)&1 == 0 {
		*v = row.Value{}
		return true
	}
	switch c.kind {
	case row.STRING, row.BYTES:
		offsets := body[c.offsets+4*i:]
		from, to := sticky.Uint32(offsets), sticky.Uint32(offsets[4:])
		if from > to || uint64(to) > uint64(c.size) {
			return false
		}
		text := body[c.data+int(from) : c.data+int(to)]
		if c.kind == row.STRING {
			*v = row.String(text)
		} else {
			*v = row.Bytes(text)
		}
	case row.INT:
		*v = row.Int(int32(sticky.Uint32(body[c.data+4*i:])))
	case row.BIGINT:
		*v = row.Bigint(int64(sticky.Uint64(body[c.data+8*i:])))
	case row.BOOLEAN:
		*v = row.Boolean(body[c.data+i>>3]>>(i&7)&1 == 1)
	default:
		r := sticky.New(body[c.data+c.width*i:])
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
	buffers := bufferList{list, len(body)}
	for i := range d.schema {
		node := m.nodes[16*i:]
		rows, nulls := binary.LittleEndian.Uint64(node), binary.LittleEndian.Uint64(node[8:])
		if rows != uint64(d.batch.Count) {
			d.corrupt(fmt.Sprintf("ARROW column %s: %d values in a batch of %d", d.schema[i].Name, int64(rows), d.batch.Count), nil)
			return
		}
		if reason := buffers.place(&d.columns[i], int(rows), nulls != 0); reason != "" {
			d.corrupt(fmt.Sprintf("ARROW column %s: %s", d.schema[i].Name, reason), nil)
			return
		}
	}
	d.body = string(body)
}

// bufferList hands out the buffers of an ARROW body in order: offset and length as the metadata has them.
type bufferList struct {
	entries []byte // pairs of int64
	size    int    // of the body
}

// next returns where the next buffer begins and how long it is, or false if it does not lie in the body.
func (l *bufferList) next() (from, size int, ok bool) {
	from, to, ok := bufferBounds(l.entries, l.size)
	l.entries = l.entries[16:]
	return from, to - from, ok
}

// bufferBounds reads the first entry of a buffer list; both bounds are 0 if the buffer does not lie in size bytes.
func bufferBounds(entries []byte, size int) (from, to int, ok bool) {
	offset, length := binary.LittleEndian.Uint64(entries), binary.LittleEndian.Uint64(entries[8:])
	if offset > uint64(size) || length > uint64(size)-offset {
		return 0, 0, false
	}
	return int(offset), int(offset + length), true
}

// place takes the buffers of column c, which has rows values. The reason is "" when each is long enough.
func (l *bufferList) place(c *column, rows int, nulls bool) (reason string) {
	bits := (rows + 7) / 8
	validity, validitySize, ok := l.next()
	if ok && nulls && validitySize < bits {
		ok, reason = false, "too few validity bits"
	}
	c.validity, c.nullable = validity, nulls
	if c.kind.Variable() {
		offsets, size, inside := l.next()
		if ok = ok && inside; ok && size/4 < rows+1 {
			ok, reason = false, "too few offsets"
		}
		c.offsets = offsets
	}
	data, size, inside := l.next()
	if ok = ok && inside; ok && !c.holds(size, rows) {
		ok, reason = false, "too few values"
	}
	c.data, c.size = data, size
	if !ok && reason == "" {
		return "buffer outside the body"
	}
	return reason
}

// holds reports whether size bytes of data are enough for rows values; of texts only the offsets can tell.
func (c *column) holds(size, rows int) bool {
	switch {
	case c.kind.Variable():
		return true
	case c.kind == row.BOOLEAN:
		return size >= (rows+7)/8
	}
	return size/c.width >= rows
}
