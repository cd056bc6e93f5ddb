package intent

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// MaxIDLength is the longest job ID, action ID or worker name, in bytes.
const MaxIDLength = 200

// ErrBadID is wrapped by every error about an ID that breaks the rules of [CheckID].
var ErrBadID = errors.New("bad id")

// JobID names one job over all restarts. It is also the key that chooses the
// job's bucket in a store. The rules are those of [CheckID].
type JobID string

// ActionID names one intended effect. It is the same in every attempt, unique among
// the actions of all jobs, and what the other service sees as its idempotency key. The rules are those of
// [CheckID]. An ID that a stranger could guess can be claimed by a stranger at
// the other service: see [DeriveActionID].
type ActionID string

// OwnerID names one lifetime of one worker process: a fresh random UUID, in its
// 36-character lower-case form.
type OwnerID string

// EventID names one transition for ever: job/attempt.owner/step.
type EventID string

// Owner is a worker in one of its lives.
type Owner struct {
	Worker string  // stable over restarts, chosen by the user; rules of CheckID
	ID     OwnerID // fresh for every process lifetime
}

// NewOwner returns a fresh life of the named worker.
func NewOwner(worker string) (Owner, error) {
	if err := CheckID("worker", worker); err != nil {
		return Owner{}, err
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return Owner{}, fmt.Errorf("new owner id: %w", err)
	}
	return Owner{Worker: worker, ID: OwnerID(id.String())}, nil
}

// CheckID reports whether s may be an ID: 1 to [MaxIDLength] bytes out of
// A-Z a-z 0-9 and . _ : / - so that an ID is safe in a log line, an HTTP header,
// a file name's neighbourhood and a terminal. what names the ID in the error.
func CheckID(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s: %w: empty", what, ErrBadID)
	case len(s) > MaxIDLength:
		return fmt.Errorf("%s: %w: %d bytes, at most %d", what, ErrBadID, len(s), MaxIDLength)
	}
	for i := 0; i < len(s); i++ {
		if !idByte[s[i]] {
			return fmt.Errorf("%s: %w: byte %#02x at %d of %q", what, ErrBadID, s[i], i, s)
		}
	}
	return nil
}

var (
	idByte  = bytesOf(upper + lower + digits + "._:/-") // in an ID
	hexByte = bytesOf(digits + "abcdef")                // in a digest, in an owner's UUID
)

const (
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	digits = "0123456789"
)

// byteSet tells which bytes may stand in a text.
type byteSet [256]bool

func bytesOf(members string) *byteSet {
	var set byteSet
	for _, c := range []byte(members) {
		set[c] = true
	}
	return &set
}

// holds reports whether s consists of the set's bytes.
func (set *byteSet) holds(s string) bool {
	for i := 0; i < len(s); i++ {
		if !set[s[i]] {
			return false
		}
	}
	return true
}

// ParseJobID checks s by the rules of [CheckID].
func ParseJobID(s string) (JobID, error) { return JobID(s), CheckID("job id", s) }

// ParseActionID checks s by the rules of [CheckID].
func ParseActionID(s string) (ActionID, error) { return ActionID(s), CheckID("action id", s) }

// NewEventID builds the ID of step (from 1) in attempt (from 1) of job by owner.
func NewEventID(job JobID, attempt int32, owner OwnerID, step int32) EventID {
	var number [12]byte
	var b strings.Builder
	b.Grow(len(job) + len(owner) + 24)
	b.WriteString(string(job))
	b.WriteByte('/')
	b.Write(strconv.AppendInt(number[:0], int64(attempt), 10))
	b.WriteByte('.')
	b.WriteString(string(owner))
	b.WriteByte('/')
	b.Write(strconv.AppendInt(number[:0], int64(step), 10))
	return EventID(b.String())
}

// owner checks that id belongs to the given job, attempt and step, and returns
// the owner's part of it.
func (id EventID) owner(job JobID, attempt, step int32) (OwnerID, bool) {
	rest, ok := strings.CutPrefix(string(id), string(job))
	if !ok || len(rest) == 0 || rest[0] != '/' {
		return "", false
	}
	rest, ok = cutNumber(rest[1:], attempt)
	if !ok || len(rest) < 1 || rest[0] != '.' {
		return "", false
	}
	rest = rest[1:]
	slash := strings.LastIndexByte(rest, '/')
	if slash < 0 {
		return "", false
	}
	if tail, ok := cutNumber(rest[slash+1:], step); !ok || tail != "" {
		return "", false
	}
	owner := OwnerID(rest[:slash])
	if !owner.valid() {
		return "", false
	}
	return owner, true
}

// valid reports whether o is a UUID in its lower-case form.
func (o OwnerID) valid() bool {
	if len(o) != 36 {
		return false
	}
	for i := 0; i < len(o); i++ {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (o[i] == '-') || !dash && !hexByte[o[i]] {
			return false
		}
	}
	return true
}

// cutNumber takes the decimal digits of n from the front of s.
func cutNumber(s string, n int32) (rest string, ok bool) {
	var buf [12]byte
	digits := strconv.AppendInt(buf[:0], int64(n), 10)
	if len(s) < len(digits) || s[:len(digits)] != string(digits) {
		return "", false
	}
	return s[len(digits):], true
}
