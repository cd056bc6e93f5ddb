package intent

import (
	"fmt"
	"strings"
)

// apply folds an event of the owner that holds the claim in force.
func (h *History) apply(ev *Event, at Mark) error {
	switch ev.Type {
	case ComputeStarted, ComputeFinished:
		return h.compute(ev)
	case ActionRequested:
		return h.request(ev, at)
	case Completed:
		if a := h.Current(); a != nil {
			return fmt.Errorf("%w: COMPLETED while action %q is %s", ErrOutOfOrder, a.ID, a.Status)
		}
		h.Done = true
		return nil
	}
	a := h.Action(ev.ActionID)
	switch {
	case a == nil:
		return fmt.Errorf("%w: %s for %q", ErrOrphan, ev.Type, ev.ActionID)
	case !a.Digest.Equal(ev.PayloadDigest):
		return fmt.Errorf("%w: %s of %s, request of %s", ErrDigestMismatch, ev.Type, ev.PayloadDigest, a.Digest)
	}
	if a.late && ev.Type != ActionConfirmed && ev.Type != Reconciled {
		// That receipt landed while this event was on its way, and its writer could
		// not know. The receipt proves itself, so it stands.
		h.Void++
		return nil
	}
	switch ev.Type {
	case ActionConfirmed, Reconciled:
		return h.confirm(a, ev)
	case ActionRejected:
		return h.reject(a, ev)
	case HoldUnknown:
		return h.hold(a, ev)
	default: // HoldResolved: check knows no other type
		return h.resolve(a, ev, at)
	}
}

func (h *History) compute(ev *Event) error {
	var c Computation
	if err := decode(ev.Detail, &c); err != nil {
		return err
	}
	if a := h.Current(); a != nil {
		return fmt.Errorf("%w: %s while action %q is %s", ErrOutOfOrder, ev.Type, a.ID, a.Status)
	}
	if c.Name == "" {
		return fmt.Errorf("%w: computation without a name", ErrMalformed)
	}
	if ev.Type == ComputeStarted {
		h.computing = strings.Clone(c.Name)
		return nil
	}
	if h.computing != c.Name {
		return fmt.Errorf("%w: COMPUTE_FINISHED of %q while %q runs", ErrOutOfOrder, c.Name, h.computing)
	}
	result, err := c.Bytes()
	if err != nil {
		return fmt.Errorf("%w: result of %q: %w", ErrMalformed, c.Name, err)
	}
	if !ev.PayloadDigest.of(string(result)) {
		return fmt.Errorf("%w: result of %q", ErrDigestMismatch, c.Name)
	}
	if _, known, _ := h.Result(c.Name); known {
		return fmt.Errorf("%w: %q was computed before", ErrOutOfOrder, c.Name)
	}
	h.computing = ""
	h.Results = append(h.Results, c)
	return nil
}

func (h *History) request(ev *Event, at Mark) error {
	_, body, err := parseDetail(ev.ActionID, ev.Detail)
	if err != nil {
		return err
	}
	if !ev.PayloadDigest.of(body) {
		return fmt.Errorf("%w: payload of action %q", ErrDigestMismatch, ev.ActionID)
	}
	if a := h.Action(ev.ActionID); a != nil {
		if a.Digest != ev.PayloadDigest || a.Detail != ev.Detail {
			return fmt.Errorf("%w: %q", ErrActionConflict, ev.ActionID)
		}
		return fmt.Errorf("%w: action %q was requested before", ErrOutOfOrder, ev.ActionID)
	}
	if a := h.Current(); a != nil {
		return fmt.Errorf("%w: action %q requested while %q is %s", ErrOutOfOrder, ev.ActionID, a.ID, a.Status)
	}
	// One copy holds the three strings, which live and die together.
	id, digest := len(ev.ActionID), len(ev.ActionID)+len(ev.PayloadDigest)
	text := string(ev.ActionID) + string(ev.PayloadDigest) + ev.Detail
	h.Actions = append(h.Actions, Action{
		ID: ActionID(text[:id]), Status: Requested, Digest: Digest(text[id:digest]), Detail: text[digest:], Requested: at,
	})
	return nil
}

// confirm applies a confirmation by the owner in force. A second one is evidence
// of the same fact: RECONCILED and ACTION_CONFIRMED come as a pair.
func (h *History) confirm(a *Action, ev *Event) error {
	if a.Status == Rejected {
		return fmt.Errorf("%w: %s of action %q, which was rejected", ErrOutOfOrder, ev.Type, a.ID)
	}
	if !receiptMatches(ev.Detail, a.ID, a.Digest) {
		return fmt.Errorf("%w: receipt of action %q", ErrDigestMismatch, a.ID)
	}
	a.settle(ev)
	return nil
}

// honour applies a confirmation from a void attempt if it proves itself.
func (h *History) honour(ev *Event) bool {
	if h.Done || ev.Type != ActionConfirmed && ev.Type != Reconciled {
		return false
	}
	a := h.Action(ev.ActionID)
	if a == nil || a.Status == Rejected ||
		!a.Digest.Equal(ev.PayloadDigest) || !receiptMatches(ev.Detail, a.ID, a.Digest) {
		return false
	}
	a.late = a.late || a.Status.Open()
	a.settle(ev)
	return true
}

func (a *Action) settle(ev *Event) {
	a.Reconciled = a.Reconciled || ev.Type == Reconciled
	a.Status = Confirmed
	if a.Receipt == "" { // it stays empty if an operator's word came first
		a.Receipt = strings.Clone(ev.Detail)
	}
}

func (h *History) reject(a *Action, ev *Event) error {
	if !a.Status.Open() {
		return fmt.Errorf("%w: ACTION_REJECTED of action %q, which is %s", ErrOutOfOrder, a.ID, a.Status)
	}
	var why Hold
	if err := decode(ev.Detail, &why); err != nil {
		return err
	}
	a.Status, a.Reason = Rejected, why
	return nil
}

func (h *History) hold(a *Action, ev *Event) error {
	if !a.Status.Open() {
		return fmt.Errorf("%w: HOLD_UNKNOWN of action %q, which is %s", ErrOutOfOrder, a.ID, a.Status)
	}
	var why Hold
	if err := decode(ev.Detail, &why); err != nil {
		return err
	}
	a.Status, a.Reason, a.Hold = Held, why, EventID(strings.Clone(string(ev.EventID)))
	return nil
}

// resolve ends a hold. It names the hold that it ends, so that a decision about
// one hold never ends another.
func (h *History) resolve(a *Action, ev *Event, at Mark) error {
	var r Resolution
	if err := decode(ev.Detail, &r); err != nil {
		return err
	}
	if a.Status != Held || r.Hold != a.Hold {
		return fmt.Errorf("%w: HOLD_RESOLVED of %q for action %q, which is %s by %q", ErrOutOfOrder, r.Hold, a.ID, a.Status, a.Hold)
	}
	if r.By == "" || r.Reason == "" && r.By != ByLookup {
		return fmt.Errorf("%w: resolution of %q by nobody or for no reason", ErrMalformed, r.Hold)
	}
	switch r.Decision {
	case ResolveRetry:
		a.Status, a.Resolved, a.ResolvedIn = Requested, at, ev.Attempt
	case ResolveConfirm:
		a.Status = Confirmed
	case ResolveReject:
		a.Status = Rejected
	default:
		return fmt.Errorf("%w: resolution %q", ErrUnsupported, r.Decision)
	}
	a.ByOperator = r.By != ByLookup
	return nil
}
