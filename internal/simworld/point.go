package simworld

import "fmt"

// Point is a place where a life can be stopped.
type Point uint8

// The points of an append, of a request, of a lookup and of a fence, in the order
// in which a life passes them. "Validated, but not yet recorded" is AppendUnsent of
// the append that follows.
const (
	AppendUnsent   Point = iota // nothing left
	AppendSent                  // on the wire
	AppendStored                // in the log, not acknowledged
	AppendAcked                 // acknowledged, not returned
	CallUnsent                  // nothing left
	CallSent                    // on the wire
	CallReceived                // the service is at work
	CallCommitted               // the effect exists, nothing was answered
	CallAnswered                // the answer is on the wire
	CallReturned                // the answer is in the worker's hands
	LookupUnsent                // nothing was asked
	LookupAnswered              // the answer is in the worker's hands
	FenceUnsent                 // nothing was asked
	FenceSent                   // on the wire
	FenceSet                    // the fence holds, the worker does not know
)

var pointNames = [...]string{
	"its append has not left", "its append is on the wire", "its append is in the log and not acknowledged",
	"its append is acknowledged", "its request has not left", "its request is on the wire",
	"its request is with the service", "its request is committed and not answered", "its answer is on the wire",
	"its answer has arrived", "its lookup has not left", "its lookup is answered",
	"its fence has not left", "its fence is on the wire", "its fence is set and not answered",
}

func (p Point) String() string {
	if int(p) < len(pointNames) {
		return pointNames[p]
	}
	return fmt.Sprintf("point %d", uint8(p))
}

// Mode is what happens to a life at a point. The zero Mode is to go on.
type Mode uint8

// The modes.
const (
	Go    Mode = iota
	Crash      // it never returns from here
	Pause      // it waits to be resumed
	Fail       // the worker is told that it failed: not sent where nothing left, else nobody knows
)

// Slot is when a message lands that its sender no longer waits for.
type Slot uint8

// The slots. A message whose moment never comes lands when the world is flushed.
const (
	AtOnce Slot = iota
	Before      // just before the next append, or the next request or fence, lands
	After       // just after the next append, or the next request or fence, landed
	Never
)

var slotNames = [...]string{"at once", "just before the next one", "just after the next one", "never"}

func (s Slot) String() string { return slotNames[s] }

// Verdict says what happens to a life at a point.
type Verdict struct {
	Mode Mode
	Land Slot // of the message on the wire, with Crash and Fail
}

// Choices lists the verdicts that differ from one another at a point, but Go.
func (p Point) Choices() []Verdict {
	crash, pause, fail := Verdict{Mode: Crash}, Verdict{Mode: Pause}, Verdict{Mode: Fail}
	switch p {
	case AppendSent, CallSent, CallReceived:
		// A pause here is one before it left: what is on the wire lands on resumption.
		var all []Verdict
		for _, m := range []Mode{Crash, Fail} {
			for s := AtOnce; s <= Never; s++ {
				all = append(all, Verdict{m, s})
			}
		}
		if p == CallReceived {
			all = append(all, pause) // the service is seen at work all that time
		}
		return all
	case FenceSent:
		return []Verdict{{Crash, Before}, {Crash, After}, {Fail, Never}}
	case CallAnswered:
		return []Verdict{crash}
	case AppendAcked, CallReturned, LookupAnswered:
		return []Verdict{crash, pause}
	}
	return []Verdict{crash, pause, fail}
}
