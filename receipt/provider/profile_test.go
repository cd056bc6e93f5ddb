package provider_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/receipt/provider"
)

func request() receipt.Request {
	in := charge(payload)
	return receipt.Request{Job: job, Intent: in, Digest: in.Digest(), Attempt: 1}
}

func TestInterpret(t *testing.T) {
	type row struct {
		p      provider.Profile
		status int
		header string
		body   string
		want   receipt.Result
		reason receipt.Reason
	}
	stripe, orders, payments, square, adyen := provider.Stripe(), provider.PayPalOrders(), provider.PayPalPayments(), provider.Square(), provider.Adyen()
	ietf := provider.IETF(time.Hour)
	const none = receipt.ReasonNone
	for _, r := range []row{
		{stripe, 200, "", `{"id":"pi_1"}`, receipt.Accepted, none},
		{stripe, 200, "", `{"error":{"type":"idempotency_error"}}`, receipt.Accepted, none}, // only errors are searched for errors
		{stripe, 400, "", `{"error":{"type":"invalid_request_error","code":"parameter_missing"}}`, receipt.Lost, receipt.ReasonRefused},
		{stripe, 400, "", `{"error":{"type":"idempotency_error"}}`, receipt.Mismatch, receipt.ReasonConflict},
		{stripe, 409, "", `{"error":{"type":"idempotency_error"}}`, receipt.Mismatch, receipt.ReasonConflict},
		{stripe, 409, "", `{"error":{"type":"idempotency_error","code":"idempotency_key_in_use"}}`, receipt.Busy, receipt.ReasonInFlight},
		{stripe, 409, "", `not JSON`, receipt.Busy, receipt.ReasonInFlight},
		{stripe, 401, "", ``, receipt.Lost, receipt.ReasonAuth},
		{stripe, 403, "", ``, receipt.Lost, receipt.ReasonAuth},
		{stripe, 402, "", `{"error":{"type":"card_error","code":"card_declined"}}`, receipt.Refused, receipt.ReasonRefused},
		{stripe, 402, "", `<html>`, receipt.Lost, receipt.ReasonRefused},
		{stripe, 404, "", `<html>`, receipt.Lost, receipt.ReasonRefused},
		{stripe, 424, "", ``, receipt.Lost, receipt.ReasonTransport},
		{stripe, 429, "", `{"error":{"type":"invalid_request_error","code":"rate_limit"}}`, receipt.Lost, receipt.ReasonTransport},
		{stripe, 500, "", `{"error":{"type":"api_error"}}`, receipt.Lost, receipt.ReasonTransport},

		{orders, 201, "", `{"id":"5O1","status":"CREATED"}`, receipt.Accepted, none},
		{orders, 200, "", `{"id":"5O1","status":"FAILED"}`, receipt.Accepted, none},
		{orders, 409, "", `{"details":[{"issue":"PREVIOUS_REQUEST_IN_PROGRESS"}]}`, receipt.Busy, receipt.ReasonInFlight},
		{orders, 422, "", `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"PREVIOUS_REQUEST_IN_PROGRESS"}]}`, receipt.Busy, receipt.ReasonInFlight},
		{orders, 422, "", `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"INSTRUMENT_DECLINED"}]}`, receipt.Lost, receipt.ReasonRefused},
		{orders, 422, "", `{"details":[{"issue":"PAYPAL_REQUEST_ID_PREVIOUSLY_USED"}]}`, receipt.Mismatch, receipt.ReasonConflict},
		{orders, 400, "", `{"name":"DUPLICATE_REQUEST_ID"}`, receipt.Mismatch, receipt.ReasonConflict},
		{orders, 401, "", ``, receipt.Lost, receipt.ReasonAuth},
		{orders, 429, "", `{"name":"RATE_LIMIT_REACHED"}`, receipt.Lost, receipt.ReasonTransport},
		{orders, 503, "", ``, receipt.Lost, receipt.ReasonTransport},
		{payments, 201, "", `{"status":"COMPLETED"}`, receipt.Accepted, none},
		{payments, 201, "", `{"status":"PENDING"}`, receipt.Accepted, none},
		{payments, 201, "", `{"status":"DECLINED"}`, receipt.Refused, receipt.ReasonRefused},
		{payments, 200, "", `{"status":"FAILED"}`, receipt.Lost, receipt.ReasonRefused},
		{payments, 500, "", `{"status":"FAILED"}`, receipt.Lost, receipt.ReasonTransport},
		{payments, 204, "", ``, receipt.Accepted, none},
		{payments, 202, "", ``, receipt.Busy, receipt.ReasonInFlight},

		{square, 200, "", `{"payment":{"id":"bP1"}}`, receipt.Accepted, none},
		{square, 400, "", `{"errors":[{"code":"IDEMPOTENCY_KEY_REUSED"}]}`, receipt.Mismatch, receipt.ReasonConflict},
		{square, 402, "", `{"errors":[{"code":"CARD_DECLINED"}]}`, receipt.Lost, receipt.ReasonRefused},
		{square, 409, "", `{"errors":[{"code":"CONFLICT"}]}`, receipt.Busy, receipt.ReasonInFlight},
		{square, 401, "", `{"errors":[{"code":"UNAUTHORIZED"}]}`, receipt.Lost, receipt.ReasonAuth},
		{square, 429, "", `{"errors":[{"code":"RATE_LIMITED"}]}`, receipt.Lost, receipt.ReasonTransport},
		{square, 504, "", ``, receipt.Lost, receipt.ReasonTransport},

		{adyen, 200, "", `{"resultCode":"Authorised"}`, receipt.Accepted, none},
		{adyen, 200, "", `{"resultCode":"RedirectShopper"}`, receipt.Accepted, none},
		{adyen, 201, "", `{"status":"received"}`, receipt.Accepted, none},
		{adyen, 200, "", `{"resultCode":"Refused"}`, receipt.Refused, receipt.ReasonRefused},
		{adyen, 200, "", `{"resultCode":"Cancelled"}`, receipt.Refused, receipt.ReasonRefused},
		{adyen, 200, "", `{"resultCode":"Error"}`, receipt.Lost, receipt.ReasonRefused},
		{adyen, 422, "", `{"errorCode":"704"}`, receipt.Busy, receipt.ReasonInFlight},
		{adyen, 409, "", `{"errorCode":"704"}`, receipt.Busy, receipt.ReasonInFlight},
		{adyen, 503, "transient-error: true", `{"errorCode":"703"}`, receipt.Busy, receipt.ReasonInFlight},
		{adyen, 422, "transient-error: false", `{"errorCode":"702"}`, receipt.Lost, receipt.ReasonRefused},
		{adyen, 401, "", ``, receipt.Lost, receipt.ReasonAuth},
		{adyen, 500, "", ``, receipt.Lost, receipt.ReasonTransport},

		{ietf, 201, "", `{}`, receipt.Accepted, none},
		{ietf, 400, "", `{"title":"Idempotency-Key is missing"}`, receipt.Lost, receipt.ReasonRefused},
		{ietf, 409, "", ``, receipt.Busy, receipt.ReasonInFlight},
		{ietf, 422, "", ``, receipt.Mismatch, receipt.ReasonConflict},
		{ietf, 429, "", ``, receipt.Lost, receipt.ReasonTransport},
		{ietf, 502, "", ``, receipt.Lost, receipt.ReasonTransport},
	} {
		s := said{r.status, r.header, r.body}
		w := recorder{header: http.Header{}}
		s.write(&w)
		got := r.p.Interpret(request(), r.status, w.header, []byte(r.body))
		require.Equal(t, r.want, got.Result, "%s %d %s", r.p.Name, r.status, r.body)
		require.Equal(t, r.reason, got.Reason, "%s %d %s", r.p.Name, r.status, r.body)
		if r.want == receipt.Accepted {
			require.NoError(t, got.Receipt.Check(action, request().Digest))
			require.Equal(t, r.status, got.Receipt.Code)
			require.Equal(t, r.body, string(got.Receipt.Body))
		} else {
			require.Error(t, got.Err)
			require.Nil(t, got.Receipt)
		}
	}
}

