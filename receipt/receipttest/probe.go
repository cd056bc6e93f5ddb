package receipttest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// cases are probed in this order: the last ones stop the service and age its keys.
var cases = []struct {
	name string
	run  func(*probe) (Verdict, string)
}{
	{SameBytes, sameBytes},
	{OtherBytes, otherBytes},
	{Concurrent, concurrent},
	{Late, late},
	{InFlight, inFlight},
	{AfterCommit, afterCommit},
	{UnknownKey, unknownKey},
	{NoAuth, noAuth},
	{CrashCase, crash},
	{Expiry, expiry},
}

// Probe probes the service and reports. An error means that it could not be probed:
// a plain request is not accepted, a hook failed, or ctx ended; the report then holds
// the cases before that and grants nothing.
func Probe(ctx context.Context, svc Service, opts *Options) (Report, error) {
	if svc.Sender == nil {
		return Report{Name: svc.Name}, errors.New("receipttest: service has no Sender")
	}
	if svc.Payload == nil {
		svc.Payload = defaultPayload
	}
	var run [8]byte
	if _, err := rand.Read(run[:]); err != nil {
		return Report{Name: svc.Name}, fmt.Errorf("receipttest: %w", err)
	}
	p := &probe{ctx: ctx, svc: svc, opts: opts.withDefaults(), prefix: "receipttest-" + hex.EncodeToString(run[:])}
	report := Report{Name: svc.Name}
	for _, c := range cases {
		verdict, seen := c.run(p)
		if err := ctx.Err(); err != nil {
			p.err = err // whatever else was seen comes of it
		}
		if p.err != nil {
			return report, fmt.Errorf("receipttest: %s: %w", c.name, p.err)
		}
		report.Cases = append(report.Cases, Case{c.name, verdict, seen})
	}
	report.conclude(svc.Lookup != nil, svc.Retention)
	return report, nil
}

// Run probes the service in a test: a broken case fails it, one that was not probed
// is skipped. It logs and returns the report.
func Run(t *testing.T, svc Service) Report {
	t.Helper()
	report, err := Probe(t.Context(), svc, nil)
	t.Logf("\n%s", report)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Cases {
		t.Run(c.Name, func(t *testing.T) {
			switch c.Verdict {
			case Broken:
				t.Error(c.Seen)
			case NotProbed:
				t.Skip(c.Seen)
			}
		})
	}
	return report
}

// probe is one run. Its methods are for one goroutine, except send.
type probe struct {
	ctx    context.Context
	svc    Service
	opts   Options
	prefix string
	n      int
	err    error // the first failure of a hook; sticky
}

// fail keeps the first error.
func (p *probe) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// fresh returns a request under a key that nobody has seen.
func (p *probe) fresh() receipt.Request {
	p.n++
	in := intent.New(intent.ActionID(fmt.Sprintf("%s-%d", p.prefix, p.n)), p.svc.Payload(p.n))
	return receipt.Request{Job: intent.JobID(p.prefix), Intent: in, Digest: in.Digest(), Attempt: 1}
}

// otherwise returns a request with the key of r and other bytes.
func (p *probe) otherwise(r receipt.Request) receipt.Request {
	o := p.fresh()
	o.Intent.Action = r.Intent.Action
	return o
}

// send performs one request.
func (p *probe) send(r receipt.Request) receipt.Answer {
	ctx, cancel := context.WithTimeout(p.ctx, p.opts.Timeout)
	defer cancel()
	return receipt.Send(ctx, p.svc.Sender, r)
}

// accept performs a request again until it is accepted, or definitely not.
func (p *probe) accept(r receipt.Request) (a receipt.Answer) {
	wait := p.opts.Backoff
	for try := 1; ; try++ {
		a = p.send(r)
		unsettled := a.Result == receipt.Busy || a.Result == receipt.Lost || a.Result == receipt.Unsent
		if !unsettled || try == p.opts.Tries || p.ctx.Err() != nil {
			return a
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-p.ctx.Done():
			t.Stop()
		}
		wait *= 2
	}
}

// first performs a fresh request that must be accepted, or nothing can be probed.
func (p *probe) first() (receipt.Request, receipt.Answer) {
	r := p.fresh()
	a := p.accept(r)
	if a.Result != receipt.Accepted {
		p.fail(fmt.Errorf("a plain request ended %s", said(a)))
	}
	return r, a
}

// ask asks a lookup once.
func (p *probe) ask(l receipt.Lookup, r receipt.Request) receipt.Finding {
	ctx, cancel := context.WithTimeout(p.ctx, p.opts.Timeout)
	defer cancel()
	return receipt.Ask(ctx, l, r)
}

// count returns a function that tells how many effects there were since.
func (p *probe) count() (made func() int) {
	before := p.effects()
	return func() int { return p.effects() - before }
}

func (p *probe) effects() int {
	if p.svc.Effects == nil || p.err != nil {
		return 0
	}
	n, err := p.svc.Effects(p.ctx)
	if err != nil {
		p.fail(fmt.Errorf("count effects: %w", err))
	}
	return n
}

// counted is the verdict on a case in which nothing was seen to break: it is kept
// only if somebody counted.
func (p *probe) counted(seen string) (Verdict, string) {
	if p.svc.Effects == nil {
		return NotProbed, "set Service.Effects: nobody counted (" + seen + ")"
	}
	return Kept, seen
}

// wrong reports a number of effects other than want.
func (p *probe) wrong(made, want int) bool { return p.svc.Effects != nil && made != want }

// said is an answer in words.
func said(a receipt.Answer) string {
	text := a.Result.String()
	if a.Reason != receipt.ReasonNone {
		text += " (" + string(a.Reason) + ")"
	}
	if msg := a.Message(); msg != "" {
		text += ": " + msg
	}
	return text
}

// found is a finding in words.
func found(f receipt.Finding) string {
	text := f.Kind.String()
	if f.Reason != receipt.ReasonNone {
		text += " (" + string(f.Reason) + ")"
	}
	if msg := f.Message(); msg != "" {
		text += ": " + msg
	}
	return text
}

// differ reports whether two receipts name different effects.
func differ(a, b *receipt.Receipt) bool {
	return a != nil && b != nil && a.Reference != "" && b.Reference != "" && a.Reference != b.Reference
}
