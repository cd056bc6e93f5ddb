package record

import (
	"encoding/binary"
	"errors"
)

// The few things of FlatBuffers that an Arrow RecordBatch message needs, read without trust: every position is compared
// with the buffer before it is followed. Offsets only ever lead forward to a table or a vector that we ask for by name,
// so there is no recursion to bound.

var errFlatbuffer = errors.New("metadata points outside itself")

const (
	messageRecordBatch = 3

	codecNone = -1
	codecLZ4  = 0
	codecZSTD = 1
)

// table is a FlatBuffers table; the zero table has no fields.
type table struct {
	buf    []byte
	at     int // of the table
	vtable []byte
}

// arrowMessage is what the metadata of a RecordBatch message says. buffers and nodes are vectors of pairs of int64.
type arrowMessage struct {
	bodyLength     int64
	rows           int64
	nodes, buffers []byte
	codec          int
}

// parseMessage reads the metadata of an Arrow IPC message, its size prefix already removed. what names a message that is
// sound but not a plain RecordBatch.
func parseMessage(metadata []byte) (m arrowMessage, what string, err error) {
	root, ok := tableAt(metadata, 0)
	if !ok {
		return m, "", errFlatbuffer
	}
	if kind := root.uint8(1, 0); kind != messageRecordBatch {
		return m, "ARROW message that is not a record batch", nil
	}
	batch, ok := root.table(2)
	if !ok {
		return m, "", errFlatbuffer
	}
	m.bodyLength = root.int64(3)
	m.rows = batch.int64(0)
	var okNodes, okBuffers bool
	m.nodes, okNodes = batch.pairs(1)
	m.buffers, okBuffers = batch.pairs(2)
	if !okNodes || !okBuffers {
		return m, "", errFlatbuffer
	}
	m.codec = codecNone
	if batch.has(3) {
		compression, ok := batch.table(3)
		if !ok {
			return m, "", errFlatbuffer
		}
		m.codec = int(compression.uint8(0, codecLZ4))
		if m.codec > codecZSTD {
			return m, "ARROW compression", nil
		}
		if compression.uint8(1, 0) != 0 {
			return m, "ARROW compression method", nil
		}
	}
	return m, "", nil
}

// tableAt follows the offset stored at position at of buf.
func tableAt(buf []byte, at int) (table, bool) {
	at, ok := follow(buf, at)
	if !ok {
		return table{}, false
	}
	vtable := at - int(int32(binary.LittleEndian.Uint32(buf[at:])))
	if vtable < 0 || vtable > len(buf)-4 {
		return table{}, false
	}
	size := int(buf[vtable]) | int(buf[vtable+1])<<8
	if size < 4 || size > len(buf)-vtable {
		return table{}, false
	}
	return table{buf, at, buf[vtable : vtable+size]}, true
}

// follow returns the position that the offset at position at leads to; at least four bytes are there.
func follow(buf []byte, at int) (int, bool) {
	if at < 0 || at > len(buf)-4 {
		return 0, false
	}
	offset := int(binary.LittleEndian.Uint32(buf[at:]))
	if offset > len(buf)-4-at {
		return 0, false
	}
	return at + offset, true
}

// field is the position of a field with size bytes, or false if the table does not have it or it does not fit.
func (t table) field(i, size int) (int, bool) {
	entry := 4 + 2*i
	if entry+2 > len(t.vtable) {
		return 0, false
	}
	offset := int(t.vtable[entry]) | int(t.vtable[entry+1])<<8
	if offset == 0 || offset > len(t.buf)-t.at-size {
		return 0, false
	}
	return t.at + offset, true
}

// has reports whether the table names field i, be it sound or not.
func (t table) has(i int) bool {
	entry := 4 + 2*i
	return entry+2 <= len(t.vtable) && t.vtable[entry]|t.vtable[entry+1] != 0
}

func (t table) uint8(i int, absent uint8) uint8 {
	if at, ok := t.field(i, 1); ok {
		return t.buf[at]
	}
	return absent
}

func (t table) int64(i int) int64 {
	if at, ok := t.field(i, 8); ok {
		return int64(binary.LittleEndian.Uint64(t.buf[at:]))
	}
	return 0
}

func (t table) table(i int) (table, bool) {
	at, ok := t.field(i, 4)
	if !ok {
		return table{}, false
	}
	return tableAt(t.buf, at)
}

// pairs returns the bytes of a vector of structs of 16 bytes; an absent vector is empty.
func (t table) pairs(i int) ([]byte, bool) {
	if !t.has(i) {
		return nil, true
	}
	at, ok := t.field(i, 4)
	if !ok {
		return nil, false
	}
	at, ok = follow(t.buf, at)
	if !ok {
		return nil, false
	}
	n, rest := int64(binary.LittleEndian.Uint32(t.buf[at:])), t.buf[at+4:]
	if n > int64(len(rest)/16) {
		return nil, false
	}
	return rest[:n*16], true
}
