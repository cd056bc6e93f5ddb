package row

import (
	"encoding/binary"
	"fmt"

	"github.com/intentlog/intentlog/internal/fluss/sticky"
)

// A COMPACTED row is the null bits of an INDEXED row followed by the values that are not null. INT and BIGINT are the
// unsigned LEB128 varint of the two's complement, with no zig-zag, so a negative number takes all 5 or 10 bytes; STRING
// and BYTES are a varint length and the bytes; the other kinds are as in an INDEXED row.
//
// A compacted key is the values of the key columns in the same encoding, back to back, without null bits.

// AppendCompacted appends the row v in COMPACTED form. On an error, a *ValueError, dst comes back as it was.
func (s Schema) AppendCompacted(dst []byte, v []Value) ([]byte, error) {
	if err := s.Check(v); err != nil {
		return dst, err
	}
	nulls := len(dst)
	for range s.nullBytes() {
		dst = append(dst, 0)
	}
	for i := range v {
		if v[i].kind == NULL {
			dst[nulls+i>>3] |= 1 << (i & 7)
			continue
		}
		dst = appendCompact(dst, v[i])
	}
	return dst, nil
}

// AppendKey appends the compacted key made of the given columns of the row v: the key of a primary-key table, or the
// bytes that choose a bucket. A key has no nulls. On an error, a *ValueError, dst comes back as it was.
func (s Schema) AppendKey(dst []byte, v []Value, columns ...int) ([]byte, error) {
	if err := s.Check(v); err != nil {
		return dst, err
	}
	key := dst
	for _, c := range columns {
		if v[c].kind == NULL {
			return dst, &ValueError{s[c].Name, "null in a key"}
		}
		key = appendCompact(key, v[c])
	}
	return key, nil
}

// DecodeCompacted reads one whole COMPACTED row into v, which must have a place for every column. Nulls are delivered
// as nulls whatever the schema says of them.
func (s Schema) DecodeCompacted(v []Value, row string) error {
	r := sticky.New(row)
	nulls := r.Take(s.nullBytes())
	if err := r.Err(); err != nil {
		return fmt.Errorf("compacted row header: %w", err)
	}
	for i := range s {
		if isNull(nulls, i) {
			v[i] = Value{}
			continue
		}
		switch k := s[i].Kind; k {
		case STRING, BYTES:
			v[i] = Value{kind: k, text: r.Take(int(r.Uvarint(31)))}
		case INT:
			v[i] = Int(int32(r.Uvarint(32)))
		case BIGINT:
			v[i] = Bigint(int64(r.Uvarint(64)))
		default:
			v[i] = TakeFixed(&r, k)
		}
	}
	return end(&r)
}

func appendCompact(dst []byte, v Value) []byte {
	switch v.kind {
	case STRING, BYTES:
		return append(binary.AppendUvarint(dst, uint64(len(v.text))), v.text...)
	case INT:
		return binary.AppendUvarint(dst, uint64(uint32(v.bits)))
	case BIGINT:
		return binary.AppendUvarint(dst, v.bits)
	}
	return appendFixed(dst, v)
}
