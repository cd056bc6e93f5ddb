package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/ledger"
	"github.com/intentlog/intentlog/internal/supervise"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
)

// The barriers: the moments at which the supervisor can catch a worker. The library
// knows nothing of them; they stand in what a user passes to it.
const (
	computed  = "A"        // the service has computed, the log does not know the result
	unsent    = "B1"       // the intent is in the log, no byte of the request has left
	received  = "B2"       // the valid receipt is here, the log does not know it
	patience  = "patience" // a request is on its way; to go on is to wait for it no longer
	claiming  = "claim"    // the first append of this process, mostly its claim, is about to be made
	asking    = "ask"      // recovery has claimed the job and is about to ask the service
	answering = "answer"   // the service's answer to the lookup is here
)

// appending is the barrier before the n-th append of a process, from 1, and appended
// the one behind it: the log has it, the library does not know.
func appending(n int) string { return fmt.Sprintf("append-%d", n) }
func appended(n int) string  { return fmt.Sprintf("appended-%d", n) }

// hooks put the barriers in place.
type hooks struct{ gate *supervise.Gate }

func (h hooks) computed() { h.gate.Pass(computed) }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (h hooks) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		h.gate.Pass(unsent)
		if h.gate.Armed(patience) {
			ctx, giveUp := context.WithCancel(r.Context())
			r = r.WithContext(ctx)
			go func() {
				h.gate.Pass(patience)
				giveUp() // as a time-out does, but when the supervisor says so
			}()
		}
		return next.RoundTrip(r)
	})
}

type interpreter func(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer

func (h hooks) interpret(next interpreter) interpreter {
	return func(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
		a := next(r, status, header, body)
		if a.Result == receipt.Accepted && a.Receipt.Check(r.Intent.Action, r.Digest) == nil {
			h.gate.Pass(received)
		}
		return a
	}
}

func (h hooks) lookup(next receipt.Lookup) receipt.Lookup {
	return receipt.LookupFunc(func(ctx context.Context, r receipt.Request) (receipt.Finding, error) {
		h.gate.Pass(asking)
		f, err := next.Lookup(ctx, r)
		h.gate.Pass(answering)
		return f, err
	})
}

// gated is a store whose appends can be made to wait.
type gated struct {
	store.Store
	gate *supervise.Gate
	n    *atomic.Int32
}

func (h hooks) store(st store.Store) store.Store { return gated{st, h.gate, new(atomic.Int32)} }

func (g gated) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	n := int(g.n.Add(1))
	g.gate.Pass(appending(n))
	first, err := g.Store.Append(ctx, bucket, events)
	g.gate.Pass(appended(n))
	return first, err
}

// sign names the process in its requests, so that the service's audit can tell who
// sent what. In your program credentials are added here.
func (w *worker) sign(r *http.Request) error {
	r.Header.Set(ledger.ProcessHeader, w.process)
	return nil
}
