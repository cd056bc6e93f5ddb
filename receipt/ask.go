package receipt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/intent"
)

// Request is one action as it is sent, or asked about. The intent's payload is
// shared: neither a Lookup nor a Sender may change it.
type Request struct {
	Job     intent.JobID
	Intent  intent.Intent
	Digest  intent.Digest
	Attempt int32 // the attempt that sends or asks; grows with every new owner
	// NotAfter is the deadline that the request must carry under a [NotAfter]
	// contract; zero under any other.
	NotAfter time.Time
}

// Lookup asks the other service what it committed for an action. An error is
// Unknown, never a failure of the action. A Lookup must be safe for concurrent
// use, must end when ctx does, and may be asked any number of times.
type Lookup interface {
	Lookup(ctx context.Context, r Request) (Finding, error)
}

// LookupFunc is a function as a [Lookup].
type LookupFunc func(ctx context.Context, r Request) (Finding, error)

// Lookup calls f.
func (f LookupFunc) Lookup(ctx context.Context, r Request) (Finding, error) { return f(ctx, r) }

// Sender performs one action: one wire request with the action ID as its key and
// the payload unchanged. It must be safe for concurrent use and must end when ctx
// does. An error makes the answer Unknown, unless it wraps [ErrNotSent].
type Sender interface {
	Send(ctx context.Context, r Request) (Answer, error)
}

// SenderFunc is a function as a [Sender].
type SenderFunc func(ctx context.Context, r Request) (Answer, error)

// Send calls f.
func (f SenderFunc) Send(ctx context.Context, r Request) (Answer, error) { return f(ctx, r) }

// ErrNotSent is wrapped by a Sender's error to say that no byte of the request
// was written: the effect cannot have happened by this send.
var ErrNotSent = errors.New("request was not sent")

// Result is how one send ended. The zero Result is Lost.
type Result uint8

// The results of a send.
const (
	Lost     Result = iota // sent, or perhaps sent, and no answer that says more
	Unsent                 // no byte was written
	Accepted               // the effect exists; the answer carries the receipt
	Refused                // refused, finally and without an effect, by the contract
	Mismatch               // the service knows this key with another payload
	Busy                   // the service is at work on this key
)

var resultNames = [...]string{"lost", "unsent", "accepted", "refused", "mismatch", "busy"}

func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("result(%d)", uint8(r))
}

// Answer is what one send brought. The zero Answer is Lost.
type Answer struct {
	Result  Result
	Receipt *Receipt // with Accepted
	Reason  Reason   // with any other: why, if there is more to say
	Err     error    // with any other: what was seen; may be nil
}

// Message is what was seen, cut to 256 bytes, for the log and for people.
func (a Answer) Message() string { return Finding{Err: a.Err}.Message() }

// Service is all that is needed to act on one kind of intents.
type Service struct {
	Sender   Sender   // nil: nothing can be sent
	Lookup   Lookup   // nil: nobody can be asked
	Contract Contract // zero: nothing is sent twice
}

// AuthError says that a callback that adds credentials failed. Its text leaves out
// what the callback said, which may hold a secret, and errors end up in logs.
type AuthError struct{ Err error }

func (AuthError) Error() string { return "the credentials callback failed" }

// Unwrap returns what the callback said.
func (e AuthError) Unwrap() error { return e.Err }

// Ask asks a lookup and returns a finding that holds together: a missing lookup,
// an error, a panic, a Committed without a fitting receipt are Unknown. It returns
// when ctx ends, even if the lookup does not; what that says later is lost.
func Ask(ctx context.Context, l Lookup, r Request) Finding {
	if l == nil {
		return Doubt(ReasonNoLookup, nil)
	}
	answer := make(chan Finding, 1)
	go func() { answer <- ask(ctx, l, r) }()
	select {
	case f := <-answer:
		return f
	case <-ctx.Done():
		return Doubt(ReasonTransport, ctx.Err())
	}
}

func ask(ctx context.Context, l Lookup, r Request) (f Finding) {
	defer func() {
		if p := recover(); p != nil {
			f = Doubt(ReasonPanic, fmt.Errorf("lookup panicked: %v", p))
		}
	}()
	f, err := l.Lookup(ctx, r)
	if err != nil {
		reason := ReasonTransport
		if f.Kind == Unknown && f.Reason != ReasonNone {
			reason = f.Reason.word()
		}
		return Doubt(reason, err)
	}
	return f.validated(r.Intent.Action, r.Digest)
}

// Send sends by s and returns an answer that holds together: an error or a panic
// is Lost unless the error says that nothing was sent, and an Accepted without a
// fitting receipt is Lost.
func Send(ctx context.Context, s Sender, r Request) (a Answer) {
	if s == nil {
		return Answer{Result: Unsent, Reason: ReasonNotSent, Err: errors.New("there is no sender")}
	}
	defer func() {
		if p := recover(); p != nil {
			a = Answer{Reason: ReasonPanic, Err: fmt.Errorf("sender panicked: %v", p)}
		}
	}()
	a, err := s.Send(ctx, r)
	switch {
	case errors.Is(err, ErrNotSent):
		return Answer{Result: Unsent, Reason: ReasonNotSent, Err: err}
	case err != nil:
		return Answer{Reason: ReasonTransport, Err: err}
	case a.Result > Busy:
		return Answer{Reason: ReasonContract, Err: fmt.Errorf("answer of unknown %s", a.Result)}
	case a.Result == Accepted:
		if err := a.Receipt.Check(r.Intent.Action, r.Digest); err != nil {
			return Answer{Reason: ReasonReceipt, Err: err}
		}
	}
	a.Reason = a.Reason.word()
	return a
}