type recorder struct{ header http.Header }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }
func (r *recorder) WriteHeader(int)             {}

func TestGenericReadsAnswersAsTheFrontDoorDoes(t *testing.T) {
	p := provider.Generic()
	for status := 200; status < 600; status++ {
		want := intentlog.Interpret(request(), status, http.Header{"Content-Type": {"text/plain"}}, []byte("x"))
		require.Equal(t, want, p.Interpret(request(), status, http.Header{"Content-Type": {"text/plain"}}, []byte("x")), status)
	}
	require.Equal(t, receipt.Contract{}, p.Contract)
	require.Equal(t, intentlog.KeyHeader, p.KeyHeader)
}

func TestEveryProfileHasASourceAndAReadableKey(t *testing.T) {
	for _, d := range dialects() {
		p := d.profile
		require.NotEmpty(t, p.Source, p.Name)
		require.NotEmpty(t, p.Ask, p.Name)
		require.NotNil(t, p.Interpret, p.Name)
		require.NoError(t, p.Check(charge(payload)), p.Name)
	}
	require.Equal(t, `"order-1/charge"`, provider.IETF(time.Hour).Key(action))
	require.Len(t, provider.All(), 6)
}

func TestSquareWantsTheKeyInTheBody(t *testing.T) {
	check := provider.Square().Check
	for _, body := range []string{
		``, `[]`, `null`, `"order-1/charge"`, `{}`, `{"idempotency_key":"other"}`, `{"idempotency_key":7}`, `{"Idempotency_Key":"order-1/charge"}`,
		`{"idempotency_key":"order-1/charge","idempotency_key":"other"}`, `{"idempotency_key":"order-1/charge"} x`,
		`{"nested":{"idempotency_key":"order-1/charge"}}`,
	} {
		require.ErrorIs(t, check(charge(body)), provider.ErrKey, body)
	}
	require.NoError(t, check(charge(payload)))
	require.ErrorIs(t, check(intent.New("x", []byte(payload))), provider.ErrKey)
}

