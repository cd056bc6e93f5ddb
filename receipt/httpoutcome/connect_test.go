package httpoutcome_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/intentlog/intentlog/receipt/httpoutcome"
	"github.com/stretchr/testify/require"
)

// connectFaults are those before a connection is there to write to.
func connectFaults() []fault {
	const (
		notSent = httpoutcome.NotSent
		unknown = httpoutcome.Unknown
	)
	// handshake is a server that does what it wants with the raw connection of a client that wants TLS.
	handshake := func(script func(*peer)) func(*world) (http.RoundTripper, *http.Request) {
		return func(w *world) (http.RoundTripper, *http.Request) {
			addr := w.serve(nil, func(p *peer) {
				_, _ = p.Conn.Read(make([]byte, 1)) // the ClientHello has come; not by br, for it is no byte of the request
				script(p)
			})
			return w.transport(), w.post("https://" + addr)
		}
	}
	connect := func(script func(*peer)) func(*world) (http.RoundTripper, *http.Request) {
		return func(w *world) (http.RoundTripper, *http.Request) {
			// The CONNECT head is the proxy's business, not a byte of the request: it is read past the ledger.
			proxy := w.serve(nil, func(p *peer) {
				_, _ = http.ReadRequest(bufio.NewReader(p.Conn))
				script(p)
			})
			return w.via("http://" + proxy), w.post("https://127.0.0.1:1")
		}
	}
	secured := func(server *tls.Config, client func(*tls.Config)) func(*world) (http.RoundTripper, *http.Request) {
		return func(w *world) (http.RoundTripper, *http.Request) {
			tr := w.transport()
			if client != nil {
				client(tr.TLSClientConfig)
			}
			return tr, w.post("https://" + w.serve(server, func(p *peer) { p.request() }))
		}
	}
	return []fault{
		{name: "connect/refused", want: notSent, why: "no TCP connection", run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.transport(), w.post("http://" + closedPort(w))
		}},
		{name: "connect/DNS says no such name", want: notSent, why: "no address", run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.resolving(nameServer(w)), w.post("http://pay.invalid")
		}},
		{name: "connect/DNS unreachable", want: notSent, why: "no address", run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.resolving(""), w.post("http://pay.invalid")
		}},
		{name: "connect/cancelled in dial", want: notSent, why: "the dial never ended", run: func(w *world) (http.RoundTripper, *http.Request) {
			tr := w.transport()
			tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				w.cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return tr, w.post("http://127.0.0.1:1")
		}},
		{name: "connect/cancelled in queue for a connection", want: notSent, why: "MaxConnsPerHost let nothing through", run: func(w *world) (http.RoundTripper, *http.Request) {
			addr := w.serve(nil, func(p *peer) { p.head(); p.say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"); p.hold() })
			tr := w.transport()
			tr.MaxConnsPerHost = 1
			first, err := http.NewRequestWithContext(w.ctx, http.MethodGet, "http://"+addr+"/warm", nil)
			require.NoError(w.t, err)
			resp, err := tr.RoundTrip(first) // its body never comes, so it keeps the only connection
			require.NoError(w.t, err)
			w.t.Cleanup(func() { _ = resp.Body.Close() })
			w.bytes.Store(0)
			ctx, cancel := context.WithTimeout(w.ctx, 30*time.Millisecond)
			w.t.Cleanup(cancel)
			return tr, w.post("http://" + addr).WithContext(ctx)
		}},
		{name: "connect/context ended before", want: notSent, why: "nothing was begun", run: func(w *world) (http.RoundTripper, *http.Request) {
			req := w.post("http://" + w.serve(nil, (*peer).request))
			w.cancel()
			return w.transport(), req
		}},
		{name: "connect/invalid header", want: notSent, why: "net/http refuses it, and so do we", run: func(w *world) (http.RoundTripper, *http.Request) {
			req := w.post("http://" + w.serve(nil, (*peer).request))
			req.Header.Set("X-Note", "a\nb")
			return w.transport(), req
		}},
		{name: "connect/proxy function fails", want: unknown, why: "the transport fails before it reports anything: no evidence, no claim", run: func(w *world) (http.RoundTripper, *http.Request) {
			tr := w.transport()
			tr.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New("no proxy today") }
			return tr, w.post("http://" + w.serve(nil, (*peer).request))
		}},
		{name: "tls/unknown authority", want: notSent, why: "the client left the handshake", run: secured(tlsConfig(), func(c *tls.Config) { c.RootCAs = x509.NewCertPool() })},
		{name: "tls/other name", want: notSent, why: "the client left the handshake", run: secured(tlsConfig(), func(c *tls.Config) { c.ServerName = "pay.invalid" })},
		{name: "tls/expired certificate", want: notSent, why: "the client left the handshake", run: func(w *world) (http.RoundTripper, *http.Request) {
			cert, roots := expired(w)
			tr := w.transport()
			tr.TLSClientConfig.RootCAs = roots
			return tr, w.post("https://" + w.serve(&tls.Config{Certificates: []tls.Certificate{cert}}, (*peer).request))
		}},
		{name: "tls/no common version", want: notSent, why: "no handshake", run: secured(
			&tls.Config{Certificates: tlsConfig().Certificates, MaxVersion: tls.VersionTLS12}, func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 })},
		{name: "tls/closed in handshake", want: notSent, why: "no handshake", run: handshake(func(*peer) {})},
		{name: "tls/reset in handshake", want: notSent, why: "no handshake", run: handshake((*peer).reset)},
		{name: "tls/server speaks plain HTTP", want: notSent, why: "no handshake", run: handshake(func(p *peer) { p.say("HTTP/1.1 400 Bad Request\r\n\r\n") })},
		{name: "tls/handshake times out", want: notSent, why: "no handshake", run: func(w *world) (http.RoundTripper, *http.Request) {
			rt, req := handshake(func(p *peer) { _, _ = io.Copy(io.Discard, p.Conn) })(w)
			rt.(*http.Transport).TLSHandshakeTimeout = 30 * time.Millisecond
			return rt, req
		}},
		{name: "tls/cancelled in handshake", want: notSent, why: "no handshake", run: handshake(func(p *peer) { p.w.cancel(); _, _ = io.Copy(io.Discard, p.Conn) })},
		{name: "tls/client certificate missing, TLS 1.2", want: notSent, why: "refused inside the handshake", run: secured(
			&tls.Config{Certificates: tlsConfig().Certificates, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}, nil)},
		{name: "tls/client certificate missing, TLS 1.3", want: unknown, why: "TLS 1.3 lets the client write before it can hear the refusal", run: func(w *world) (http.RoundTripper, *http.Request) {
			return secured(&tls.Config{Certificates: tlsConfig().Certificates, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}, nil)(w)
		}},
		{name: "proxy/refused", want: notSent, why: "no TCP connection to the proxy", run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.via("http://" + closedPort(w)), w.post("https://127.0.0.1:1")
		}},
		{name: "proxy/CONNECT answered 502", want: notSent, why: "no tunnel", run: connect(func(p *peer) { p.say("HTTP/1.1 502 Bad Gateway\r\n\r\n") })},
		{name: "proxy/CONNECT answered 407", want: notSent, why: "no tunnel", run: connect(func(p *peer) { p.say("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") })},
		{name: "proxy/CONNECT answer cut", want: notSent, why: "no tunnel", run: connect(func(p *peer) { p.say("HTTP/1.1 200 Conn") })},
		{name: "proxy/CONNECT reset", want: notSent, why: "no tunnel", run: connect((*peer).reset)},
		{name: "proxy/tunnel cut in handshake", want: notSent, why: "the tunnel stood, TLS did not", run: connect(func(p *peer) { p.say("HTTP/1.1 200 OK\r\n\r\n") })},
		{name: "proxy/SOCKS5 refuses", want: notSent, why: "no tunnel", run: func(w *world) (http.RoundTripper, *http.Request) {
			proxy := w.serve(nil, func(p *peer) {
				_, _ = io.ReadFull(p.Conn, make([]byte, 3))
				p.say("\x05\xff") // no acceptable method
			})
			return w.via("socks5://" + proxy), w.post("http://127.0.0.1:1")
		}},
	}
}

// closedPort is an address that nobody listens at.
func closedPort(w *world) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	require.NoError(w.t, l.Close())
	return l.Addr().String()
}

// nameServer answers every question over UDP with NXDOMAIN.
func nameServer(w *world) string {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(w.t, err)
	w.listeners = append(w.listeners, c)
	w.servers.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if n > 11 {
				buf[2], buf[3] = 0x81, 0x83 // response, recursion, NXDOMAIN
				buf[10], buf[11] = 0, 0     // the question may have brought an EDNS record; leave it out
				_, _ = c.WriteTo(buf[:n], from)
			}
		}
	})
	return c.LocalAddr().String()
}

// resolving is a transport whose names are looked up at server only; "" is a server that cannot be reached.
func (w *world) resolving(server string) *http.Transport {
	tr := w.transport()
	tr.DialContext = (&net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if server == "" {
			return nil, errors.New("network is unreachable")
		}
		return new(net.Dialer).DialContext(ctx, "udp", server)
	}}}).DialContext
	return tr
}

// expired makes a certificate for 127.0.0.1 that was valid until an hour ago.
func expired(w *world) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(w.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "expired"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(w.t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(w.t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
