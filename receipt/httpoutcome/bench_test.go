package httpoutcome_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/intentlog/intentlog/receipt/httpoutcome"
)

// BenchmarkPost compares one POST over a kept connection by http.Transport alone and by Do.
func BenchmarkPost(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "id=1")
	}))
	defer server.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	request := func() *http.Request {
		req, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(payload))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "order-1729/charge")
		return req
	}
	b.Run("by=transport", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := tr.RoundTrip(request())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				b.Fatal(err)
			}
			_ = resp.Body.Close()
		}
	})
	b.Run("by=httpoutcome", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := httpoutcome.Do(tr, request(), 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
