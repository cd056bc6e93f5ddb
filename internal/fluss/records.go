package fluss

import (
	"fmt"

	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// Reason says why a read could not deliver its range.
type Reason uint8

const (
	// NoProgress means that nothing new came for the whole of Options.ProgressTimeout.
	NoProgress Reason = 1
	// OutOfRange means that the log does not hold the offset: it was deleted, or the log became shorter. It was asked for several
	// times, since a server may say so for a moment while it moves segments.
	OutOfRange Reason = 2
	// Remote means that the offset is in tiered storage only, which this client does not read.
	Remote Reason = 3
	// Gap means that batches do not follow each other, or hold other than one record per offset.
	Gap Reason = 4
	// Corrupt means that a batch fails its checksum or breaks the format.
	Corrupt Reason = 5
	// UnknownSchema means that a batch was written with a schema that cannot be had or read.
	UnknownSchema Reason = 6
	// Refused means that the server refused the fetch with an error code that another attempt cannot cure.
	Refused Reason = 7
)

var reasons = [...]string{"", "no progress", "offset out of range", "offset in remote storage", "gap", "corrupt batch", "unknown schema", "refused"}

func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// ReadError is the error of a read that could not deliver its range. Everything below Offset was delivered.
type ReadError struct {
	Table         Path
	Bucket        int
	Reason        Reason
	Offset        int64 // the next offset that was wanted
	HighWatermark int64 // as the leader last said, -1 when it never did
	Err           error // may be nil
}

func (e *ReadError) Error() string {
	s := fmt.Sprintf("read table %s bucket %d at offset %d (high watermark %d): %s", e.Table, e.Bucket, e.Offset, e.HighWatermark, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *ReadError) Unwrap() error { return e.Err }

// Records are the records of one batch that lie in the range of a read.
type Records struct {
	// Batch is the header of the batch. It may begin before the range and end after it.
	Batch record.Batch

	dec  *record.Decoder
	to   int64
	last bool
}

// Next moves to the next record of the range. It returns false at the end and at a record that cannot be decoded; the read then returns
// that error, so a caller need not ask for it.
func (r *Records) Next() bool {
	if r.last || !r.dec.Next() {
		return false
	}
	if r.dec.Offset() >= r.to {
		r.last = true
		return false
	}
	return true
}

// Offset is the log offset of the current record.
func (r *Records) Offset() int64 { return r.dec.Offset() }

// Change is what the current record does to its row.
func (r *Records) Change() record.Change { return r.dec.Change() }

// Row is the current record's values in column order of the batch's schema. The slice is overwritten by Next, its values are not.
func (r *Records) Row() []row.Value { return r.dec.Row() }

// Err is the error that ended the batch early, or nil.
func (r *Records) Err() error { return r.dec.Err() }
