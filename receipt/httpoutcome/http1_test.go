package httpoutcome_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing/iotest"
	"time"

	"github.com/intentlog/intentlog/receipt/httpoutcome"
)

// http1Faults are those after a connection was there, without a whole answer. All are Unknown.
func http1Faults() []fault {
	const headers = "HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\n"
	type change = func(*world, *http.Transport, *http.Request) *http.Request
	row := func(name, why string, seen int, script func(*peer), changes ...change) fault {
		return fault{name: "http1/" + name, want: httpoutcome.Unknown, why: why, seen: seen, run: func(w *world) (http.RoundTripper, *http.Request) {
			tr, req := w.transport(), w.post("http://"+w.serve(nil, script))
			for _, c := range changes {
				req = c(w, tr, req)
			}
			return tr, req
		}}
	}
	big := func(_ *world, _ *http.Transport, req *http.Request) *http.Request {
		req.Header.Set("X-Big", strings.Repeat("x", 256<<10))
		return req
	}
	expect := func(_ *world, tr *http.Transport, req *http.Request) *http.Request {
		tr.ExpectContinueTimeout = time.Minute
		req.Header.Set("Expect", "100-continue")
		return req
	}
	body := func(r io.Reader, length int64) change {
		return func(_ *world, _ *http.Transport, req *http.Request) *http.Request {
			req.Body, req.GetBody, req.ContentLength = io.NopCloser(r), nil, length
			return req
		}
	}
	reused := func(w *world, tr *http.Transport, req *http.Request) *http.Request {
		w.warm(tr, "http://"+req.URL.Host)
		return req
	}
	dieReused := func(p *peer) {
		p.warm()
		p.head()
	}
	return []fault{
		row("closed before a byte was read", "the kernel may have taken the bytes", 0, func(*peer) {}),
		row("reset after the first byte", "bytes were written", 0, func(p *peer) { _, _ = p.br.ReadByte(); p.reset() }, big),
		row("closed in the middle of the head", "bytes were written", 0, func(p *peer) { _, _ = io.CopyN(io.Discard, p.br, 1<<10) }, big),
		row("reset in the middle of the head", "bytes were written", 0, func(p *peer) { _, _ = io.CopyN(io.Discard, p.br, 1<<10); p.reset() }, big),
		row("closed after the head", "the server may act on a head", 1, func(p *peer) { p.head() }),
		row("closed after the request", "the answer was lost", 1, (*peer).request),
		row("reset after the request", "the answer was lost", 1, func(p *peer) { p.request(); p.reset() }),
		row("cancelled after the request", "cancelling proves nothing about the other side", 1, func(p *peer) { p.request(); p.w.cancel(); p.hold() }),
		row("deadline after the request", "a deadline proves nothing about the other side", 1, func(p *peer) { p.request(); p.hold() },
			func(w *world, _ *http.Transport, req *http.Request) *http.Request {
				ctx, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
				w.t.Cleanup(cancel)
				return req.WithContext(ctx)
			}),
		row("response header timeout", "a timeout proves nothing about the other side", 1, func(p *peer) { p.request(); p.hold() },
			func(_ *world, tr *http.Transport, req *http.Request) *http.Request {
				tr.ResponseHeaderTimeout = 30 * time.Millisecond
				return req
			}),
		row("not HTTP", "malformed", 1, answer("SSH-2.0-OpenSSH_9.9\r\n")),
		row("status line cut", "malformed", 1, answer("HTTP/1.1 20")),
		row("head cut", "malformed", 1, answer(headers+"Content-Le")),
		row("head too large", "the client stopped reading", 1, answer(headers+"X-Big: "+strings.Repeat("x", 64<<10)+"\r\n\r\n"),
			func(_ *world, tr *http.Transport, req *http.Request) *http.Request {
				tr.MaxResponseHeaderBytes = 4 << 10
				return req
			}),
		row("two lengths", "malformed", 1, answer(headers+"Content-Length: 1\r\nContent-Length: 2\r\n\r\nok")),
		row("length not a number", "malformed", 1, answer(headers+"Content-Length: many\r\n\r\nok")),
		row("status 999", "no such status", 1, answer("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n")),
		row("body shorter than declared, closed", "truncated", 1, answer(headers+"Content-Length: 100\r\n\r\nid=1")),
		row("body shorter than declared, reset", "truncated", 1, func(p *peer) {
			p.request()
			p.say(headers + "Content-Length: 100\r\n\r\nid=1")
			p.reset()
		}),
		row("chunk cut", "truncated", 1, answer(headers+"Transfer-Encoding: chunked\r\n\r\nff\r\nid=1")),
		row("last chunk missing", "truncated", 1, answer(headers+"Transfer-Encoding: chunked\r\n\r\n4\r\nid=1\r\n")),
		row("chunk size malformed", "malformed", 1, answer(headers+"Transfer-Encoding: chunked\r\n\r\nzz\r\nid=1\r\n0\r\n\r\n")),
		row("gzip cut", "truncated", 1, func(p *peer) {
			p.request()
			cut := gzipped("id=1")
			p.say(headers + "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(cut[:len(cut)-6]) + "0\r\n\r\n")
		}),
		row("body ends with the connection", "a cut cannot be told from the end", 1, answer(headers+"\r\nid=1")),
		row("gzip body of no bytes ends with the connection", "a cut cannot be told from the end", 1, answer(headers+"Content-Encoding: gzip\r\n\r\n")),
		row("cancelled in the response body", "the whole answer was not seen", 1, func(p *peer) {
			p.request()
			p.say(headers + "Content-Length: 100\r\n\r\nid=1")
			p.w.cancel()
			p.hold()
		}),
		row("100 Continue, then closed", "informational is no answer", 1, answer("HTTP/1.1 100 Continue\r\n\r\n")),
		row("103 Early Hints, then closed", "informational is no answer", 1, answer("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")),
		row("102 Processing, then head cut", "informational is no answer", 1, answer("HTTP/1.1 102 Processing\r\n\r\n"+headers)),
		row("101 Switching Protocols, not asked for", "no final answer", 1, func(p *peer) {
			p.request()
			p.say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n")
			p.hold()
		}),
		row("expects 100 Continue, closed instead", "the head was seen, the body never sent: the server may act on a head", 1, func(p *peer) { p.head() }, expect),
		row("request body fails half-way", "the head had left", 1, func(p *peer) { p.head(); p.hold() },
			body(io.MultiReader(strings.NewReader("amou"), iotest.ErrReader(errors.New("disk"))), int64(len(payload)))),
		row("request body shorter than declared", "writing had begun; how far it came nobody says", 0, func(p *peer) { p.head(); p.hold() }, body(strings.NewReader("amou"), int64(len(payload)))),
		row("reset while the request body is written", "bytes were written", 1, func(p *peer) { p.head(); p.reset() }, body(bytes.NewReader(make([]byte, 16<<20)), 16<<20)),
		row("reused connection closed after the request", "net/http would have sent it again", 1, dieReused, reused),
		row("reused connection reset after the request", "net/http would have sent it again", 1, func(p *peer) { p.warm(); p.request(); p.reset() }, reused),
		{name: "http1/reused connection closed after a request without body", want: httpoutcome.Unknown, seen: 1, why: "net/http would have sent it again", run: func(w *world) (http.RoundTripper, *http.Request) {
			tr, base := w.transport(), "http://"+w.serve(nil, dieReused)
			w.warm(tr, base)
			return tr, w.postEmpty(base, "Idempotency-Key")
		}},
		{name: "http1/TLS connection closed without a word", want: httpoutcome.Unknown, seen: 1, why: "truncated", run: func(w *world) (http.RoundTripper, *http.Request) {
			addr := w.serve(tlsConfig(), func(p *peer) {
				p.request()
				p.say(headers + "Content-Length: 100\r\n\r\nid=1")
				_ = p.raw.CloseWrite() // no close_notify
			})
			return w.transport(), w.post("https://" + addr)
		}},
		{name: "http1/response body over the limit", want: httpoutcome.Unknown, seen: 1, limit: 3, why: "not read to its end", run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.transport(), w.post("http://" + w.serve(nil, answer(headers+"Content-Length: 4\r\n\r\nid=1")))
		}},
	}
}

