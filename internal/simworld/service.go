package simworld

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

var errCut = errors.New("connection cut")

// service is what the actions are about. It has no lock: lives take turns.
type service struct {
	w       *World
	known   map[intent.ActionID]*effect
	working map[intent.ActionID]int   // requests received and not committed
	fences  map[intent.ActionID]int32 // requests of earlier attempts are refused
}

type effect struct {
	body    []byte
	at      time.Time
	lookups int // that have not seen it
}

func (s *service) now() time.Time { return time.Now().Add(-s.w.Terms.Late) }

func (s *service) find(id intent.ActionID) *effect {
	e := s.known[id]
	if keep := s.w.Terms.Retention; e != nil && keep > 0 && time.Since(e.at) > keep {
		return nil
	}
	return e
}

// commit is the service's one transaction.
func (s *service) commit(r receipt.Request) receipt.Answer {
	id, body := r.Intent.Action, r.Intent.Payload
	e := s.find(id)
	switch {
	case r.Attempt < s.fences[id]:
		s.w.tell("the service refuses the request of attempt %d: it is fenced off", r.Attempt)
		return receipt.Answer{Result: receipt.Refused}
	case !r.NotAfter.IsZero() && s.now().After(r.NotAfter):
		s.w.tell("the service refuses the request of attempt %d: its deadline is over", r.Attempt)
		return receipt.Answer{Result: receipt.Refused}
	case e != nil && s.w.Terms.Dedup && !bytes.Equal(e.body, body):
		s.w.tell("the service knows %s with other bytes", id)
		return receipt.Answer{Result: receipt.Mismatch}
	case e != nil && s.w.Terms.Dedup:
		s.w.tell("the service answers %s from its stored receipt", id)
	default:
		s.w.tell("THE EFFECT of %s happens: %s", id, body)
		s.w.Recorder.Effect(id, body)
		if e == nil {
			s.known[id] = &effect{body: bytes.Clone(body), at: time.Now()}
		}
	}
	return receipt.Answer{Result: receipt.Accepted, Receipt: &receipt.Receipt{Action: id, Digest: r.Digest}}
}

func (s *service) lookup(r receipt.Request) receipt.Finding {
	id := r.Intent.Action
	e := s.find(id)
	switch {
	case s.working[id] > 0:
		return receipt.Pending()
	case e == nil:
		return receipt.NotFound()
	case e.lookups < s.w.Terms.Lag:
		e.lookups++
		return receipt.NotFound()
	}
	return receipt.Found(&receipt.Receipt{Action: id, Digest: intent.DigestOf(e.body)})
}

func (s *service) fence(r receipt.Request) {
	if s.w.Terms.Name != FalseFence.Name {
		s.fences[r.Intent.Action] = max(s.fences[r.Intent.Action], r.Attempt)
	}
	s.w.tell("the fence of attempt %d is set", r.Attempt)
}

// client is one life's way to the service.
type client struct{ l *Life }

func (c client) Send(_ context.Context, r receipt.Request) (receipt.Answer, error) {
	s, id := c.l.w.service, r.Intent.Action
	c.l.tell("sends %s in attempt %d", id, r.Attempt)
	if why := c.l.at(CallUnsent, nil); why != nil {
		return receipt.Answer{}, fmt.Errorf("%w: %w", receipt.ErrNotSent, why)
	}
	req := &message{what: "request of " + c.l.Name, call: true, land: func() { s.commit(r) }}
	if why := c.l.at(CallSent, req); why != nil {
		return receipt.Answer{}, why
	}
	s.working[id]++
	begun := &message{what: "request of " + c.l.Name, call: true, land: func() { s.commit(r) }, gone: func() { s.working[id]-- }}
	if why := c.l.at(CallReceived, begun); why != nil {
		return receipt.Answer{}, why
	}
	c.l.w.landing(Before, true)
	s.working[id]--
	ans := s.commit(r)
	c.l.w.landing(After, true)
	for _, p := range []Point{CallCommitted, CallAnswered, CallReturned} {
		if why := c.l.at(p, nil); why != nil {
			return receipt.Answer{}, why
		}
	}
	c.l.tell("is answered: %s", ans.Result)
	return ans, nil
}

func (c client) Lookup(_ context.Context, r receipt.Request) (receipt.Finding, error) {
	c.l.tell("asks about %s in attempt %d", r.Intent.Action, r.Attempt)
	if why := c.l.at(LookupUnsent, nil); why != nil {
		return receipt.Finding{}, why
	}
	f := c.l.w.service.lookup(r)
	c.l.tell("learns that %s is %s", r.Intent.Action, f.Kind)
	if why := c.l.at(LookupAnswered, nil); why != nil {
		return receipt.Finding{}, why
	}
	return f, nil
}

func (c client) Fence(_ context.Context, r receipt.Request) error {
	c.l.tell("fences %s off for attempts before %d", r.Intent.Action, r.Attempt)
	s := c.l.w.service
	if why := c.l.at(FenceUnsent, nil); why != nil {
		return why
	}
	if why := c.l.at(FenceSent, &message{what: "fence of " + c.l.Name, call: true, land: func() { s.fence(r) }}); why != nil {
		return why
	}
	c.l.w.landing(Before, true) // between the lookup and the fence
	s.fence(r)
	c.l.w.landing(After, true)
	return c.l.at(FenceSet, nil)
}
