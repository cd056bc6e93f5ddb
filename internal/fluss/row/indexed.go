package row

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/internal/fluss/sticky"
)

// An INDEXED row:
//
//	ceil(columns/8)  null bits
//	4 × V            int32 lengths; V counts the STRING and BYTES columns of the schema
//	...              values in column order, nulls left out, no padding
//
// Only values that are not null take a length, packed to the front of the list; the slots left over stay zero.

var errTrailing = errors.New("bytes after the last column")

// AppendIndexed appends the row v in INDEXED form. On an error, a *ValueError, dst comes back as it was.
func (s Schema) AppendIndexed(dst []byte, v []Value) ([]byte, error) {
	if err := s.Check(v); err != nil {
		return dst, err
	}
	nulls := len(dst)
	lengths := nulls + s.nullBytes()
	for range s.nullBytes() + 4*s.variable() {
		dst = append(dst, 0)
	}
	for i := range v {
		switch k := v[i].kind; {
		case k == NULL:
			dst[nulls+i>>3] |= 1 << (i & 7)
		case k.Variable():
			binary.LittleEndian.PutUint32(dst[lengths:], uint32(len(v[i].text)))
			lengths += 4
			dst = append(dst, v[i].text...)
		default:
			dst = appendFixed(dst, v[i])
		}
	}
	return dst, nil
}

// DecodeIndexed reads one whole INDEXED row into v, which must have a place for every column. Nulls are delivered as
// nulls whatever the schema says of them: the caller knows what a null means there.
func (s Schema) DecodeIndexed(v []Value, row string) error {
	r := sticky.New(row)
	nulls := r.Take(s.nullBytes())
	lengths := sticky.New(r.Take(4 * s.variable()))
	if err := r.Err(); err != nil {
		return fmt.Errorf("indexed row header: %w", err)
	}
	for i := range s {
		switch k := s[i].Kind; {
		case isNull(nulls, i):
			v[i] = Value{}
		case k.Variable():
			v[i] = Value{kind: k, text: r.Take(int(int32(lengths.Uint32())))}
		default:
			v[i] = TakeFixed(&r, k)
		}
	}
	return end(&r)
}

// appendFixed appends the little-endian bytes of a value of a fixed-length kind, and nothing for the other kinds.
func appendFixed(dst []byte, v Value) []byte {
	switch v.kind.Width() {
	case 1:
		dst = append(dst, byte(v.bits))
	case 2:
		dst = binary.LittleEndian.AppendUint16(dst, uint16(v.bits))
	case 4:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v.bits))
	case 8:
		dst = binary.LittleEndian.AppendUint64(dst, v.bits)
	}
	return dst
}

// TakeFixed reads a value of a fixed-length kind; the reader keeps the error.
func TakeFixed(r *sticky.Reader, k Kind) Value {
	switch k.Width() {
	case 1:
		return FromBits(k, uint64(r.Uint8()))
	case 2:
		return FromBits(k, uint64(r.Uint16()))
	case 4:
		return FromBits(k, uint64(r.Uint32()))
	}
	return FromBits(k, r.Uint64())
}

func end(r *sticky.Reader) error {
	if err := r.Err(); err != nil {
		return err
	}
	if r.Len() > 0 {
		return errTrailing
	}
	return nil
}
