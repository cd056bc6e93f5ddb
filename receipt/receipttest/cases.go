package receipttest

import (
	"fmt"
	"sync"
	"time"

	"github.com/intentlog/intentlog/receipt"
)

// sameBytes: a second request with the key must make no second effect, and must
// lead to the receipt of the first.
func sameBytes(p *probe) (Verdict, string) {
	made := p.count()
	r, a := p.first()
	again := p.accept(r)
	n := made()
	switch {
	case p.wrong(n, 1):
		return Broken, fmt.Sprintf("%d effects of one request that was sent twice", n)
	case again.Result == receipt.Accepted && differ(a.Receipt, again.Receipt):
		return Broken, fmt.Sprintf("two receipts for one key: %q and %q", a.Receipt.Reference, again.Receipt.Reference)
	}
	return p.replayed(again, "1 effect")
}

// replayed judges the answer to a request whose effect exists.
func (p *probe) replayed(again receipt.Answer, seen string) (Verdict, string) {
	switch {
	case again.Result == receipt.Accepted:
		return p.counted(seen + ", and its receipt again")
	case p.svc.Lookup == nil:
		return Broken, "the effect exists, but the request that was sent again ended " + said(again) + ", and there is no lookup"
	}
	return p.counted(seen + "; sent again it ended " + said(again) + ", so the lookup must answer")
}

// otherBytes: the key must be bound to the payload that it came with.
func otherBytes(p *probe) (Verdict, string) {
	made := p.count()
	r, a := p.first()
	other := p.send(p.otherwise(r))
	again := p.accept(r)
	n := made()
	switch {
	case p.wrong(n, 1):
		return Broken, fmt.Sprintf("%d effects under one key: the other bytes were taken for a new request", n)
	case other.Result == receipt.Accepted:
		return Broken, "the other bytes were accepted under the key"
	case again.Result == receipt.Mismatch || again.Result == receipt.Accepted && differ(a.Receipt, again.Receipt):
		return Broken, "the other bytes took the place of the first"
	}
	return p.replayed(again, "other bytes ended "+said(other))
}

// concurrent: of many requests with the key at once, one may have the effect.
func concurrent(p *probe) (verdict Verdict, seen string) {
	for range p.opts.Rounds {
		made := p.count()
		r := p.fresh()
		answers := make([]receipt.Answer, p.opts.Parallel)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				<-start
				answers[i] = p.send(r)
			})
		}
		close(start)
		wg.Wait()
		again := p.accept(r)
		if n := made(); p.wrong(n, 1) {
			return Broken, fmt.Sprintf("%d effects of %d requests at once", n, len(answers))
		}
		for _, a := range answers {
			if a.Result == receipt.Accepted && differ(a.Receipt, again.Receipt) {
				return Broken, fmt.Sprintf("two receipts for one key: %q and %q", a.Receipt.Reference, again.Receipt.Reference)
			}
		}
		verdict, seen = p.replayed(again, fmt.Sprintf("1 effect of %d requests at once, %d times", len(answers), p.opts.Rounds))
		if verdict == Broken {
			return verdict, seen
		}
	}
	return verdict, seen
}

// late: a request that was kept on its way must not act behind the back of the one
// that was sent after it, and recorded.
func late(p *probe) (Verdict, string) {
	if p.svc.Hold == nil {
		return NotProbed, "set Service.Hold"
	}
	made := p.count()
	r := p.fresh()
	held := p.svc.Hold()
	done := make(chan receipt.Answer, 1)
	go func() { done <- p.send(r) }()
	if err := held.Arrived(p.ctx); err != nil {
		p.fail(fmt.Errorf("held request: %w", err))
		return NotProbed, ""
	}
	second := p.send(r)
	if err := held.Deliver(p.ctx); err != nil {
		p.fail(fmt.Errorf("held request: %w", err))
		return NotProbed, ""
	}
	<-done
	again := p.accept(r)
	n := made()
	switch {
	case p.wrong(n, 1):
		return Broken, fmt.Sprintf("%d effects: the late request did not see that its key was used", n)
	case second.Result == receipt.Accepted && differ(second.Receipt, again.Receipt):
		return Broken, "the late request replaced the receipt"
	}
	return p.replayed(again, "1 effect")
}

// crash: after a crash the effect and its receipt are both there, or neither.
func crash(p *probe) (Verdict, string) {
	if p.svc.Crash == nil {
		return NotProbed, "set Service.Crash: nobody saw that effect and receipt are one transaction"
	}
	made := p.count()
	r := p.fresh()
	var answer receipt.Answer
	if err := p.svc.Crash(p.ctx, func() { answer = p.send(r) }); err != nil {
		p.fail(fmt.Errorf("crash: %w", err))
		return NotProbed, ""
	}
	survived := made()
	if p.svc.Lookup != nil && p.svc.Effects != nil {
		f := p.ask(p.svc.Lookup, r)
		switch {
		case survived > 0 && f.Kind == receipt.Absent:
			return Broken, "the effect outlived the crash and its receipt did not"
		case survived == 0 && f.Kind == receipt.Committed:
			return Broken, "the receipt outlived the crash and there is no effect"
		}
	}
	again := p.accept(r)
	if n := made(); p.wrong(n, 1) {
		return Broken, fmt.Sprintf("%d effects after the crash and one more request", n)
	}
	return p.replayed(again, fmt.Sprintf("%d effect outlived the crash, sent ended %s; 1 in the end", survived, answer.Result))
}

// expiry: a key must be kept for the claimed retention.
func expiry(p *probe) (Verdict, string) {
	if p.svc.Expire == nil || p.svc.Retention <= 0 {
		return NotProbed, "set Service.Expire and Service.Retention: nobody saw how long a key is kept"
	}
	within, beyond := p.svc.Retention-p.svc.Retention/100, p.svc.Retention/50
	if p.svc.Retention == receipt.Forever {
		within, beyond = 50*365*24*time.Hour, 0
	}
	made := p.count()
	r, a := p.first()
	if !p.expire(within) {
		return NotProbed, ""
	}
	again := p.accept(r)
	n := made()
	switch {
	case p.wrong(n, 1):
		return Broken, fmt.Sprintf("%d effects: the key was forgotten within %s, and %s are claimed", n, within, lasting(p.svc.Retention))
	case again.Result == receipt.Accepted && differ(a.Receipt, again.Receipt):
		return Broken, fmt.Sprintf("another receipt within %s, and %s are claimed", within, lasting(p.svc.Retention))
	}
	seen := fmt.Sprintf("1 effect after %s", within)
	if beyond > 0 {
		if !p.expire(beyond) {
			return NotProbed, ""
		}
		p.accept(r)
		seen += fmt.Sprintf(", %d after %s", made(), within+beyond)
	}
	return p.replayed(again, seen)
}

func (p *probe) expire(d time.Duration) bool {
	if err := p.svc.Expire(p.ctx, d); err != nil {
		p.fail(fmt.Errorf("expire: %w", err))
	}
	return p.err == nil
}
