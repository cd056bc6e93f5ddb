package intent

import (
	"errors"
	"fmt"
	"strings"
)

// The errors that a [History] wraps in a [HistoryError]. Each of them stops a
// recovery and an import before anything is done.
var (
	ErrEventConflict  = errors.New("event id reused for another event")
	ErrActionConflict = errors.New("action id reused for another request")
	ErrOutOfOrder     = errors.New("event out of order")
	ErrOrphan         = errors.New("event about an action that was never requested")
	ErrDigestMismatch = errors.New("digest does not match")
)

// HistoryError says which event of which job broke the rules, and where it stands.
type HistoryError struct {
	Job    JobID
	Event  EventID
	Offset int64 // of the event in its bucket
	Err    error
}

func (e *HistoryError) Error() string {
	return fmt.Sprintf("job %q, event %q at offset %d: %v", e.Job, e.Event, e.Offset, e.Err)
}

func (e *HistoryError) Unwrap() error { return e.Err }

// Status is where an action stands. The zero status says that nothing is known.
type Status uint8

// The states of an action.
const (
	Unrequested Status = iota
	Requested          // an intent is in the log, a result is not
	Held               // nobody could know; asked again by each recovery
	Confirmed          // a valid receipt is in the log
	Rejected           // refused finally, without an effect
)

