// Package sticky reads little-endian values out of foreign bytes and cannot forget a bounds check.
//
// The first read that does not fit makes the reader bad; from then on every read gives zero, and Err tells. So a decoder
// is written straight down, as if all bytes were there, and asks once at the end.
//
// The reader works on a string: rows are cut out of one immutable copy of a batch, and every text value is then a
// substring that costs no allocation.
package sticky

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// ErrShort says that the bytes end before the value they promise, or that a varint is longer than its type.
var ErrShort = errors.New("value runs past its bytes")

// A Reader consumes a string from the front. The zero Reader is empty.
type Reader struct {
	rest string
	bad  bool
}

// New returns a reader of s.
func New(s string) Reader { return Reader{rest: s} }

// Err is nil as long as every read fitted.
func (r *Reader) Err() error {
	if r.bad {
		return ErrShort
	}
	return nil
}

// Len is the number of unread bytes.
func (r *Reader) Len() int { return len(r.rest) }

// Take returns the next n bytes. A negative n, or one beyond the end, makes the reader bad.
func (r *Reader) Take(n int) string {
	if n < 0 || n > len(r.rest) {
		r.fail()
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

// Uint8 reads one byte.
func (r *Reader) Uint8() uint8 {
	if s := r.Take(1); s != "" {
		return s[0]
	}
	return 0
}

// Uint16 reads two bytes.
func (r *Reader) Uint16() uint16 {
	if s := r.Take(2); s != "" {
		return uint16(s[0]) | uint16(s[1])<<8
	}
	return 0
}

// Uint32 reads four bytes.
func (r *Reader) Uint32() uint32 {
	if s := r.Take(4); s != "" {
		return Uint32(s)
	}
	return 0
}

// Uint64 reads eight bytes.
func (r *Reader) Uint64() uint64 {
	if s := r.Take(8); s != "" {
		return Uint64(s)
	}
	return 0
}

// Uvarint reads an unsigned LEB128 number of at most size bits.
func (r *Reader) Uvarint(size int) uint64 {
	var v uint64
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		c := r.rest[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break // beyond 64 bits
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if bits.Len64(v) > size {
				break
			}
			r.rest = r.rest[i+1:]
			return v
		}
	}
	r.fail()
	return 0
}

func (r *Reader) fail() { r.rest, r.bad = "", true }

// Uint32 is the number in the first four bytes of s, which must be there.
func Uint32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// Uint64 is the number in the first eight bytes of s, which must be there.
func Uint64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
