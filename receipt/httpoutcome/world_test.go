package httpoutcome_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// world is one row's servers, and the ledger that they keep: what the other side saw, told by nobody on the client's side.
type world struct {
	t      *testing.T
	ctx    context.Context
	cancel context.CancelFunc
	done   context.Context // ends when the row is over
	finish context.CancelFunc

	seen      atomic.Int32 // complete request heads for effectPath
	processed atomic.Int32 // those that were not given back by an HTTP/2 promise
	bytes     atomic.Int64 // request bytes on connections of scripted HTTP/1 servers
	servers   sync.WaitGroup
	listeners []io.Closer
}

const effectPath, payload = "/effect", "amount=1799"

func newWorld(t *testing.T) *world {
	w := &world{t: t}
	w.ctx, w.cancel = context.WithTimeout(t.Context(), 20*time.Second) // a guard against a hang; no row waits for it
	w.done, w.finish = context.WithCancel(t.Context())
	t.Cleanup(w.settle)
	return w
}

// settle waits until every server has read what there was to read: only then the ledger is final.
func (w *world) settle() {
	w.cancel()
	w.finish()
	for _, l := range w.listeners {
		_ = l.Close()
	}
	w.servers.Wait()
}

// peer is one accepted connection of a scripted HTTP/1 server; n counts the connections from 0.
type peer struct {
	w   *world
	n   int
	raw *net.TCPConn
	net.Conn
	br *bufio.Reader
}

// serve runs script for every connection, and closes the connection when the script returns.
func (w *world) serve(config *tls.Config, script func(p *peer)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	w.listeners = append(w.listeners, l)
	w.servers.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(w.t.Context(), func() { _ = c.Close() })
			w.servers.Go(func() {
				defer stop()
				defer c.Close()
				p := &peer{w: w, n: n, raw: c.(*net.TCPConn), Conn: c}
				if config != nil {
					secured := tls.Server(c, config)
					if secured.Handshake() != nil {
						return
					}
					p.Conn = secured
				}
				p.br = bufio.NewReader(&counted{p.Conn, &w.bytes})
				script(p)
			})
		}
	})
	return l.Addr().String()
}

type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// head reads one whole request head and enters it in the ledger. It returns the request line and fields, or "" at the end.
func (p *peer) head() string {
	var text strings.Builder
	for {
		line, err := p.br.ReadString('\n')
		if err != nil {
			return ""
		}
		text.WriteString(line)
		if line == "\r\n" {
			break
		}
	}
	if strings.Contains(text.String(), effectPath+" HTTP/1.1\r\n") {
		p.w.seen.Add(1)
		p.w.processed.Add(1)
	}
	return text.String()
}

// request reads a head and the payload.
func (p *peer) request() {
	p.head()
	_, _ = io.CopyN(io.Discard, p.br, int64(len(payload)))
}

// warm serves one whole exchange, so that the connection becomes a reused one.
func (p *peer) warm() {
	p.head()
	p.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
}

func (p *peer) say(text string) { _, _ = io.WriteString(p.Conn, text) }

// hold waits until the client is gone.
func (p *peer) hold() { _, _ = io.Copy(io.Discard, p.br) }

// reset makes the close of the connection an RST.
func (p *peer) reset() {
	_ = p.raw.SetLinger(0)
	_ = p.raw.Close()
}

// answer serves one request with the given bytes, then closes.
func answer(text string) func(*peer) {
	return func(p *peer) { p.request(); p.say(text) }
}

func (w *world) post(base string) *http.Request {
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, base+effectPath, strings.NewReader(payload))
	require.NoError(w.t, err)
	req.Header.Set("Idempotency-Key", "order-1729/charge")
	return req
}

func (w *world) postEmpty(base, field string) *http.Request {
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, base+effectPath, nil)
	require.NoError(w.t, err)
	req.Header.Set(field, "order-1729/charge")
	return req
}

// transport trusts the test certificate and asks no environment for a proxy.
func (w *world) transport() *http.Transport {
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted().roots}, ForceAttemptHTTP2: true}
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			// When the row is over the server reads what is on its way, then the end. HTTP/2 may keep the connection otherwise.
			context.AfterFunc(w.done, func() { _ = c.(*net.TCPConn).CloseWrite() })
		}
		return c, err
	}
	w.t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// via sends everything through the proxy at the URL.
func (w *world) via(proxy string) *http.Transport {
	u, err := url.Parse(proxy)
	require.NoError(w.t, err)
	tr := w.transport()
	tr.Proxy = http.ProxyURL(u)
	return tr
}

// warm makes one exchange that leaves an idle connection in tr.
func (w *world) warm(tr http.RoundTripper, base string) {
	req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, base+"/warm", nil)
	require.NoError(w.t, err)
	resp, err := tr.RoundTrip(req)
	require.NoError(w.t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
}

type authority struct {
	cert  tls.Certificate
	roots *x509.CertPool
}

// trusted is httptest's certificate: for 127.0.0.1, ::1 and example.com.
var trusted = sync.OnceValue(func() authority {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return authority{s.TLS.Certificates[0], roots}
})

func tlsConfig(protocols ...string) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{trusted().cert}, NextProtos: protocols}
}