// http1Answers look odd and are whole answers.
func http1Answers() []fault {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nid=1"
	row := func(name, why string, script func(*peer)) fault {
		return fault{name: "http1/answered/" + name, want: httpoutcome.Answered, seen: 1, why: why, limit: 4, run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.transport(), w.post("http://" + w.serve(nil, script))
		}}
	}
	return []fault{
		row("length reached at the limit", "declared and complete", answer(ok)),
		row("chunked with trailer", "the last chunk and the trailer came", answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n4\r\nid=1\r\n0\r\nX-Sum: 1\r\n\r\n")),
		row("gzip", "the end of the gzip came", func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzipped("id=1"))
		}),
		row("204", "has no body by definition", answer("HTTP/1.1 204 No Content\r\n\r\n")),
		row("500", "its meaning is the caller's", answer("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")),
		row("307 is not followed", "its meaning is the caller's", answer("HTTP/1.1 307 Temporary Redirect\r\nLocation: "+effectPath+"\r\nContent-Length: 0\r\n\r\n")),
		row("103 before", "the final answer came", answer("HTTP/1.1 103 Early Hints\r\n\r\n"+ok)),
		row("reset behind it", "the answer was whole before", func(p *peer) { p.request(); p.say(ok); p.hold(); p.reset() }),
		row("HTTP/1.0 with a length", "declared and complete", answer("HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nid=1")),
		{name: "http1/answered/413 while the body is written", want: httpoutcome.Answered, seen: 1, why: "a server may answer before it has read all", run: func(w *world) (http.RoundTripper, *http.Request) {
			req := w.post("http://" + w.serve(nil, func(p *peer) {
				p.head()
				p.say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				<-p.w.ctx.Done() // reads no more
			}))
			req.Body, req.ContentLength = io.NopCloser(endless{}), 1<<40
			return w.transport(), req
		}},
		{name: "http1/answered/417 instead of 100 Continue", want: httpoutcome.Answered, seen: 1, why: "the final answer came and no body was sent", run: func(w *world) (http.RoundTripper, *http.Request) {
			req := w.post("http://" + w.serve(nil, func(p *peer) {
				p.head()
				p.say("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			}))
			tr := w.transport()
			tr.ExpectContinueTimeout = time.Minute
			req.Header.Set("Expect", "100-continue")
			return tr, req
		}},
		{name: "http1/answered/100 Continue, then the answer", want: httpoutcome.Answered, seen: 1, why: "the final answer came", run: func(w *world) (http.RoundTripper, *http.Request) {
			req := w.post("http://" + w.serve(nil, func(p *peer) {
				p.head()
				p.say("HTTP/1.1 100 Continue\r\n\r\n")
				_, _ = io.CopyN(io.Discard, p.br, int64(len(payload)))
				p.say(ok)
			}))
			tr := w.transport()
			tr.ExpectContinueTimeout = time.Minute
			req.Header.Set("Expect", "100-continue")
			return tr, req
		}},
		{name: "http1/answered/idle connection closed and noticed", want: httpoutcome.Answered, seen: 1, why: "a new connection was made before a byte was written", run: func(w *world) (http.RoundTripper, *http.Request) {
			tr, closed := w.transport(), make(chan struct{}, 2)
			tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, network, addr)
				return &noticed{c, closed}, err
			}
			base := "http://" + w.serve(nil, func(p *peer) {
				if p.n == 0 {
					p.warm()
					return
				}
				p.request()
				p.say(ok)
			})
			w.warm(tr, base)
			<-closed
			return tr, w.post(base)
		}},
		{name: "http1/answered/502 of a plain HTTP proxy", want: httpoutcome.Answered, seen: 1, why: "somebody answered the request; who, is the caller's to judge", run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.via("http://" + w.serve(nil, answer("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"))), w.post("http://127.0.0.1:1")
		}},
	}
}

// noticed tells when the transport closes its side.
type noticed struct {
	net.Conn
	closed chan<- struct{}
}

func (c *noticed) Close() error {
	err := c.Conn.Close()
	select {
	case c.closed <- struct{}{}:
	default:
	}
	return err
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func gzipped(text string) string {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return buf.String()
}

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
