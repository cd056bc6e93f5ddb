package receipttest

import (
	"fmt"

	"github.com/intentlog/intentlog/receipt"
)

const noLookup = "there is no lookup"

// inFlight: while a request is under way a lookup may say anything but that its
// effect exists. Without Hold a request is raced, and what must hold is that
// Committed is never taken back.
func inFlight(p *probe) (Verdict, string) {
	if p.svc.Lookup == nil {
		return NotProbed, noLookup
	}
	r := p.fresh()
	done := make(chan receipt.Answer, 1)
	if p.svc.Hold == nil {
		go func() { done <- p.send(r) }()
		return p.race(r, done)
	}
	held := p.svc.Hold()
	go func() { done <- p.send(r) }()
	if err := held.Arrived(p.ctx); err != nil {
		p.fail(fmt.Errorf("held request: %w", err))
		return NotProbed, ""
	}
	f := p.ask(p.svc.Lookup, r)
	if err := held.Deliver(p.ctx); err != nil {
		p.fail(fmt.Errorf("held request: %w", err))
		return NotProbed, ""
	}
	<-done
	if f.Kind == receipt.Committed {
		return Broken, "committed, while nothing was done yet"
	}
	return Kept, found(f)
}

func (p *probe) race(r receipt.Request, done <-chan receipt.Answer) (Verdict, string) {
	var f receipt.Finding
	asked := 0
	for ended := false; !ended; asked++ {
		select {
		case <-done:
			ended = true
		default:
		}
		next := p.ask(p.svc.Lookup, r)
		if f.Kind == receipt.Committed && (next.Kind == receipt.Absent || next.Kind == receipt.InFlight) {
			return Broken, "committed, and then " + found(next)
		}
		f = next
	}
	return Kept, fmt.Sprintf("asked %d times in a race, at last %s; Service.Hold would show more", asked, found(f))
}

// afterCommit: what was answered must be found at once, and every time.
func afterCommit(p *probe) (Verdict, string) {
	if p.svc.Lookup == nil {
		return NotProbed, noLookup
	}
	for range p.opts.Rounds {
		r, a := p.first()
		for range 2 {
			f := p.ask(p.svc.Lookup, r)
			switch {
			case f.Kind == receipt.Absent:
				return Broken, "absent, right after the request was accepted: an Absent of this lookup proves nothing"
			case f.Kind != receipt.Committed:
				return Broken, "not committed, right after the request was accepted, but " + found(f)
			case differ(a.Receipt, f.Receipt):
				return Broken, fmt.Sprintf("the answer said %q, the lookup %q", a.Receipt.Reference, f.Receipt.Reference)
			}
		}
	}
	return Kept, fmt.Sprintf("committed, %d times", 2*p.opts.Rounds)
}

// unknownKey: absence must be said by the contract, or every loss is held for ever.
func unknownKey(p *probe) (Verdict, string) {
	if p.svc.Lookup == nil {
		return NotProbed, noLookup
	}
	if f := p.ask(p.svc.Lookup, p.fresh()); f.Kind != receipt.Absent {
		return Broken, found(f) + ", and not absent"
	}
	return Kept, "absent"
}

// noAuth: who is not allowed to ask must not be told that there is nothing.
func noAuth(p *probe) (Verdict, string) {
	if p.svc.Anonymous == nil {
		return NotProbed, "set Service.Anonymous"
	}
	r, _ := p.first()
	f := p.ask(p.svc.Anonymous, r)
	switch f.Kind {
	case receipt.Absent, receipt.InFlight:
		return Broken, found(f) + ", of an effect that exists: missing credentials look like absence"
	case receipt.Committed:
		return Kept, "committed; whoever guesses a key can read its receipt"
	}
	return Kept, found(f)
}
