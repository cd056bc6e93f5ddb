package provider

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// squareKey is the field of a payload that carries the key.
const squareKey = "idempotency_key"

// Square is Square's API v2, as of CreatePayment. The key is in the body: the
// payload must be a JSON object whose idempotency_key is the action ID, which the
// profile's Check sees to.
//
// Documented: the same request with the same key is answered with the first
// successful answer and takes no second payment; other content under a key is the
// error IDEMPOTENCY_KEY_REUSED, though "this behavior might vary depending on the
// API"; keys have at most 45 characters.
//
// Not published: how long a key is kept. Square's staff say so for CreatePayment in
// its forum, and that a replay is what the key is for. The Retention is therefore
// zero and nothing is sent twice; set it in your copy if you know better. Not
// documented either: what a second request gets while the first is under way, and
// that an error is kept under the key, so that no error is final.
func Square() Profile {
	const most = 45
	return Profile{
		Name: "square",
		Source: "Square docs, Idempotency; square-go-sdk, 2026-05-20 (the limit stands at CreateCard; CreatePayment's " +
			"comment names none); forum threads 28303 and 28309, October 2026",
		KeyHeader: "-",
		MaxKey:    most,
		Check: func(in intent.Intent) error {
			if err := checkLength(string(in.Action), most); err != nil {
				return err
			}
			return bodyKey(in, squareKey)
		},
		Contract:  receipt.Contract{Safety: receipt.KeyBound},
		Interpret: interpretSquare,
		Ask: "no lookup by key. Put the action ID into reference_id and list the payments, or wait for the webhook " +
			"payment.created; CancelPaymentByIdempotencyKey voids a payment whose outcome is not known",
	}
}

// bodyKey checks that the payload is one JSON object with the action ID in the
// named field. A field that stands there twice is refused: the provider may read
// the other one.
func bodyKey(in intent.Intent, field string) error {
	if _, err := intent.Canonical(json.RawMessage(in.Payload)); err != nil {
		return fmt.Errorf("%w: the payload must be JSON that carries it: %w", ErrKey, err)
	}
	var doc map[string]json.RawMessage // a struct would take the name in any case
	var key string
	if err := json.Unmarshal(in.Payload, &doc); err != nil {
		return fmt.Errorf("%w: the payload must be a JSON object that carries it", ErrKey)
	}
	if err := json.Unmarshal(doc[field], &key); err != nil || key != string(in.Action) {
		return fmt.Errorf("%w: the payload's %s must be the action ID", ErrKey, field)
	}
	return nil
}

func interpretSquare(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
	var doc struct {
		Errors []struct {
			Code string `json:"code"`
		} `json:"errors"`
	}
	if status >= 400 {
		parse(body, &doc)
	}
	var code string
	for _, e := range doc.Errors {
		if e.Code == "IDEMPOTENCY_KEY_REUSED" {
			return other(receipt.Mismatch, receipt.ReasonConflict, status, e.Code)
		}
		code = e.Code
	}
	if status == http.StatusTooManyRequests {
		return other(receipt.Lost, receipt.ReasonTransport, status, code)
	}
	return byStatus(r, status, header, body, code)
}
