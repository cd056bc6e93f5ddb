package provider

import (
	"net/http"
	"time"

	"github.com/intentlog/intentlog/receipt"
)

// Stripe is Stripe's API v1.
//
// Documented: keys of up to 255 characters in Idempotency-Key, on POST; removed once
// they are at least 24 hours old, and then "a new request"; the status and the body
// of the first request are kept once the endpoint began to execute, a 500 included,
// and are answered to every request with the key; other parameters under a key are
// an idempotency_error; a request that conflicts with one under way is 409 and is
// not kept. Rate limits, authentication and most validation come before the keys, so
// that 429, 401 and 400 prove nothing about an earlier request.
//
// A card_error is 402 and is kept under the key, so it is a final refusal: no money
// moved. An object that records the failure may exist all the same.
//
// Not confirmed: the status of an idempotency_error (400 and 409 are both reported;
// it is read by its type), and that the code of a 409 is always
// idempotency_key_in_use (any other 409 is read alike).
//
// API v2 has other rules (30 days, failed work is retried to completion): not this
// profile.
func Stripe() Profile {
	const most = 255
	return Profile{
		Name: "stripe",
		Source: "Stripe API reference, Idempotent requests and Errors; Stripe docs, Advanced error handling " +
			"(2026-09-30 edition); error type and code names from stripe-go, 2026-08-06",
		KeyHeader: "Idempotency-Key",
		MaxKey:    most,
		Check:     headerKey(nil, most),
		Contract:  receipt.Contract{Safety: receipt.KeyBound, Retention: 24 * time.Hour},
		Interpret: interpretStripe,
		Ask: "no lookup by key. Put the action ID into metadata and list or search the objects; search lags " +
			"behind writes, so not finding one proves nothing",
	}
}

func interpretStripe(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
	var doc struct {
		Error struct {
			Type string `json:"type"`
			Code string `json:"code"`
		} `json:"error"`
	}
	if status >= 400 {
		parse(body, &doc)
	}
	typ, code := doc.Error.Type, doc.Error.Code
	switch {
	case code == "idempotency_key_in_use":
		return other(receipt.Busy, receipt.ReasonInFlight, status, code)
	case typ == "idempotency_error":
		return other(receipt.Mismatch, receipt.ReasonConflict, status, typ)
	case typ == "card_error" && status == http.StatusPaymentRequired:
		if code == "" {
			code = typ
		}
		return other(receipt.Refused, receipt.ReasonRefused, status, code)
	case status == http.StatusTooManyRequests || status == http.StatusFailedDependency:
		return other(receipt.Lost, receipt.ReasonTransport, status, code)
	}
	if code == "" {
		code = typ
	}
	return byStatus(r, status, header, body, code)
}
