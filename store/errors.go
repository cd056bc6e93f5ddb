package store

import (
	"errors"
	"fmt"
)

// Outcome is what is known about an append. The zero Outcome is Unknown.
type Outcome uint8

// The three ways in which an append ends.
const (
	Unknown   Outcome = iota // may be in the log, may arrive in it later
	NotStored                // proved: not in the log, and never will be
	Stored                   // acknowledged
)

func (o Outcome) String() string {
	switch o {
	case NotStored:
		return "not stored"
	case Stored:
		return "stored"
	}
	return "unknown"
}

// OutcomeOf answers, for an error that an Append returned, whether the events can
// be in the log: Stored for nil, NotStored where an [AppendError] proves it, and
// Unknown for everything else.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Stored
	}
	if e := (*AppendError)(nil); errors.As(err, &e) {
		return e.Outcome
	}
	return Unknown
}

// AppendError says what is known about an append that was not acknowledged.
type AppendError struct {
	Bucket  int
	Outcome Outcome // NotStored or Unknown
	Err     error
}

func (e *AppendError) Error() string {
	return fmt.Sprintf("append to bucket %d (%s): %v", e.Bucket, e.Outcome, e.Err)
}

func (e *AppendError) Unwrap() error { return e.Err }

// The errors of a store, to be found with errors.Is. A read that wraps one of them
// is never a proof that something did not happen.
var (
	ErrClosed           = errors.New("store is closed")
	ErrLocked           = errors.New("another process writes to this log")
	ErrReadOnly         = errors.New("store is open for reading only")
	ErrPoisoned         = errors.New("an earlier I/O error left the store in doubt; reopen it")
	ErrNotFound         = errors.New("no log here")
	ErrForeign          = errors.New("not the expected log")
	ErrVersion          = errors.New("format version is not supported")
	ErrNoBucket         = errors.New("no such bucket")
	ErrTooLarge         = errors.New("batch too large")
	ErrGap              = errors.New("records are missing inside the log")
	ErrPrefixMissing    = errors.New("the beginning of the log is missing")
	ErrPrefixRemote     = errors.New("the beginning of the log lies in remote storage")
	ErrCorrupt          = errors.New("damaged record")
	ErrTableChanged     = errors.New("the table is not the one that was opened")
	ErrLogRegressed     = errors.New("the log ends before records that it had acknowledged")
	ErrNoProgress       = errors.New("no progress within the deadline")
	ErrBeyondEnd        = errors.New("range ends beyond the log")
	ErrNotDurableEnough = errors.New("the log does not meet the required durability")
)

// ReadError says where in the log a read failed.
type ReadError struct {
	Bucket int
	Offset int64 // the first offset that was not delivered
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("read bucket %d at offset %d: %v", e.Bucket, e.Offset, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }
