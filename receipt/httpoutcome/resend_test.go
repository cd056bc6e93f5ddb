package httpoutcome_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/intentlog/intentlog/receipt/httpoutcome"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

// TestResend shows the trap and the guard side by side: the same request, server and fault, once by http.Transport alone,
// which writes it twice, and once by Do.
func TestResend(t *testing.T) {
	dies := func(whole bool) func(w *world) string {
		return func(w *world) string {
			return "http://" + w.serve(nil, func(p *peer) {
				if p.n == 0 {
					p.warm()
				}
				if whole {
					p.request()
				} else {
					p.head()
				}
				if p.n > 0 { // only a second attempt comes here
					p.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			})
		}
	}
	protocolError := func(w *world) string {
		return "https://" + w.serve(tlsConfig("h2"), over2(func(p *peer2) {
			p.headers(p.whole(), true, ":status", "200") // the warm exchange
			p.rst(p.whole(), http2.ErrCodeProtocol)
			p.headers(p.whole(), true, ":status", "200")
		}))
	}
	body := func(w *world, base string) *http.Request { return w.post(base) }
	empty := func(field string) func(*world, string) *http.Request {
		return func(w *world, base string) *http.Request { return w.postEmpty(base, field) }
	}
	for _, row := range []struct {
		name    string
		server  func(*world) string
		request func(*world, string) *http.Request
	}{
		{"http1/body and Idempotency-Key", dies(true), body},
		{"http1/no body, Idempotency-Key", dies(false), empty("Idempotency-Key")},
		{"http1/no body, X-Idempotency-Key", dies(false), empty("X-Idempotency-Key")},
		{"http2/body, PROTOCOL_ERROR", protocolError, body},
		{"http2/no body, PROTOCOL_ERROR", protocolError, empty("Idempotency-Key")},
	} {
		t.Run(row.name+"/net_http alone sends twice", func(t *testing.T) {
			w := newWorld(t)
			tr, base := w.transport(), row.server(w)
			w.warm(tr, base)
			resp, err := tr.RoundTrip(row.request(w, base))
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			tr.CloseIdleConnections()
			w.settle()
			require.EqualValues(t, 2, w.seen.Load(), "if net/http no longer does this, the guard can go")
		})
		t.Run(row.name+"/Do sends once", func(t *testing.T) {
			w := newWorld(t)
			tr, base := w.transport(), row.server(w)
			w.warm(tr, base)
			res, err := httpoutcome.Do(tr, row.request(w, base), 0)
			tr.CloseIdleConnections()
			w.settle()
			require.Error(t, err)
			require.Equal(t, httpoutcome.Unknown, res.Outcome)
			require.Equal(t, 1, res.WireAttempts)
			require.EqualValues(t, 1, w.seen.Load())
		})
	}
}

func TestBegin(t *testing.T) {
	t.Run("leaves the caller's request as it was", func(t *testing.T) {
		w := newWorld(t)
		req := w.postEmpty("http://127.0.0.1:1", "Idempotency-Key")
		a, err := httpoutcome.Begin(req)
		require.NoError(t, err)
		require.Equal(t, "order-1729/charge", req.Header.Get("Idempotency-Key"))
		require.Equal(t, []string{"order-1729/charge"}, a.Request().Header[strings.ToLower("Idempotency-Key")])
		_, err = a.Finish(nil, nil, 0)
		require.Error(t, err)
	})
	t.Run("a transport that reports nothing proves nothing", func(t *testing.T) {
		w := newWorld(t)
		res, err := httpoutcome.Do(silent{}, w.post("http://127.0.0.1:1"), 0)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, httpoutcome.Unknown, res.Outcome)
	})
	t.Run("a nil request is not sent", func(t *testing.T) {
		res, err := httpoutcome.Do(silent{}, nil, 0)
		require.Error(t, err)
		require.Equal(t, httpoutcome.NotSent, res.Outcome)
	})
	t.Run("the zero value is Unknown", func(t *testing.T) {
		require.Equal(t, httpoutcome.Unknown, httpoutcome.Result{}.Outcome)
	})
}

type silent struct{}

func (silent) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
