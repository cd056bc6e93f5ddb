package fluss

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/wire"
)

// conn is one connection. Requests are written by the goroutines that make them; one goroutine reads the answers and hands each to the
// call with its id. A call that gave up leaves nothing behind: its late answer is skipped. A frame that was written in part, or an answer
// that cannot be read, ends the connection, since nothing after it can be trusted.
type conn struct {
	addr     string
	nc       net.Conn
	limit    int
	timeout  time.Duration
	versions map[msg.Key]int16 // what the handshake agreed on; written before the conn is shared

	// writing holds one token; who has it may write to nc and use out. It is a channel and not a mutex because a writer may wait
	// for the network while it holds it: others must be able to give up, and time must pass in a synctest bubble.
	writing chan struct{}
	out     []byte

	frames atomic.Int64  // frames received, to tell a slow answer from a dead peer
	done   chan struct{} // closed when the reader has ended

	mu      sync.Mutex
	pending map[int32]*call
	nextID  int32
	free    []*call // finished calls; kept per connection, so that channels never cross a synctest bubble
	err     error   // why the connection ended, nil while it lives
}

func newConn(addr string, nc net.Conn, o *Options) *conn {
	c := &conn{
		addr: addr, nc: nc, limit: o.MaxFrame, timeout: o.RequestTimeout,
		writing: make(chan struct{}, 1), done: make(chan struct{}), pending: map[int32]*call{},
	}
	c.writing <- struct{}{}
	return c
}

// readLoop runs until the connection ends.
func (c *conn) readLoop() {
	defer close(c.done)
	r := bufio.NewReaderSize(c.nc, 64<<10)
	var scratch [9]byte
	for {
		h, err := wire.ReadHeader(r, &scratch, c.limit)
		if err != nil {
			c.kill(err)
			return
		}
		if h.Kind == wire.KindFailure {
			c.kill(c.failure(r, h))
			return
		}
		cl := c.take(h.ID)
		if cl == nil {
			if _, err := r.Discard(h.Body); err != nil {
				c.kill(err)
				return
			}
			c.frames.Add(1)
			continue
		}
		cl.kind = h.Kind
		cl.body, cl.err = wire.ReadBody(r, h.Body, cl.body)
		c.frames.Add(1)
		err = cl.err // cl is its caller's as soon as ready holds the token
		cl.ready <- struct{}{}
		if err != nil {
			c.kill(err)
			return
		}
	}
}

// failure reads the body of a frame that says why the server ends the connection.
func (c *conn) failure(r *bufio.Reader, h wire.Header) error {
	body, err := wire.ReadBody(r, h.Body, nil)
	if err != nil {
		return err
	}
	var e msg.ErrorResponse
	if err := e.Decode(body); err != nil {
		return err
	}
	// Not a ServerError: it answers none of the requests in flight, so nothing may be concluded about them from its code.
	return fmt.Errorf("the server ended the connection: %s (%d): %.256q", e.Code, int32(e.Code), e.Message)
}

// kill ends the connection and every call in flight. Only the first reason counts.
func (c *conn) kill(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = why
	orphans := c.pending
	c.pending = nil
	c.mu.Unlock()
	_ = c.nc.Close()
	for _, cl := range orphans {
		cl.err = why
		cl.ready <- struct{}{}
	}
}

// alive reports whether the connection can still be used, as far as is known.
func (c *conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil
}

func (c *conn) take(id int32) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.pending[id]
	delete(c.pending, id)
	return cl
}

func (c *conn) register(api msg.Key, buf []byte) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	var cl *call
	if n := len(c.free); n > 0 {
		cl, c.free = c.free[n-1], c.free[:n-1]
	} else {
		cl = &call{ready: make(chan struct{}, 1)}
	}
	c.nextID++
	cl.api, cl.id, cl.frames, cl.body = api, c.nextID, c.frames.Load(), buf
	c.pending[cl.id] = cl
	return cl, nil
}

// maxFree bounds the finished calls that are kept for reuse.
const maxFree = 64

func (c *conn) release(cl *call) {
	cl.body, cl.err = nil, nil
	c.mu.Lock()
	if len(c.free) < maxFree {
		c.free = append(c.free, cl)
	}
	c.mu.Unlock()
}

// version returns the version of an API that both sides speak.
func (c *conn) version(api msg.Key) (int16, error) {
	if v, ok := c.versions[api]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("%w: %s at %s", ErrUnsupported, api, c.addr)
}

// start writes a request and returns the call that waits for its answer.
// The body of the answer is read into buf when it is large enough; buf belongs to the call until wait has returned without errWait.
func (c *conn) start(ctx context.Context, req msg.Request, buf []byte) (*call, error) {
	v, err := c.version(req.Key())
	if err != nil {
		return nil, err
	}
	if err := c.lock(ctx, req.Key()); err != nil {
		return nil, err
	}
	c.out = wire.AppendRequest(c.out[:0], int16(req.Key()), v, 0, 0)
	c.out = req.Append(c.out)
	cl, err := c.write(req.Key(), c.out, buf)
	if cap(c.out) > 1<<20 {
		c.out = nil
	}
	c.writing <- struct{}{}
	return cl, err
}

// startFrame is start for a frame that is encoded already. Its header is set in place; the body is sent as it is.
func (c *conn) startFrame(ctx context.Context, api msg.Key, frame []byte) (*call, error) {
	v, err := c.version(api)
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint16(frame[6:], uint16(v))
	if err := c.lock(ctx, api); err != nil {
		return nil, err
	}
	cl, err := c.write(api, frame, nil)
	c.writing <- struct{}{}
	return cl, err
}

// lock takes the writer's token.
func (c *conn) lock(ctx context.Context, api msg.Key) error {
	if err := ctx.Err(); err != nil {
		return &TransportError{API: api, Addr: c.addr, Err: err}
	}
	select {
	case <-c.writing:
		return nil
	default:
	}
	t := time.NewTimer(c.timeout)
	defer t.Stop()
	select {
	case <-c.writing:
		return nil
	case <-ctx.Done():
		return &TransportError{API: api, Addr: c.addr, Err: ctx.Err()}
	case <-t.C:
		return &TransportError{API: api, Addr: c.addr, Err: os.ErrDeadlineExceeded}
	}
}

// write sends a frame. The caller holds the token. Cancelling does not interrupt it, the request timeout does: a frame must leave whole
// or the connection is lost to all.
func (c *conn) write(api msg.Key, frame, buf []byte) (*call, error) {
	if len(frame) > c.limit {
		return nil, &TransportError{API: api, Addr: c.addr, Err: fmt.Errorf("%w: request of %d bytes", wire.ErrFrameSize, len(frame))}
	}
	cl, err := c.register(api, buf)
	if err != nil {
		return nil, &TransportError{API: api, Addr: c.addr, Err: err}
	}
	wire.SetRequest(frame, cl.id)
	_ = c.nc.SetWriteDeadline(time.Now().Add(c.timeout))
	if _, err := c.nc.Write(frame); err != nil {
		// The kernel, or a TLS layer, may have taken a part: from here on nobody can say that nothing was sent.
		c.kill(fmt.Errorf("write: %w", err))
		return nil, &TransportError{API: api, Addr: c.addr, Sent: true, Err: err}
	}
	return cl, nil
}
