package receipt

import (
	"fmt"

	"github.com/intentlog/intentlog/intent"
)

// Kind is what is known about an effect. The zero Kind is Unknown.
type Kind uint8

// The kinds of a finding.
const (
	Unknown   Kind = iota // nobody can say
	Committed             // the effect exists; stable, and may be believed whenever it is seen
	Absent                // the effect did not exist a moment ago; a request on the wire may still make it
	InFlight              // the service is at work on it
)

var kindNames = [...]string{"unknown", "committed", "absent", "in flight"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Reason is one word for why nobody can know, kept in HOLD_UNKNOWN events.
type Reason string

// The reasons.
const (
	ReasonNone       Reason = ""
	ReasonTransport  Reason = "transport"  // no connection, a timeout, a 5xx
	ReasonAuth       Reason = "auth"       // 401, 403, 407
	ReasonContract   Reason = "contract"   // an answer that the contract does not describe
	ReasonReceipt    Reason = "receipt"    // a receipt that does not fit its action
	ReasonRetention  Reason = "retention"  // absent, but the service may have forgotten
	ReasonSafety     Reason = "safety"     // absent, and no contract makes a second send safe
	ReasonInFlight   Reason = "in_flight"  // still at work after the bounded wait
	ReasonFence      Reason = "fence"      // the fence could not be established
	ReasonDeadline   Reason = "deadline"   // an earlier request may still be accepted
	ReasonConflict   Reason = "conflict"   // the service knows the key with another payload
	ReasonNotSent    Reason = "not_sent"   // no request could be sent
	ReasonNoLookup   Reason = "no_lookup"  // there is nobody to ask
	ReasonTarget     Reason = "target"     // the intent's target is not in the registry
	ReasonRefused    Reason = "refused"    // a refusal that the contract does not call final
	ReasonHistory    Reason = "history"    // the job's own history breaks the rules
	ReasonAttempts   Reason = "attempts"   // the bounded number of sends is used up
	ReasonPanic      Reason = "panic"      // the user's lookup or sender panicked
	ReasonUnreported Reason = "unreported" // Unknown without a reason
)

// word returns the reason if it is one word of a user's or of ours. The log keeps
// it for ever, so a text is not taken for one.
func (r Reason) word() Reason {
	if r == ReasonNone || r != ReasonHistory && len(r) <= 32 && intent.CheckID("reason", string(r)) == nil {
		return r
	}
	return ReasonUnreported
}

// Finding is a lookup's answer. The zero Finding is Unknown.
type Finding struct {
	Kind    Kind
	Receipt *Receipt // with Committed
	Reason  Reason   // with Unknown
	Err     error    // with Unknown: what was seen; may be nil
}

// Found says that the effect exists.
func Found(r *Receipt) Finding { return Finding{Kind: Committed, Receipt: r} }

// NotFound says that the service, asked by its contract, does not know the action.
func NotFound() Finding { return Finding{Kind: Absent} }

// Pending says that the service is at work on the action.
func Pending() Finding { return Finding{Kind: InFlight} }

// Doubt says that nobody can know, and why.
func Doubt(reason Reason, err error) Finding { return Finding{Reason: reason, Err: err} }

// Message is what was seen, cut to 256 bytes, for the log and for people.
func (f Finding) Message() string {
	if f.Err == nil {
		return ""
	}
	return clip(f.Err.Error())
}

// validated returns f, or Unknown in its place where it does not hold together.
func (f Finding) validated(action intent.ActionID, digest intent.Digest) Finding {
	switch f.Kind {
	case Committed:
		if err := f.Receipt.Check(action, digest); err != nil {
			return Doubt(ReasonReceipt, err)
		}
		return Found(f.Receipt)
	case Absent, InFlight:
		return Finding{Kind: f.Kind}
	case Unknown:
		if f.Reason == ReasonNone {
			f.Reason = ReasonUnreported
		}
		return Doubt(f.Reason.word(), f.Err)
	}
	return Doubt(ReasonContract, fmt.Errorf("finding of unknown %s", f.Kind))
}

// clip cuts text that came from outside to 256 bytes of printable ASCII and
// letters, so that it can neither flood nor steer a log or a terminal.
func clip(s string) string {
	const most = 256
	out := make([]rune, 0, most)
	for _, c := range s {
		if len(out) == most {
			break
		}
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == 0xfffd {
			c = '?'
		}
		out = append(out, c)
	}
	text := string(out)
	for len(text) > most {
		out = out[:len(out)-1]
		text = string(out)
	}
	return text
}
