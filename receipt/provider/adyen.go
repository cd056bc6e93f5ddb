package provider

import (
	"net/http"
	"strings"
	"time"

	"github.com/intentlog/intentlog/receipt"
)

// Adyen is Adyen's Checkout and other APIs with idempotent POST.
//
// Documented: idempotency-key of at most 64 characters; kept for at least 7 days
// (earlier editions said 31); unique per company account, and not checked across
// regions; a request that was processed is answered with the first answer; one that
// comes while the first is under way is 422 or 409 with error code 704; an answer
// with the header transient-error: true had no effect and may be retried later with
// the same key, as is 503 with 703, and any other error must not be retried.
//
// Not documented: what other content under a key gets. This library never sends any.
//
// A payment may be answered 200 and not be made. Refused, which Adyen calls final, and
// Cancelled, which is before processing was completed, are refusals that are kept
// under the key; Error proves nothing. Every other answer of 2xx is the receipt, whose
// resultCode tells what is still to be done.
func Adyen() Profile {
	const most = 64
	return Profile{
		Name: "adyen",
		Source: "Adyen docs, API idempotency (page of 2020-07-30, as of 2026-05), and Response handling (2021-05-12); " +
			"Adyen help, Why is my payment refused?; result codes from Adyen's API libraries",
		KeyHeader: "Idempotency-Key",
		MaxKey:    most,
		Check:     headerKey(nil, most),
		Contract:  receipt.Contract{Safety: receipt.KeyBound, Retention: 7 * 24 * time.Hour},
		Interpret: interpretAdyen,
		Ask: "no lookup by key. Put the action ID into reference (merchantReference), and take the outcome from " +
			"webhooks or reports",
	}
}

func interpretAdyen(r receipt.Request, status int, header http.Header, body []byte) receipt.Answer {
	var doc struct {
		ErrorCode  string `json:"errorCode"`
		ResultCode string `json:"resultCode"`
	}
	parse(body, &doc)
	switch {
	case doc.ErrorCode == "704", strings.EqualFold(header.Get("transient-error"), "true"):
		return other(receipt.Busy, receipt.ReasonInFlight, status, doc.ErrorCode)
	case status == http.StatusOK && (doc.ResultCode == "Refused" || doc.ResultCode == "Cancelled"):
		return other(receipt.Refused, receipt.ReasonRefused, status, doc.ResultCode)
	case status == http.StatusOK && doc.ResultCode == "Error":
		return other(receipt.Lost, receipt.ReasonRefused, status, doc.ResultCode)
	case status == http.StatusTooManyRequests:
		return other(receipt.Lost, receipt.ReasonTransport, status, doc.ErrorCode)
	}
	return byStatus(r, status, header, body, doc.ErrorCode)
}
