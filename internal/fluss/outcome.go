package fluss

import (
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// Outcome is what is known of an append or a put when its call returns.
type Outcome uint8

const (
	// Unknown means that the rows may be in the log, or may still arrive there. It is the zero value.
	Unknown Outcome = 0
	// NotStored means that it is proved that the rows are not in the log and will not arrive.
	NotStored Outcome = 1
	// Stored means that all in-sync replicas have the rows.
	Stored Outcome = 2
)

func (o Outcome) String() string {
	switch o {
	case NotStored:
		return "not stored"
	case Stored:
		return "stored"
	}
	return "outcome unknown"
}

// AppendError is the error of every append and put that did not end as Stored.
type AppendError struct {
	Table   Path
	Bucket  int
	Outcome Outcome  // Unknown or NotStored
	Code    msg.Code // the last word of the server; None when it gave none
	Err     error
}

func (e *AppendError) Error() string {
	return fmt.Sprintf("append to table %s bucket %d: %s: %v", e.Table, e.Bucket, e.Outcome, e.Err)
}

func (e *AppendError) Unwrap() error { return e.Err }

// OutcomeOf returns what err, the error of an append or a put, proves. Stored for nil, Unknown for an error that is no AppendError.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Stored
	}
	var a *AppendError
	if errors.As(err, &a) {
		return a.Outcome
	}
	return Unknown
}

var (
	// ErrBaseOffset means that a server acknowledged a batch without saying where it is, as Fluss does for bytes that it dropped.
	ErrBaseOffset = errors.New("acknowledged without an offset")
	// ErrBatchTooLarge means that the rows of one call do not fit into one frame.
	ErrBatchTooLarge = errors.New("rows of one call exceed the frame limit")
)

// verdict is what one answer to one sent copy of a batch says about that copy, and what to do next.
type verdict struct {
	absent bool // this copy is proved not to be in the log
	again  bool // send the same bytes again
	stale  bool // look up the leader first
	slow   bool // an operator has to act: wait longer
	renew  bool // the writer id is of no use any more
}

// judge reads an error code of an append or put. A code that is not listed proves nothing and is not worth a second attempt.
func judge(code msg.Code) verdict {
	switch code {
	// Checked before anything is appended.
	case msg.NotEnoughReplicas, msg.StorageBackpressure:
		return verdict{absent: true, again: true}
	case msg.UnknownTableOrBucket, msg.LeaderNotAvailable:
		return verdict{absent: true, again: true, stale: true}
	case msg.DiskWriteLocked:
		return verdict{absent: true, again: true, slow: true}
	case msg.UnsupportedVersion, msg.CorruptMessage, msg.TableNotExist, msg.RecordTooLarge, msg.CorruptRecord, msg.InvalidTable,
		msg.InvalidRequiredAcks, msg.NonPrimaryKeyTable, msg.InvalidTargetColumn, msg.PartitionNotExists, msg.Authenticate,
		msg.Authorization, msg.InvalidBucketRouting:
		return verdict{absent: true}
	// This copy was refused by its sequence. An earlier copy may be in; without one, a new writer id may try.
	case msg.OutOfOrderSequence, msg.UnknownWriterID:
		return verdict{absent: true, renew: true}
	// Appended here, not yet committed, or perhaps: the answer does not say.
	case msg.RequestTimeOut, msg.NotEnoughReplicasAfterAppend:
		return verdict{again: true}
	case msg.NotLeaderOrFollower, msg.LogStorage, msg.KvStorage, msg.Storage, msg.FencedLeaderEpoch, msg.NetworkException,
		msg.UnknownServerError:
		return verdict{again: true, stale: true}
	}
	return verdict{}
}
