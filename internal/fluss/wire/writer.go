package wire

import "encoding/binary"

// The wire types of protobuf. Groups (3 and 4) were never used by Fluss and are refused.
const (
	typeVarint  = 0
	typeFixed64 = 1
	typeBytes   = 2
	typeFixed32 = 5
)

// The Append functions write one field each, also when its value is zero: the messages are proto2, and a Fluss server does not
// answer a request at all in which a required field is missing.

// AppendInt64 appends an int64 field. A negative value takes ten bytes.
func AppendInt64(b []byte, field int, v int64) []byte {
	b = appendTag(b, field, typeVarint)
	return binary.AppendUvarint(b, uint64(v))
}

// AppendInt32 appends an int32 field. It is sign-extended first, so that a negative value takes ten bytes, as protobuf wants it.
func AppendInt32(b []byte, field int, v int32) []byte { return AppendInt64(b, field, int64(v)) }

// AppendBool appends a bool field.
func AppendBool(b []byte, field int, v bool) []byte {
	if v {
		return AppendInt64(b, field, 1)
	}
	return AppendInt64(b, field, 0)
}

// AppendBytes appends a bytes field.
func AppendBytes(b []byte, field int, v []byte) []byte {
	return append(AppendBytesPrefix(b, field, len(v)), v...)
}

// AppendBytesPrefix appends what stands before the content of a bytes or message field of n bytes.
func AppendBytesPrefix(b []byte, field, n int) []byte {
	b = appendTag(b, field, typeBytes)
	return binary.AppendUvarint(b, uint64(n))
}

// AppendString appends a string field.
func AppendString(b []byte, field int, v string) []byte {
	return append(AppendBytesPrefix(b, field, len(v)), v...)
}

// AppendInt32s appends a packed field, nothing when v is empty.
func AppendInt32s(b []byte, field int, v []int32) []byte {
	if len(v) == 0 {
		return b
	}
	b, at := Begin(b, field)
	for _, x := range v {
		b = binary.AppendUvarint(b, uint64(int64(x)))
	}
	return End(b, at)
}

// Begin starts a nested message; what is appended until [End] is its content.
func Begin(b []byte, field int) (out []byte, at int) {
	b = appendTag(b, field, typeBytes)
	return append(b, 0), len(b) + 1
}

// End writes the length of the nested message that Begin started at, moving the content where the length needs more than one byte.
func End(b []byte, at int) []byte {
	n := len(b) - at
	if n < 0x80 {
		b[at-1] = byte(n)
		return b
	}
	var length [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(length[:], uint64(n))
	b = append(b, length[:size-1]...)
	copy(b[at-1+size:], b[at:at+n])
	copy(b[at-1:], length[:size])
	return b
}

// UvarintLen is the number of bytes that v takes as a varint.
func UvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

func appendTag(b []byte, field, typ int) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(typ))
}
