package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMessage is wrapped by every error of a [Reader]: the bytes are not the message that they should be.
var ErrMessage = errors.New("malformed message")

// Reader takes the fields of one protobuf message apart. Its use:
//
//	r := wire.NewReader(b)
//	for f := r.Next(); f != 0; f = r.Next() {
//		switch f {
//		case 1:
//			m.ID = r.Int64()
//		}
//	}
//	return r.Done(1) // field 1 is required
//
// The first error sticks: from then on Next returns 0 and the values are zero. Fields that nobody takes are skipped.
type Reader struct {
	b     []byte
	err   error
	seen  uint64 // fields below 64 that were met
	field int
	typ   int
	open  bool // the value of field has not been consumed
}

// NewReader returns a reader over b, which must stay unchanged while values taken with Bytes are in use.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Next moves to the next field and returns its number, 0 at the end of the message or after an error.
func (r *Reader) Next() int {
	if r.open {
		r.skip()
	}
	if r.err != nil || len(r.b) == 0 {
		return 0
	}
	tag := r.uvarint()
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		r.fail("field number %d", tag>>3)
		return 0
	}
	r.field, r.typ, r.open = int(tag>>3), int(tag&7), true
	if r.field < 64 {
		r.seen |= 1 << r.field
	}
	return r.field
}

// Int64 takes the value of an int64 field.
func (r *Reader) Int64() int64 {
	if !r.take(typeVarint) {
		return 0
	}
	return int64(r.uvarint())
}

// Int32 takes the value of an int32 field, cut to its low 32 bits as protobuf prescribes.
func (r *Reader) Int32() int32 { return int32(r.Int64()) }

// Bool takes the value of a bool field.
func (r *Reader) Bool() bool { return r.Int64() != 0 }

// Bytes takes the value of a bytes field. It aliases the bytes that are read.
func (r *Reader) Bytes() []byte {
	if !r.take(typeBytes) {
		return nil
	}
	return r.bytes()
}

// String takes the value of a string field as a copy.
func (r *Reader) String() string { return string(r.Bytes()) }

// Message takes a nested message. It must be read with a decoder of its own, whose error goes to [Reader.Check].
func (r *Reader) Message() []byte { return r.Bytes() }

// Int32s appends the values of a repeated int32 field, packed or not, to v.
func (r *Reader) Int32s(v []int32) []int32 {
	if r.open && r.typ == typeVarint {
		return append(v, r.Int32())
	}
	in := Reader{b: r.Bytes()}
	for len(in.b) > 0 && in.err == nil {
		v = append(v, int32(in.uvarint()))
	}
	r.Check(in.err)
	return v
}

// Check makes the error of a nested decoder the reader's own, unless it has one already.
func (r *Reader) Check(err error) {
	if err != nil && r.err == nil {
		r.err, r.open = err, false
	}
}

// Done returns the first error, or says which of the required fields was missing. Required fields must be below 64.
func (r *Reader) Done(required ...int) error {
	if r.err != nil {
		return r.err
	}
	for _, f := range required {
		if r.seen&(1<<f) == 0 {
			return fmt.Errorf("%w: required field %d is missing", ErrMessage, f)
		}
	}
	return nil
}

func (r *Reader) take(typ int) bool {
	if r.err != nil || !r.open {
		return false
	}
	r.open = false
	if r.typ != typ {
		r.fail("field %d has wire type %d, want %d", r.field, r.typ, typ)
		return false
	}
	return true
}

func (r *Reader) skip() {
	r.open = false
	switch r.typ {
	case typeVarint:
		r.uvarint()
	case typeFixed64:
		r.advance(8)
	case typeBytes:
		r.bytes()
	case typeFixed32:
		r.advance(4)
	default:
		r.fail("field %d has wire type %d", r.field, r.typ)
	}
}

func (r *Reader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("bad varint")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *Reader) bytes() []byte {
	n := r.uvarint()
	if r.err != nil {
		return nil
	}
	if n > uint64(len(r.b)) {
		r.fail("field %d wants %d bytes of %d", r.field, n, len(r.b))
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *Reader) advance(n int) {
	if n > len(r.b) {
		r.fail("field %d wants %d bytes of %d", r.field, n, len(r.b))
		return
	}
	r.b = r.b[n:]
}

func (r *Reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMessage}, args...)...)
	}
	r.open = false
}
