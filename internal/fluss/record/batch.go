package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"
)

// A log batch, little-endian. In magic 2 a leader epoch of four bytes stands before the checksum and moves what follows;
// magic 1 and 2 have statistics between header and body.
//
//	 0  int64   base offset          set by the server, outside the checksum
//	 8  int32   length               of what follows this field
//	12  int8    magic
//	13  int64   commit time, ms      set by the server, outside the checksum
//	    int32   leader epoch         magic 2 only
//	21  uint32  CRC-32C              of everything after it
//	25  int16   schema id
//	27  int8    attributes           bit 0: append only
//	28  int32   last offset delta    count - 1, or 0 in an empty batch
//	32  int64   writer id            -1: none
//	40  int32   sequence             -1: none
//	44  int32   count
//	    int32   statistics length    magic 1 and 2 only
//	48  ...     body
const (
	lengthAt   = 8
	magicAt    = 12
	commitAt   = 13
	crcAt      = 21
	schemaAt   = 25
	headerSize = 48

	lengthEnd  = lengthAt + 4
	appendOnly = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Batch is a view of one log batch whose checksum was verified. It aliases the bytes it was scanned from.
type Batch struct {
	BaseOffset      int64
	CommitMillis    int64 // when the leader appended it, Unix milliseconds; never goes back in a bucket
	WriterID        int64 // -1: none
	LastOffsetDelta int32
	Sequence        int32 // -1: none
	Count           int32 // records; an empty batch still takes one offset
	SchemaID        int16
	Magic           uint8
	Attributes      uint8

	size int
	body []byte
}

// NextOffset is the offset after the batch: where the next batch of the log begins.
func (b *Batch) NextOffset() int64 { return b.BaseOffset + int64(b.LastOffsetDelta) + 1 }

// CommitTime is CommitMillis as a time.
func (b *Batch) CommitTime() time.Time { return time.UnixMilli(b.CommitMillis) }

// AppendOnly reports whether all records are Append; otherwise the batch carries a change for each.
func (b *Batch) AppendOnly() bool { return b.Attributes&appendOnly != 0 }

// Dense reports whether the batch has a record for each of its offsets, as every batch of a sound log table has. An
// empty batch is not dense.
func (b *Batch) Dense() bool { return int64(b.Count) == int64(b.LastOffsetDelta)+1 }

// Size is the number of bytes of the whole batch.
func (b *Batch) Size() int { return b.size }

// A Scanner walks over the log batches of one fetch answer. The first batch may begin before the offset that was asked
// for; Decoder.Reset skips its early records.
type Scanner struct {
	rest []byte
	err  error
}

// NewScanner returns a scanner of batches standing back to back in records, which it keeps and does not change.
func NewScanner(records []byte) *Scanner { return &Scanner{rest: records} }

// Next returns the next batch. The error is io.EOF at a clean end, ErrCut when the rest is the beginning of a batch, and
// else a *CorruptError or *UnsupportedError; it stays the same on further calls.
func (s *Scanner) Next() (Batch, error) {
	if s.err != nil {
		return Batch{}, s.err
	}
	b, err := parse(s.rest)
	if err != nil {
		s.err = err
		return Batch{}, err
	}
	s.rest = s.rest[b.size:]
	return b, nil
}

// parse reads the batch at the front of p and verifies its checksum.
func parse(p []byte) (Batch, error) {
	if len(p) == 0 {
		return Batch{}, io.EOF
	}
	if len(p) < lengthEnd {
		return Batch{}, ErrCut
	}
	le := binary.LittleEndian
	base := int64(le.Uint64(p))
	corrupt := func(reason string, args ...any) (Batch, error) {
		return Batch{}, &CorruptError{Offset: base, Reason: fmt.Sprintf(reason, args...)}
	}
	length := int64(int32(le.Uint32(p[lengthAt:])))
	if base < 0 || base > math.MaxInt64-math.MaxInt32-1 {
		return corrupt("base offset %d", base)
	}
	if length < headerSize-lengthEnd {
		return corrupt("length %d", length)
	}
	if int64(len(p)-lengthEnd) < length {
		return Batch{}, ErrCut
	}
	p = p[:lengthEnd+int(length)]
	epoch, statistics := 0, 0
	switch p[magicAt] {
	case 0:
	case 1:
		statistics = 4
	case 2:
		epoch, statistics = 4, 4
	default:
		return Batch{}, &UnsupportedError{base, fmt.Sprintf("magic %d", p[magicAt])}
	}
	if len(p) < headerSize+epoch+statistics {
		return corrupt("length %d", length)
	}
	h := p[epoch:] // every field behind the epoch stands in h where it stands in magic 0
	if sum := crc32.Checksum(h[schemaAt:], castagnoli); sum != le.Uint32(h[crcAt:]) {
		return corrupt("checksum %08x, header says %08x", sum, le.Uint32(h[crcAt:]))
	}
	b := Batch{
		BaseOffset:      base,
		CommitMillis:    int64(le.Uint64(p[commitAt:])),
		SchemaID:        int16(le.Uint16(h[schemaAt:])),
		Magic:           p[magicAt],
		Attributes:      h[27],
		LastOffsetDelta: int32(le.Uint32(h[28:])),
		WriterID:        int64(le.Uint64(h[32:])),
		Sequence:        int32(le.Uint32(h[40:])),
		Count:           int32(le.Uint32(h[44:])),
		size:            len(p),
		body:            h[headerSize+statistics:],
	}
	if b.Count < 0 || b.LastOffsetDelta < 0 {
		return corrupt("count %d, last offset delta %d", b.Count, b.LastOffsetDelta)
	}
	if statistics > 0 {
		n := int64(int32(le.Uint32(h[headerSize:])))
		if n < 0 || n > int64(len(b.body)) {
			return corrupt("%d bytes of statistics in %d", n, len(b.body))
		}
		b.body = b.body[n:]
	}
	return b, nil
}

// Stamp sets, in a whole batch of magic 0, what a server sets when it appends: base offset and commit time.
func Stamp(batch []byte, base, commitMillis int64) {
	binary.LittleEndian.PutUint64(batch, uint64(base))
	binary.LittleEndian.PutUint64(batch[commitAt:], uint64(commitMillis))
}
