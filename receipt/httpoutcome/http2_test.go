package httpoutcome_test

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/intentlog/intentlog/receipt/httpoutcome"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// peer2 is one connection of a scripted HTTP/2 server.
type peer2 struct {
	*peer
	fr *http2.Framer
}

// over2 speaks the preface and settings, then runs script; afterwards it reads on until the client is gone, unless the script closed.
func over2(script func(*peer2)) func(*peer) {
	return func(p *peer) {
		if _, err := io.CopyN(io.Discard, p.br, int64(len(http2.ClientPreface))); err != nil {
			return
		}
		fr := http2.NewFramer(p.Conn, p.br)
		fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		p2 := &peer2{p, fr}
		_ = fr.WriteSettings()
		script(p2)
		for p2.frame() != nil {
		}
	}
}

// frame returns the next frame, after the answers that the protocol asks for; nil when the connection is gone.
func (p *peer2) frame() http2.Frame {
	f, err := p.fr.ReadFrame()
	if err != nil {
		return nil
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			_ = p.fr.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = p.fr.WritePing(true, f.Data)
		}
	case *http2.MetaHeadersFrame:
		if f.PseudoValue("path") == effectPath {
			p.w.seen.Add(1)
			p.w.processed.Add(1)
		}
	}
	return f
}

// open waits for a request's head and returns its stream; whole waits for its last byte too.
func (p *peer2) open() uint32 {
	for f := p.frame(); f != nil; f = p.frame() {
		if h, ok := f.(*http2.MetaHeadersFrame); ok {
			return h.StreamID
		}
	}
	return 1
}

func (p *peer2) whole() uint32 {
	for f := p.frame(); f != nil; f = p.frame() {
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamEnded() {
				return f.StreamID
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				return f.StreamID
			}
		}
	}
	return 1
}

