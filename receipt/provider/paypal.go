package provider

import (
	"net/http"
	"slices"
	"time"

	"github.com/intentlog/intentlog/receipt"
)

// PayPalOrders is PayPal's Orders API v2.
//
// Documented: PayPal-Request-Id of 1 to 108 characters; kept for 6 hours, and up to
// 72 by agreement; a request with a known ID is answered with the latest status of
// the earlier request; IDs are unique per kind of call; of two requests at once the
// first is processed and the second may fail. It is mandatory where an order is
// created and paid in one step. Retries are for time-outs and 5xx.
//
// Not documented: that the ID is bound to the payload. This library never sends
// other bytes under an action ID, so that only matters where somebody else can use
// your IDs. An answer that the ID was used for something else is a mismatch.
//
// An order that was answered 201 exists, and that is all: whether its capture was
// declined stands in the answer, which is the receipt.
func PayPalOrders() Profile {
	const most = 108
	return Profile{
		Name: "paypal-orders",
		Source: "PayPal REST, Idempotency (2022-02-16); Orders v2 reference and OpenAPI document " +
			"(paypal-rest-api-specifications, 2024-02-03); error pages DUPLICATE_REQUEST_ID, PAYPAL_REQUEST_ID_PREVIOUSLY_USED",
		KeyHeader: "PayPal-Request-Id",
		MaxKey:    most,
		Check:     headerKey(nil, most),
		Contract:  receipt.Contract{Safety: receipt.KeyBound, Retention: 6 * time.Hour},
		Interpret: interpretPayPal,
		Ask:       "no lookup by request ID. GET /v2/checkout/orders/{id} if the order's ID is known",
	}
}

// PayPalPayments is PayPal's Payments API v2: captures, refunds, authorizations.
// It is as [PayPalOrders], but for these: IDs are kept for 45 days; its document
// states no limit of length, so that of the Orders API is kept; 409 with
// PREVIOUS_REQUEST_IN_PROGRESS is documented; a capture that is answered as DECLINED
// ("the funds could not be captured") is a refusal, and one that is answered as FAILED
// ("an error while capturing payment") proves nothing.
func PayPalPayments() Profile {
	p := PayPalOrders()
	p.Name = "paypal-payments"
	p.Source = "PayPal REST, Idempotency (2022-02-16); Payments v2 OpenAPI document (paypal-rest-api-specifications, 2024-02-03)"
	p.Contract.Retention = 45 * 24 * time.Hour
	p.Interpret = func(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
		var doc struct {
			Status string `json:"status"`
		}
		if status == http.StatusOK || status == http.StatusCreated {
			parse(body, &doc)
		}
		switch doc.Status {
		case "DECLINED":
			return other(receipt.Refused, receipt.ReasonRefused, status, doc.Status)
		case "FAILED":
			return other(receipt.Lost, receipt.ReasonRefused, status, doc.Status)
		}
		return interpretPayPal(r, status, header, body)
	}
	p.Ask = "no lookup by request ID. Put the action ID into invoice_id or custom_id, and search the transactions; not finding one proves nothing"
	return p
}

func interpretPayPal(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
	var doc struct {
		Name    string `json:"name"`
		Details []struct {
			Issue string `json:"issue"`
		} `json:"details"`
	}
	if status >= 400 {
		parse(body, &doc)
	}
	words := []string{doc.Name}
	for _, d := range doc.Details {
		words = append(words, d.Issue)
	}
	has := func(word string) bool { return slices.Contains(words, word) }
	code := words[len(words)-1]
	switch {
	case has("PREVIOUS_REQUEST_IN_PROGRESS"):
		return other(receipt.Busy, receipt.ReasonInFlight, status, "PREVIOUS_REQUEST_IN_PROGRESS")
	case has("DUPLICATE_REQUEST_ID"), has("PAYPAL_REQUEST_ID_PREVIOUSLY_USED"):
		return other(receipt.Mismatch, receipt.ReasonConflict, status, code)
	case status == http.StatusTooManyRequests:
		return other(receipt.Lost, receipt.ReasonTransport, status, code)
	}
	return byStatus(r, status, header, body, code)
}
