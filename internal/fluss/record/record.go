// Package record is the byte format of Apache Fluss's record batches: the log batches of ProduceLog and FetchLog, with
// ARROW or INDEXED bodies, and the key-value batches of primary-key tables. It does no I/O.
//
//	enc, err := record.NewEncoder(schema, record.Arrow)
//	batch, err := enc.Append(nil, record.Meta{SchemaID: 1, WriterID: w, Sequence: 0}, rows)
//
//	dec, err := record.NewDecoder(schema, record.Arrow, nil)
//	scan := record.NewScanner(fetched)
//	for {
//		b, err := scan.Next() // io.EOF: done; ErrCut: the rest comes with the next fetch
//		...
//		err = dec.Reset(b, from)
//		for dec.Next() { use(dec.Offset(), dec.Row()) }
//		err = dec.Err()
//	}
//
// Batches are written with magic 0, the one version that every server and client reads alike, and uncompressed. Magic 0,
// 1 and 2 are read, in the layouts of Fluss 1.0, and so are ARROW bodies with LZ4 or ZSTD buffers.
//
// Foreign bytes never panic, and no length found in them sizes an allocation before it was compared with the bytes that
// are there, or, for decompression, with a limit.
package record

import (
	"errors"
	"fmt"
)

// A Format is how the rows of a log batch are encoded: table property table.log.format.
type Format uint8

// The log formats. Arrow is column by column and every client of Fluss reads it; Indexed is row by row.
const (
	Arrow   Format = 1
	Indexed Format = 2
)

// String is the property's value.
func (f Format) String() string {
	switch f {
	case Arrow:
		return "ARROW"
	case Indexed:
		return "INDEXED"
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// A Change says what a record does to its row. In a log table every record is an Append.
type Change uint8

// The changes, with their numbers on the wire.
const (
	Append       Change = 0
	Insert       Change = 1
	UpdateBefore Change = 2
	UpdateAfter  Change = 3
	Delete       Change = 4
)

// ErrCut says that the bytes end inside a batch. A server cuts a fetch by size, so this is the normal end of an answer
// that holds at least one whole batch; the first batch of an answer is never cut, and ErrCut there means damage.
var ErrCut = errors.New("the last batch is cut")

// A CorruptError says that bytes break the format. They are not to be believed, nor to be skipped.
type CorruptError struct {
	Offset int64  // base offset of the log batch; -1 where there is none or it cannot be known
	Reason string // what is wrong
	Err    error  // cause, or nil
}

func (e *CorruptError) Error() string {
	s := "corrupt batch"
	if e.Offset >= 0 {
		s = fmt.Sprintf("corrupt batch at offset %d", e.Offset)
	}
	if e.Err != nil {
		return s + ": " + e.Reason + ": " + e.Err.Error()
	}
	return s + ": " + e.Reason
}

func (e *CorruptError) Unwrap() error { return e.Err }

// An UnsupportedError says that a batch uses something this package does not know, such as a newer magic number. The
// batch may well be sound; it must not be skipped.
type UnsupportedError struct {
	Offset int64 // base offset of the log batch; -1 where there is none
	What   string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("batch at offset %d: unsupported %s", e.Offset, e.What)
}

// A LimitError says that a batch wants to be decompressed to more bytes than the decoder was allowed to spend.
type LimitError struct {
	Offset      int64 // base offset of the log batch
	Size, Limit int64 // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("batch at offset %d: decompresses to at least %d bytes, limit %d", e.Offset, e.Size, e.Limit)
}
