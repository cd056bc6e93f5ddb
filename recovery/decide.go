package recovery

import (
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// Kind is what is to be done about a job. The zero Kind is HoldUnknown.
type Kind uint8

// The decisions.
const (
	HoldUnknown Kind = iota // stop: nobody can know yet
	Retry                   // send the saved bytes again, under the same ID
	Reconcile               // record the receipt that exists; nothing is sent
	Complete                // everything is settled, only COMPLETED is missing
	Resume                  // no effect is in doubt: the worker's own code goes on
)

var kindNames = [...]string{"HoldUnknown", "Retry", "Reconcile", "Complete", "Resume"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// evidence is all that a decision depends on.
type evidence struct {
	status intent.Status // of the job's last action; Unrequested if there is none
	single bool          // the job is complete with its one action
	find   receipt.Kind  // what the lookup said
	reason receipt.Reason
	safety receipt.Safety
	proved bool // the safety proof holds now: young enough, fenced, past the deadline
	forced bool // an operator's recorded decision allows this attempt to send
	clash  bool // held because the service knows the key with another payload
}

// decide is the whole table of decisions. It is pure: everything that it knows is
// in its argument, and testdata/decide.golden lists every case.
func decide(e evidence) (Kind, receipt.Reason) {
	switch e.status {
	case intent.Requested, intent.Held:
	case intent.Confirmed, intent.Rejected:
		if e.single {
			return Complete, receipt.ReasonNone
		}
		return Resume, receipt.ReasonNone
	default:
		return Resume, receipt.ReasonNone
	}
	switch {
	case e.find == receipt.Committed:
		return Reconcile, receipt.ReasonNone
	case e.find == receipt.InFlight:
		return HoldUnknown, receipt.ReasonInFlight
	case e.forced && e.status == intent.Requested:
		return Retry, receipt.ReasonNone
	case e.clash:
		return HoldUnknown, receipt.ReasonConflict // the same bytes can only clash again
	case e.find == receipt.Absent:
	case e.reason == receipt.ReasonNoLookup && e.safety == receipt.KeyBound:
		// There is nobody to ask: replaying the key is the question.
	default:
		return HoldUnknown, e.reason
	}
	switch {
	case e.safety == receipt.None || e.safety > receipt.NotAfter:
		return HoldUnknown, receipt.ReasonSafety
	case e.proved:
		return Retry, receipt.ReasonNone
	case e.safety == receipt.Fenced:
		return HoldUnknown, receipt.ReasonFence
	case e.safety == receipt.NotAfter:
		return HoldUnknown, receipt.ReasonDeadline
	}
	return HoldUnknown, receipt.ReasonRetention
}
