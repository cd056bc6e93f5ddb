package intent

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Type is the kind of an event, as the log spells it. A type that is not listed
// here is an error for every reader.
type Type string

// The event types. Attempts begin with Started, which is also the claim to the
// attempt; actions go from ActionRequested to ActionConfirmed, ActionRejected or
// HoldUnknown; a job ends with Completed.
const (
	Started         Type = "STARTED"          // an owner claims an attempt
	ComputeStarted  Type = "COMPUTE_STARTED"  // a computation without an effect begins
	ComputeFinished Type = "COMPUTE_FINISHED" // its result, for later attempts to reuse
	ActionRequested Type = "ACTION_REQUESTED" // the intent: complete request bytes, before the call
	ActionConfirmed Type = "ACTION_CONFIRMED" // a valid receipt is known
	Reconciled      Type = "RECONCILED"       // the receipt was found by a lookup, not by an answer
	ActionRejected  Type = "ACTION_REJECTED"  // the service refused, finally and without an effect
	HoldUnknown     Type = "HOLD_UNKNOWN"     // nobody can know yet; no more sends
	HoldResolved    Type = "HOLD_RESOLVED"    // who ended a hold, how, and why
	Completed       Type = "COMPLETED"        // the job is done
	Barrier         Type = "BARRIER"          // marks a bound in the log; belongs to no job
)

// ErrMalformed is wrapped by errors about an event whose columns break the format.
var ErrMalformed = errors.New("malformed event")

// ErrUnsupported is wrapped by errors about an event of a type or format version
// that this library does not know.
var ErrUnsupported = errors.New("unsupported event")

// MaxDetail is the largest Detail of an event in bytes. It leaves room for a
// payload of [MaxPayload] in its text form.
const MaxDetail = 1536 << 10

// Event is one record of the log: the nine columns, in this order, under the
// column names that the comments give. Two events are the same when all nine are.
type Event struct {
	JobID         JobID    // job_id
	EventID       EventID  // event_id
	Attempt       int32    // attempt, from 1
	Step          int32    // step, from 1 in each attempt
	Type          Type     // event_type
	ActionID      ActionID // action_id, empty where there is none
	PayloadDigest Digest   // payload_digest, empty where there is none
	EmittedAtMS   int64    // emitted_at_ms, the writer's clock; for display, it decides nothing
	Detail        string   // detail: the complete request for ActionRequested, else a small JSON document
}

// Columns are the names of the nine columns in their order in every store.
var Columns = [9]string{
	"job_id", "event_id", "attempt", "step", "event_type",
	"action_id", "payload_digest", "emitted_at_ms", "detail",
}

// NewBarrier returns the event that marks a bound: it belongs to no job, and id
// (a UUID) makes it unique. Every other column is empty.
func NewBarrier(id string, nowMS int64) Event {
	return Event{EventID: EventID("barrier/" + id), Type: Barrier, EmittedAtMS: nowMS}
}

// Check reports whether the nine columns have the form of an event of a known
// type. It does not look into Detail.
func (e *Event) Check() error {
	_, err := e.check()
	return err
}

// check is [Event.Check] and also yields the owner that the event ID names.
func (e *Event) check() (OwnerID, error) {
	if e.Type == Barrier {
		id, ok := strings.CutPrefix(string(e.EventID), "barrier/")
		if !ok || CheckID("barrier", id) != nil || *e != NewBarrier(id, e.EmittedAtMS) {
			return "", fmt.Errorf("%w: barrier %q", ErrMalformed, e.EventID)
		}
		return "", nil
	}
	if err := CheckID("job id", string(e.JobID)); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if e.Attempt < 1 || e.Step < 1 {
		return "", fmt.Errorf("%w: attempt %d, step %d", ErrMalformed, e.Attempt, e.Step)
	}
	owner, ok := e.EventID.owner(e.JobID, e.Attempt, e.Step)
	if !ok {
		return "", fmt.Errorf("%w: event id %q does not fit job %q, attempt %d, step %d",
			ErrMalformed, e.EventID, e.JobID, e.Attempt, e.Step)
	}
	needsAction, needsDigest := false, false
	switch e.Type {
	case Started, ComputeStarted, Completed:
	case ComputeFinished:
		needsDigest = true
	case ActionRequested, ActionConfirmed, Reconciled, ActionRejected, HoldUnknown, HoldResolved:
		needsAction, needsDigest = true, true
	default:
		return "", fmt.Errorf("%w: type %q", ErrUnsupported, e.Type)
	}
	if needsAction != (e.ActionID != "") || needsDigest != (e.PayloadDigest != "") {
		return "", fmt.Errorf("%w: %s with action id %q and digest %q", ErrMalformed, e.Type, e.ActionID, e.PayloadDigest)
	}
	if needsAction {
		if err := CheckID("action id", string(e.ActionID)); err != nil {
			return "", fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	if needsDigest && !e.PayloadDigest.valid() {
		return "", fmt.Errorf("%w: %w: %q", ErrMalformed, ErrBadDigest, e.PayloadDigest)
	}
	if len(e.Detail) > MaxDetail {
		return "", fmt.Errorf("%w: detail of %d bytes, at most %d", ErrMalformed, len(e.Detail), MaxDetail)
	}
	if !utf8.ValidString(e.Detail) {
		return "", fmt.Errorf("%w: detail is not UTF-8", ErrMalformed)
	}
	return owner, nil
}

// Owner returns the owner that the event ID names; empty for a barrier or a
// malformed event.
func (e *Event) Owner() OwnerID {
	owner, _ := e.EventID.owner(e.JobID, e.Attempt, e.Step)
	return owner
}

// sumSeed is random in every process, so that nobody can prepare two unequal
// events of one sum.
var sumSeed = maphash.MakeSeed()

// sum identifies, within this process, the columns that the event ID leaves free;
// it says job, attempt and step by itself.
func (e *Event) sum() uint64 {
	sum := uint64(e.EmittedAtMS)
	for _, s := range [...]string{string(e.Type), string(e.ActionID), string(e.PayloadDigest), e.Detail} {
		// An odd multiplier and a rotation keep the order of the columns apart.
		sum = bits.RotateLeft64(sum*0x9e3779b97f4a7c15, 29) ^ maphash.String(sumSeed, s)
	}
	return sum
}
