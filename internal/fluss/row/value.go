package row

import (
	"fmt"
	"math"
	"strconv"
)

// A Kind is a column type of Fluss, without its length or precision.
type Kind uint8

// The kinds this module reads and writes. NULL is the kind of the null value only; no column has it.
const (
	NULL     Kind = 0
	BOOLEAN  Kind = 1
	TINYINT  Kind = 2
	SMALLINT Kind = 3
	INT      Kind = 4
	BIGINT   Kind = 5
	FLOAT    Kind = 6
	DOUBLE   Kind = 7
	STRING   Kind = 8
	BYTES    Kind = 9
)

var kindNames = [...]string{"NULL", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BYTES"}

// String is the name in SQL.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Width is the number of bytes of a fixed-length value in an INDEXED row, 0 for STRING and BYTES.
func (k Kind) Width() int {
	switch k {
	case BOOLEAN, TINYINT:
		return 1
	case SMALLINT:
		return 2
	case INT, FLOAT:
		return 4
	case BIGINT, DOUBLE:
		return 8
	}
	return 0
}

// Variable reports whether values of the kind have a length of their own.
func (k Kind) Variable() bool { return k == STRING || k == BYTES }

// A Value is one field of a row. It holds no interface and points to at most one string, so a slice of values is a row
// that can be filled again and again without allocation. The zero Value is NULL.
type Value struct {
	text string
	bits uint64
	kind Kind
}

// String makes a STRING value; it should be valid UTF-8, which is not checked here.
func String(s string) Value { return Value{kind: STRING, text: s} }

// Bytes makes a BYTES value whose bytes are those of s.
func Bytes(s string) Value { return Value{kind: BYTES, text: s} }

// Int makes an INT value.
func Int(n int32) Value { return Value{kind: INT, bits: uint64(int64(n))} }

// Bigint makes a BIGINT value.
func Bigint(n int64) Value { return Value{kind: BIGINT, bits: uint64(n)} }

// Smallint makes a SMALLINT value.
func Smallint(n int16) Value { return Value{kind: SMALLINT, bits: uint64(int64(n))} }

// Tinyint makes a TINYINT value.
func Tinyint(n int8) Value { return Value{kind: TINYINT, bits: uint64(int64(n))} }

// Boolean makes a BOOLEAN value.
func Boolean(b bool) Value {
	if b {
		return Value{kind: BOOLEAN, bits: 1}
	}
	return Value{kind: BOOLEAN}
}

// Float makes a FLOAT value.
func Float(f float32) Value { return Value{kind: FLOAT, bits: uint64(math.Float32bits(f))} }

// Double makes a DOUBLE value.
func Double(f float64) Value { return Value{kind: DOUBLE, bits: math.Float64bits(f)} }

// FromBits makes a value of a fixed-length kind from its little-endian bits, of which only the kind's width counts.
func FromBits(k Kind, bits uint64) Value {
	switch k {
	case BOOLEAN:
		return Boolean(bits&0xff != 0)
	case TINYINT:
		return Tinyint(int8(bits))
	case SMALLINT:
		return Smallint(int16(bits))
	case INT:
		return Int(int32(bits))
	case FLOAT:
		bits = uint64(uint32(bits))
	}
	return Value{kind: k, bits: bits}
}

// Kind is the type of the value, NULL for a null.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether the field is NULL.
func (v Value) IsNull() bool { return v.kind == NULL }

// Text is the content of a STRING or BYTES value, else "".
func (v Value) Text() string { return v.text }

// Int64 is the number of a TINYINT, SMALLINT, INT or BIGINT value, 0 or 1 of a BOOLEAN, and 0 of NULL.
func (v Value) Int64() int64 { return int64(v.bits) }

// Float64 is the number of a FLOAT or DOUBLE value.
func (v Value) Float64() float64 {
	if v.kind == FLOAT {
		return float64(math.Float32frombits(uint32(v.bits)))
	}
	return math.Float64frombits(v.bits)
}

// Bits is a fixed-length value as its little-endian bits, sign-extended for the integers.
func (v Value) Bits() uint64 { return v.bits }

// GoString shows kind and content, for test failures.
func (v Value) GoString() string {
	switch {
	case v.kind == NULL:
		return "NULL"
	case v.kind.Variable():
		return fmt.Sprintf("%s %q", v.kind, v.text)
	case v.kind == FLOAT || v.kind == DOUBLE:
		return fmt.Sprintf("%s %v", v.kind, v.Float64())
	}
	return fmt.Sprintf("%s %d", v.kind, v.Int64())
}
