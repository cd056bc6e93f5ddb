package provider

import (
	"net/http"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// IETF is a service that follows the Internet-Draft of the Idempotency-Key field.
// retention is what that service publishes, which the draft asks of it; zero allows
// no retry.
//
// The draft: the value is a structured-field string, so the action ID is written in
// double quotes; a repeated request is answered with the result of the first, success
// or error; one that comes while the first is under way is 409; another payload under
// the key is 422; no key where one is required is 400. All of these are SHOULD, and a
// service may also use 422 for content that it cannot process, so a 422 is taken for
// a mismatch, which holds, and for nothing that is final. No length is limited.
func IETF(retention time.Duration) Profile {
	return Profile{
		Name:      "ietf-idempotency-key",
		Source:    "draft-ietf-httpapi-idempotency-key-header-07, 2025-10-15 (expired 2026-04-18; not an RFC)",
		KeyHeader: "Idempotency-Key",
		Key:       quoted,
		Check:     headerKey(quoted, 0),
		Contract:  receipt.Contract{Safety: receipt.KeyBound, Retention: retention},
		Interpret: interpretIETF,
		Ask:       "the draft has no lookup; give the target a Lookup of the service's own",
	}
}

// quoted writes a structured-field string. Action IDs have neither quotes nor
// backslashes, which would need an escape.
func quoted(id intent.ActionID) string { return `"` + string(id) + `"` }

func interpretIETF(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
	switch status {
	case http.StatusUnprocessableEntity:
		return other(receipt.Mismatch, receipt.ReasonConflict, status, "")
	case http.StatusTooManyRequests:
		return other(receipt.Lost, receipt.ReasonTransport, status, "")
	}
	return cautious(r, status, header, body)
}
