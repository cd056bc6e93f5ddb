package sharedlog

import (
	"errors"
	"io"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// The two sides exchange gob values in the bodies of HTTP: strings pass through it
// byte for byte, whether they are UTF-8 or not.

// request is the body of every request.
type request struct {
	Bucket   int
	From, To int64          // of a read
	Events   []intent.Event // of an append
}

// answer is the body of a response, and the last value of a read.
type answer struct {
	First   int64       // of an append
	Bound   store.Bound // of a bound
	Buckets int         // of the log
	Failure *failure
}

// line is one value in the body of a read: records, and in the end an answer. A body
// without that end was cut.
type line struct {
	Record *store.Record
	End    *answer
}

// failure is an error on its way to the other process.
type failure struct {
	Outcome store.Outcome // of an append
	Is      []string      // the errors of package store that it wraps, by their texts
	Text    string
}

// known are the errors that keep their identity.
var known = []error{
	store.ErrClosed, store.ErrLocked, store.ErrReadOnly, store.ErrPoisoned, store.ErrNotFound, store.ErrForeign,
	store.ErrVersion, store.ErrNoBucket, store.ErrTooLarge, store.ErrGap, store.ErrPrefixMissing, store.ErrPrefixRemote,
	store.ErrCorrupt, store.ErrTableChanged, store.ErrLogRegressed, store.ErrNoProgress, store.ErrBeyondEnd,
	store.ErrNotDurableEnough,
}

func failed(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Outcome: store.OutcomeOf(err), Text: err.Error()}
	for _, k := range known {
		if errors.Is(err, k) {
			f.Is = append(f.Is, k.Error())
		}
	}
	return f
}

// remote is an error of the process that owns the log.
type remote struct {
	text string
	is   []error
}

func (e *remote) Error() string   { return e.text }
func (e *remote) Unwrap() []error { return e.is }

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	e := &remote{text: f.Text}
	for _, text := range f.Is {
		for _, k := range known {
			if k.Error() == text {
				e.is = append(e.is, k)
			}
		}
	}
	return e
}

// cut is the error of a body that ended too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