func (p *peer2) headers(id uint32, end bool, fields ...string) {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

func (p *peer2) rst(id uint32, code http2.ErrCode) { _ = p.fr.WriteRSTStream(id, code) }

// giveBack is the server's word that it did not process the stream.
func (p *peer2) giveBack() { p.w.processed.Add(-1) }

func http2Faults() []fault {
	const (
		notSent  = httpoutcome.NotSent
		unknown  = httpoutcome.Unknown
		answered = httpoutcome.Answered
	)
	row := func(name string, want httpoutcome.Outcome, seen int, why string, script func(*peer2)) fault {
		return fault{name: "http2/" + name, want: want, seen: seen, promised: want == notSent, why: why, run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.transport(), w.post("https://" + w.serve(tlsConfig("h2"), over2(script)))
		}}
	}
	empty := func(f fault) fault {
		run := f.run
		f.run = func(w *world) (http.RoundTripper, *http.Request) {
			rt, req := run(w)
			return rt, w.postEmpty("https://"+req.URL.Host, "Idempotency-Key")
		}
		return f
	}
	refuse := func(p *peer2) { id := p.open(); p.giveBack(); p.rst(id, http2.ErrCodeRefusedStream) }
	return []fault{
		row("answered", answered, 1, "whole answer", func(p *peer2) {
			id := p.whole()
			p.headers(id, false, ":status", "201", "content-length", "4")
			_ = p.fr.WriteData(id, true, []byte("id=1"))
		}),
		row("answered without length", answered, 1, "END_STREAM is the end", func(p *peer2) {
			id := p.whole()
			p.headers(id, false, ":status", "201")
			_ = p.fr.WriteData(id, true, []byte("id=1"))
		}),
		row("answered early, then NO_ERROR", answered, 1, "RFC 9113 section 8.1 allows it", func(p *peer2) {
			id := p.open()
			p.headers(id, true, ":status", "413")
			p.rst(id, http2.ErrCodeNo)
		}),
		row("answered after a graceful GOAWAY", answered, 1, "the stream is not above the last identifier", func(p *peer2) {
			id := p.whole()
			_ = p.fr.WriteGoAway(id, http2.ErrCodeNo, nil)
			p.headers(id, true, ":status", "200")
		}),
		row("REFUSED_STREAM", notSent, 1, "RFC 9113 section 8.7: no processing has occurred", refuse),
		row("REFUSED_STREAM after the body", notSent, 1, "RFC 9113 section 8.7: no processing has occurred", func(p *peer2) {
			id := p.whole()
			p.giveBack()
			p.rst(id, http2.ErrCodeRefusedStream)
		}),
		row("REFUSED_STREAM after 103", unknown, 1, "a peer that began to answer has processed something, whatever it says later", func(p *peer2) {
			id := p.whole()
			p.headers(id, false, ":status", "103")
			p.rst(id, http2.ErrCodeRefusedStream)
		}),
		row("REFUSED_STREAM after the response's head", unknown, 1, "the response was not complete", func(p *peer2) {
			id := p.whole()
			p.headers(id, false, ":status", "200")
			p.rst(id, http2.ErrCodeRefusedStream)
		}),
		empty(row("REFUSED_STREAM, no request body", unknown, 1, "the transport's own retry was stopped, and with it the cause was lost", func(p *peer2) { p.rst(p.open(), http2.ErrCodeRefusedStream) })),
		row("GOAWAY below the stream", notSent, 1, "RFC 9113 section 6.8: not and never processed", func(p *peer2) {
			p.open()
			p.giveBack()
			_ = p.fr.WriteGoAway(0, http2.ErrCodeNo, nil)
		}),
		row("GOAWAY below the stream with an error", notSent, 1, "RFC 9113 section 6.8: not and never processed", func(p *peer2) {
			p.open()
			p.giveBack()
			_ = p.fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("too fast"))
		}),
		row("GOAWAY at the stream, then closed", unknown, 1, "the stream may have been processed", func(p *peer2) {
			_ = p.fr.WriteGoAway(p.whole(), http2.ErrCodeNo, nil)
			_ = p.Close()
		}),
		row("GOAWAY that quotes a promise", unknown, 1, "a peer's words must not look like the transport's", func(p *peer2) {
			_ = p.fr.WriteGoAway(p.whole(), http2.ErrCodeInternal, []byte("http2: Transport received Server's graceful shutdown GOAWAY"))
			_ = p.Close()
		}),
		row("INTERNAL_ERROR", unknown, 1, "promises nothing", func(p *peer2) { p.rst(p.whole(), http2.ErrCodeInternal) }),
		row("CANCEL", unknown, 1, "promises nothing", func(p *peer2) { p.rst(p.whole(), http2.ErrCodeCancel) }),
		row("PROTOCOL_ERROR", unknown, 1, "net/http would send it again, and yet it promises nothing", func(p *peer2) { p.rst(p.whole(), http2.ErrCodeProtocol) }),
		empty(row("PROTOCOL_ERROR, no request body", unknown, 1, "net/http would send it again, and yet it promises nothing", func(p *peer2) { p.rst(p.whole(), http2.ErrCodeProtocol) })),
		row("reset in the response body", unknown, 1, "truncated", func(p *peer2) {
			id := p.whole()
			p.headers(id, false, ":status", "201")
			_ = p.fr.WriteData(id, false, []byte("id="))
			p.rst(id, http2.ErrCodeNo)
		}),
		row("response shorter than declared", unknown, 1, "truncated", func(p *peer2) {
			id := p.whole()
			p.headers(id, false, ":status", "201", "content-length", "100")
			_ = p.fr.WriteData(id, true, []byte("id=1"))
		}),
		row("response without a status", unknown, 1, "malformed", func(p *peer2) { p.headers(p.whole(), true, "content-type", "text/plain") }),
		row("103, then closed", unknown, 1, "informational is no answer", func(p *peer2) { p.headers(p.whole(), false, ":status", "103"); _ = p.Close() }),
		row("closed after the request", unknown, 1, "the answer was lost", func(p *peer2) { p.whole(); _ = p.Close() }),
		row("reset after the head", unknown, 1, "the server may act on a head", func(p *peer2) { p.open(); p.reset() }),
		row("frame too large", unknown, 1, "malformed", func(p *peer2) { p.whole(); _, _ = p.Write([]byte("\xff\xff\xff\x00\x00\x00\x00\x00\x01")) }),
		row("cancelled after the request", unknown, 1, "cancelling proves nothing about the other side", func(p *peer2) { p.whole(); p.w.cancel() }),
		{name: "http2/response header timeout", want: unknown, seen: 1, why: "a timeout proves nothing about the other side", run: func(w *world) (http.RoundTripper, *http.Request) {
			tr := w.transport()
			tr.ResponseHeaderTimeout = 30 * time.Millisecond
			return tr, w.post("https://" + w.serve(tlsConfig("h2"), over2(func(p *peer2) { p.whole() })))
		}},
		{name: "http2/closed before the head", want: unknown, seen: 0, why: "the connection had been handed over", run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.transport(), w.post("https://" + w.serve(tlsConfig("h2"), func(*peer) {}))
		}},
		{name: "http2/not HTTP/2 behind the handshake", want: unknown, seen: 0, why: "the connection had been handed over", run: func(w *world) (http.RoundTripper, *http.Request) {
			return w.transport(), w.post("https://" + w.serve(tlsConfig("h2"), func(p *peer) { p.say("HTTP/1.1 400 Bad Request\r\n\r\n") }))
		}},
		{name: "http2/cleartext, REFUSED_STREAM", want: notSent, seen: 1, promised: true, why: "the same promise without TLS", run: func(w *world) (http.RoundTripper, *http.Request) {
			tr := w.transport()
			tr.Protocols = new(http.Protocols)
			tr.Protocols.SetUnencryptedHTTP2(true)
			return tr, w.post("http://" + w.serve(nil, over2(refuse)))
		}},
		{name: "http2/reused connection, REFUSED_STREAM", want: notSent, seen: 1, promised: true, why: "the same promise on a later stream", run: func(w *world) (http.RoundTripper, *http.Request) {
			tr := w.transport()
			base := "https://" + w.serve(tlsConfig("h2"), over2(func(p *peer2) { p.headers(p.whole(), true, ":status", "200"); refuse(p) }))
			w.warm(tr, base)
			return tr, w.post(base)
		}},
		{name: "http2/reused connection, GOAWAY with an error", want: notSent, seen: 1, promised: true, why: "RFC 9113 section 6.8: not and never processed", run: func(w *world) (http.RoundTripper, *http.Request) {
			tr := w.transport()
			base := "https://" + w.serve(tlsConfig("h2"), over2(func(p *peer2) {
				first := p.whole()
				p.headers(first, true, ":status", "200")
				p.open()
				p.giveBack()
				_ = p.fr.WriteGoAway(first, http2.ErrCodeInternal, nil)
			}))
			w.warm(tr, base)
			return tr, w.post(base)
		}},
	}
}