func TestDocumentedNumbers(t *testing.T) {
	const day = 24 * time.Hour
	for _, row := range []struct {
		p         provider.Profile
		header    string
		most      int
		safety    receipt.Safety
		retention time.Duration
	}{
		{provider.Stripe(), "Idempotency-Key", 255, receipt.KeyBound, day},
		{provider.PayPalOrders(), "PayPal-Request-Id", 108, receipt.KeyBound, 6 * time.Hour},
		{provider.PayPalPayments(), "PayPal-Request-Id", 108, receipt.KeyBound, 45 * day},
		{provider.Square(), "-", 45, receipt.KeyBound, 0},
		{provider.Adyen(), "Idempotency-Key", 64, receipt.KeyBound, 7 * day},
		{provider.IETF(day), "Idempotency-Key", 0, receipt.KeyBound, day},
		{provider.Generic(), "Idempotency-Key", 0, receipt.None, 0},
	} {
		require.Equal(t, row.header, row.p.KeyHeader, row.p.Name)
		require.Equal(t, row.most, row.p.MaxKey, row.p.Name)
		require.Equal(t, receipt.Contract{Safety: row.safety, Retention: row.retention}, row.p.Contract, row.p.Name)
	}
}

func FuzzInterpret(f *testing.F) {
	for _, d := range dialects() {
		f.Add(d.busy.status, d.busy.body)
		f.Add(d.mismatch.status, d.mismatch.body)
		f.Add(200, d.ok)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		for _, d := range dialects() {
			a := d.profile.Interpret(request(), status, http.Header{}, []byte(body))
			if a.Result == receipt.Accepted {
				require.True(t, status >= 200 && status < 300 && status != http.StatusAccepted)
				require.NoError(t, a.Receipt.Check(action, request().Digest))
			} else {
				require.Error(t, a.Err)
				require.LessOrEqual(t, len(a.Message()), 256)
			}
		}
	})
}