var statusNames = [...]string{"unrequested", "requested", "held", "confirmed", "rejected"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Open reports whether the action waits for an answer about the outside world.
func (s Status) Open() bool { return s == Requested || s == Held }

// Mark is a place in a bucket and the time at it.
type Mark struct {
	Offset   int64
	CommitMS int64 // by the log's clock, in Unix ms; 0 where the fold was not told
}

// Action is what a history knows of one action.
type Action struct {
	ID         ActionID
	Status     Status
	Digest     Digest
	Detail     string // of ActionRequested: the text form of the intent
	Requested  Mark   // where and when ActionRequested stands
	Resolved   Mark   // of the last HoldResolved that allowed a retry
	ResolvedIn int32  // the attempt of that HoldResolved
	Hold       EventID
	Reason     Hold   // of the last hold or of the rejection
	Receipt    string // detail of the confirmation
	Reconciled bool   // the receipt was found by a lookup
	ByOperator bool   // an operator's decision settled it, or allowed the retry

	late bool // an owner that had lost the job confirmed it
}

// Intent returns the saved intent.
func (a *Action) Intent() (Intent, error) { return ParseDetail(a.ID, a.Detail) }

// History is the fold of one job's events in log order. The zero History is that
// of a job without events. It is not safe for concurrent use. It copies the strings
// that it keeps, so that no event pins the buffer that it was read from.
//
// The rules, in short: the first claim to the next attempt wins; events of any
// other owner or attempt are void, they are counted and never acted on, but a
// confirmation among them that fits its action proves itself; an identical
// repetition of an event is no event; after [Completed] everything is void.
type History struct {
	Job       JobID
	Attempt   int32   // of the claim in force; 0 before any
	Owner     OwnerID // of the claim in force
	Claim     Claim   // of the claim in force
	Claimed   Mark    // the claim in force
	Prior     Mark    // the claim before it; zero if none
	Actions   []Action
	Results   []Computation // finished computations, in order
	Done      bool
	Void      int // events that had no effect: lost claims, late owners
	Duplicate int // identical repetitions

	computing string // name of the computation that runs in this attempt
	lives     []life
}

// usualSteps is how many events most attempts have: claim, intent, outcome, end.
const usualSteps = 4

// life is one owner's attempt: the sums of its events by step, from step 1.
type life struct {
	attempt int32
	owner   OwnerID
	sums    []uint64
}

// Step returns the last step of the claim in force.
func (h *History) Step() int32 { return h.StepIn(h.Attempt, h.Owner) }

// StepIn returns the last step of an owner's attempt, in force or not; 0 if there is
// no such attempt.
func (h *History) StepIn(attempt int32, owner OwnerID) int32 {
	if l := h.life(attempt, owner); l != nil {
		return int32(len(l.sums))
	}
	return 0
}

// Owned reports whether owner holds the claim in force to attempt.
func (h *History) Owned(attempt int32, owner OwnerID) bool {
	return h.Attempt == attempt && h.Owner == owner && attempt > 0
}

// Current returns the action that is open, or nil.
func (h *History) Current() *Action {
	if n := len(h.Actions); n > 0 && h.Actions[n-1].Status.Open() {
		return &h.Actions[n-1]
	}
	return nil
}

// Action returns what is known of the action with the given ID, or nil.
func (h *History) Action(id ActionID) *Action {
	for i := range h.Actions {
		if h.Actions[i].ID == id {
			return &h.Actions[i]
		}
	}
	return nil
}

// Result returns the result of the named computation.
func (h *History) Result(name string) ([]byte, bool, error) {
	for i := range h.Results {
		if h.Results[i].Name == name {
			b, err := h.Results[i].Bytes()
			return b, err == nil, err
		}
	}
	return nil, false, nil
}

// Fold adds the event that stands at the given mark of the job's bucket. Events
// must come in log order. An error is a [HistoryError], and the History is then of
// no more use.
func (h *History) Fold(ev *Event, at Mark) error {
	if err := h.fold(ev, at); err != nil {
		return &HistoryError{Job: ev.JobID, Event: ev.EventID, Offset: at.Offset, Err: err}
	}
	return nil
}

func (h *History) fold(ev *Event, at Mark) error {
	owner, err := ev.check()
	switch {
	case err != nil:
		return err
	case ev.Type == Barrier:
		return fmt.Errorf("%w: a barrier belongs to no job", ErrMalformed)
	case h.Job == "":
		h.Job = JobID(strings.Clone(string(ev.JobID)))
	case h.Job != ev.JobID:
		return fmt.Errorf("%w: folded into job %q", ErrMalformed, h.Job)
	}
	fresh, err := h.remember(ev, owner)
	if err != nil || !fresh {
		return err
	}
	if ev.Type == Started {
		return h.claim(ev, at)
	}
	if !h.Done && h.Owned(ev.Attempt, owner) {
		return h.apply(ev, at)
	}
	if !h.honour(ev) {
		h.Void++
	}
	return nil
}

// remember files the event under its owner's life and tells whether it is new.
func (h *History) remember(ev *Event, owner OwnerID) (fresh bool, err error) {
	l := h.life(ev.Attempt, owner)
	if l == nil {
		if ev.Type != Started {
			return false, fmt.Errorf("%w: %s before the attempt's STARTED", ErrOutOfOrder, ev.Type)
		}
		h.lives = append(h.lives, life{ev.Attempt, OwnerID(strings.Clone(string(owner))), make([]uint64, 0, usualSteps)})
		l = &h.lives[len(h.lives)-1]
	}
	sum, have := ev.sum(), len(l.sums)
	switch {
	case int(ev.Step) <= have:
		if l.sums[ev.Step-1] != sum {
			return false, ErrEventConflict
		}
		h.Duplicate++
		return false, nil
	case int(ev.Step) > have+1:
		return false, fmt.Errorf("%w: step %d after step %d", ErrOutOfOrder, ev.Step, have)
	case (ev.Type == Started) != (ev.Step == 1):
		return false, fmt.Errorf("%w: %s at step %d", ErrOutOfOrder, ev.Type, ev.Step)
	}
	l.sums = append(l.sums, sum)
	return true, nil
}

func (h *History) life(attempt int32, owner OwnerID) *life {
	for i := len(h.lives) - 1; i >= 0; i-- {
		if l := &h.lives[i]; l.attempt == attempt && l.owner == owner {
			return l
		}
	}
	return nil
}

// claim applies STARTED: a claim counts only if its attempt is the current one + 1
// at its place in the log, and only while the job is not done.
func (h *History) claim(ev *Event, at Mark) error {
	c, err := parseClaim(ev.Detail)
	if err != nil {
		return err
	}
	if h.Done || ev.Attempt != h.Attempt+1 {
		h.Void++
		return nil
	}
	c.Worker = strings.Clone(c.Worker)
	h.Attempt, h.Owner, h.Claim = ev.Attempt, h.lives[len(h.lives)-1].owner, c
	h.Prior, h.Claimed = h.Claimed, at
	h.computing = ""
	return nil
}
