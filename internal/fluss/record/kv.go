package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/intentlog/intentlog/internal/fluss/sticky"
)

// A key-value batch, little-endian, as PutKv takes it:
//
//	 0  int32   length     of what follows this field
//	 4  int8    magic 0
//	 5  uint32  CRC-32C    of everything after it
//	 9  int16   schema id
//	11  int8    attributes 0
//	12  int64   writer id
//	20  int32   sequence
//	24  int32   count
//	28  ...     records: int32 length of the rest, uvarint key length, key, row; no row means delete
const (
	kvCRCAt      = 5
	kvSchemaAt   = 9
	kvHeaderSize = 28
)

// A Put is one change of a primary-key table.
type Put struct {
	Key []byte // row.Schema.AppendKey of the primary key's columns
	Row []byte // row.Schema.AppendCompacted of all columns; empty deletes the key
}

// AppendPuts appends to dst one key-value batch, for a table whose table.kv.format is COMPACTED. The error is
// ErrTooLarge; dst then comes back as it was.
func AppendPuts(dst []byte, m Meta, puts []Put) ([]byte, error) {
	bound := kvHeaderSize
	for _, p := range puts {
		bound += 4 + binary.MaxVarintLen32 + len(p.Key) + len(p.Row)
	}
	if bound > math.MaxInt32 {
		return dst, ErrTooLarge
	}
	le := binary.LittleEndian
	start := len(dst)
	var h [kvHeaderSize]byte
	le.PutUint16(h[kvSchemaAt:], uint16(m.SchemaID))
	le.PutUint64(h[12:], uint64(m.WriterID))
	le.PutUint32(h[20:], uint32(m.Sequence))
	le.PutUint32(h[24:], uint32(len(puts)))
	dst = append(slices.Grow(dst, bound), h[:]...)
	for _, p := range puts {
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = binary.AppendUvarint(dst, uint64(len(p.Key)))
		dst = append(dst, p.Key...)
		dst = append(dst, p.Row...)
		le.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	batch := dst[start:]
	le.PutUint32(batch, uint32(len(batch)-4))
	le.PutUint32(batch[kvCRCAt:], crc32.Checksum(batch[kvSchemaAt:], castagnoli))
	return dst, nil
}

// LookupValue parts a value that Lookup answered into the schema id it was written with and its COMPACTED row, which
// row.Schema.DecodeCompacted of that schema reads.
func LookupValue(value string) (schemaID int16, compacted string, err error) {
	r := sticky.New(value)
	schemaID = int16(r.Uint16())
	if err := r.Err(); err != nil {
		return 0, "", &CorruptError{-1, "value without a schema id", err}
	}
	return schemaID, r.Take(r.Len()), nil
}

// A ValueScanner walks over the values of a LimitScan answer: int32 length of what follows, int8 magic 0, int32 count,
// then for each value int32 length of the rest and a value as Lookup has it.
type ValueScanner struct {
	records sticky.Reader
	left    uint32
	err     error
}

// NewValueScanner returns a scanner of one value batch. No bytes at all are an empty batch.
func NewValueScanner(records string) *ValueScanner {
	s := &ValueScanner{}
	if records == "" {
		return s
	}
	r := sticky.New(records)
	batch := sticky.New(r.Take(int(int32(r.Uint32()))))
	magic := batch.Uint8()
	s.left = batch.Uint32()
	switch {
	case r.Err() != nil || batch.Err() != nil:
		s.err = &CorruptError{-1, "value batch header", sticky.ErrShort}
	case r.Len() > 0:
		s.err = &CorruptError{-1, fmt.Sprintf("%d bytes behind the value batch", r.Len()), nil}
	case magic != 0:
		s.err = &UnsupportedError{-1, fmt.Sprintf("value batch magic %d", magic)}
	}
	s.records = batch
	return s
}

// Next returns the next value's schema id and COMPACTED row. The error is io.EOF after the last, and else a
// *CorruptError or *UnsupportedError; it stays the same on further calls.
func (s *ValueScanner) Next() (schemaID int16, compacted string, err error) {
	if s.err != nil {
		return 0, "", s.err
	}
	if s.left == 0 {
		if s.records.Len() > 0 {
			s.err = &CorruptError{-1, fmt.Sprintf("%d bytes behind the last value", s.records.Len()), nil}
		} else {
			s.err = io.EOF
		}
		return 0, "", s.err
	}
	s.left--
	value := s.records.Take(int(int32(s.records.Uint32())))
	if err := s.records.Err(); err != nil {
		s.err = &CorruptError{-1, "value", err}
		return 0, "", s.err
	}
	schemaID, compacted, s.err = LookupValue(value)
	return schemaID, compacted, s.err
}
