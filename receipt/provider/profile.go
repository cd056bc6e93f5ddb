// Package provider says how well-known services take idempotency keys, as data that
// a target is filled from:
//
//	p := provider.Stripe()
//	targets := intentlog.Targets{"payments": {
//		Base: "https://api.stripe.com", Auth: addToken,
//		KeyHeader: p.KeyHeader, Key: p.Key, Check: p.Check,
//		Contract: p.Contract, Interpret: p.Interpret,
//	}}
//
// A profile is what a provider's documents say, on the day that [Profile.Source]
// names, and no more: where they are silent the profile is the careful one, and its
// comment tells. None of the providers publishes that effect and receipt commit in
// one transaction, and none offers a lookup by key; each asks its callers to send
// the key again. A target with such a profile therefore needs no Lookup: within the
// retention, replaying the key is the question. Beyond it, actions are held.
//
// A lookup of your own, by a reference that you put into the payload, must answer
// Committed or Unknown only, never Absent, if it rests on a search that lags; and an
// Unknown holds the action where no lookup at all would have replayed the key.
//
// Keys are scoped to an account, sometimes to a region: a retry that is sent with
// another account's credentials, or to another region, is a new request to all of
// them. Change a contract in your copy of the profile if your provider has agreed to
// something else with you.
package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// ErrKey is wrapped by errors of a [Profile]'s Check.
var ErrKey = errors.New("not a key that the provider takes")

// Profile is one provider's documented way with keys. It is the caller's own copy.
type Profile struct {
	Name   string
	Source string // documents, and when they were read or last changed

	// KeyHeader carries the key. "-" means that the provider reads it from the body.
	KeyHeader string
	// Key writes the action ID as the key. Nil means as it is.
	Key func(intent.ActionID) string
	// MaxKey is the longest key in bytes; 0 means that no limit is documented.
	MaxKey int
	// Check refuses an intent whose key the provider would not take: too long, or
	// not in the body where it belongs there. The error wraps [ErrKey].
	Check func(intent.Intent) error

	// Contract is as strong as the documents are. Its Retention is zero, which
	// allows no retry, where none is published.
	Contract receipt.Contract
	// Interpret reads a complete answer. A refusal is final only where the provider
	// keeps it under the key.
	Interpret func(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer
	// Ask tells people how to find a result whose key can no longer be replayed.
	Ask string
}

// All returns every profile that needs no parameter.
func All() []Profile {
	return []Profile{Stripe(), PayPalOrders(), PayPalPayments(), Square(), Adyen(), Generic()}
}

// Generic is a service of which nothing is known: the action ID goes out in
// Idempotency-Key, nothing is sent a second time, and answers are read as package
// intentlog reads them by default.
func Generic() Profile {
	return Profile{
		Name:      "generic",
		Source:    "none",
		KeyHeader: "Idempotency-Key",
		Check:     headerKey(nil, 0),
		Interpret: cautious,
		Ask:       "give the target a Lookup of the service's own",
	}
}

// headerKey checks the length of a key that travels in a header. Action IDs have no
// byte that a header could not carry.
func headerKey(write func(intent.ActionID) string, most int) func(intent.Intent) error {
	return func(in intent.Intent) error {
		key := string(in.Action)
		if write != nil {
			key = write(in.Action)
		}
		return checkLength(key, most)
	}
}

func checkLength(key string, most int) error {
	if most > 0 && len(key) > most {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrKey, len(key), most)
	}
	return nil
}

// accepted takes the provider's own answer for the receipt. The digest is that of
// the request that was answered: providers do not tell one.
func accepted(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
	return receipt.Answer{Result: receipt.Accepted, Receipt: &receipt.Receipt{
		Action: r.Intent.Action, Digest: r.Digest, Code: status,
		MediaType: header.Get("Content-Type"), Body: bytes.Clone(body),
	}}
}

// other is an answer that is not Accepted. code is the provider's own word.
func other(result receipt.Result, reason receipt.Reason, status int, code string) receipt.Answer {
	err := fmt.Errorf("status %d", status)
	if code != "" {
		err = fmt.Errorf("status %d, %.64q", status, code)
	}
	return receipt.Answer{Result: result, Reason: reason, Err: err}
}

// cautious reads a status of which the provider's documents say nothing special.
func cautious(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
	return byStatus(r, status, header, body, "")
}

func byStatus(r receipt.Request, status int, header http.Header, body []byte, code string) receipt.Answer {
	switch {
	case status == http.StatusAccepted || status == http.StatusConflict || status == http.StatusTooEarly:
		return other(receipt.Busy, receipt.ReasonInFlight, status, code)
	case status >= 200 && status < 300:
		return accepted(r, status, header, body)
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired:
		return other(receipt.Lost, receipt.ReasonAuth, status, code)
	case status >= 500:
		return other(receipt.Lost, receipt.ReasonTransport, status, code)
	}
	return other(receipt.Lost, receipt.ReasonRefused, status, code)
}

// parse reads what it knows of a JSON body; of a body that is none, nothing.
func parse(body []byte, into any) { _ = json.Unmarshal(body, into) }
