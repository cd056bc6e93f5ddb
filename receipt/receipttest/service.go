package receipttest

import (
	"context"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/receipt"
)

// Service describes the service to probe. Each hook that is nil leaves the cases
// unprobed that need it.
type Service struct {
	Name string // for the report

	// Sender performs one request with the action ID as its key. Required.
	Sender receipt.Sender
	// Lookup asks what became of an action. Nil: the service has none, and
	// replaying the key must answer instead.
	Lookup receipt.Lookup
	// Anonymous is the same question without valid credentials.
	Anonymous receipt.Lookup
	// Payload makes the n-th payload, n from 1: other bytes for every n, each good
	// for an effect. Nil makes the JSON object {"receipttest":n}.
	Payload func(n int) []byte

	// Effects counts all effects of the service, by other means than its receipts:
	// rows of a table, lines of a ledger. It is asked only while no request of the
	// probe is under way.
	Effects func(ctx context.Context) (int, error)
	// Hold keeps the next request after it arrived and before anything is done
	// about it, as a slow network would.
	Hold func() Held
	// Crash runs send, which performs one request, and meanwhile stops the service
	// between the effect and its receipt, or as near to that as it can; it returns
	// when the service is up again.
	Crash func(ctx context.Context, send func()) error
	// Expire makes the service's clock go on by d, so that keys grow old.
	Expire func(ctx context.Context, d time.Duration) error
	// Retention is how long the service claims to keep a key; needed with Expire.
	Retention time.Duration
}

// Held is a request that a [Service] keeps.
type Held interface {
	// Arrived returns once the request is there.
	Arrived(ctx context.Context) error
	// Deliver lets the service go on with it, and returns once it is dealt with.
	Deliver(ctx context.Context) error
}

// Options are the options of [Probe]; nil and zero mean the defaults.
type Options struct {
	Timeout  time.Duration // of one request or lookup, default 10 s
	Tries    int           // sends of one request until it is accepted, default 5
	Backoff  time.Duration // wait between them, doubling, default 20 ms
	Parallel int           // requests at once, default 8
	Rounds   int           // of what may come out differently each time, default 4
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Timeout <= 0 {
		out.Timeout = 10 * time.Second
	}
	if out.Tries <= 0 {
		out.Tries = 5
	}
	if out.Backoff <= 0 {
		out.Backoff = 20 * time.Millisecond
	}
	if out.Parallel <= 1 {
		out.Parallel = 8
	}
	if out.Rounds <= 0 {
		out.Rounds = 4
	}
	return out
}

func defaultPayload(n int) []byte { return fmt.Appendf(nil, `{"receipttest":%d}`, n) }
