package fluss

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/wire"
)

// call is one request in flight. It belongs to the caller until it is registered, to the reader once it is taken out of pending, and to
// the caller again once ready holds a token.
type call struct {
	api    msg.Key
	id     int32
	ready  chan struct{}
	timer  *time.Timer
	frames int64 // conn.frames when it was sent
	kind   wire.Kind
	body   []byte // before the answer: a buffer for it, or nil
	err    error
}

// errWait marks a wait that ended before the call did: the request may still be answered.
var errWait = errors.New("no answer in time")

// wait waits for the answer of a call, at most until the context ends or the timeout is over, and returns the body of the answer. When it
// returns an error that is errWait the call is still in flight and may be waited for again, or dropped with abandon; in all other cases
// the call is finished.
func (c *conn) wait(ctx context.Context, cl *call, timeout time.Duration) ([]byte, error) {
	select {
	case <-cl.ready:
		return c.finish(cl)
	default:
	}
	if cl.timer == nil {
		cl.timer = time.NewTimer(timeout)
	} else {
		cl.timer.Reset(timeout)
	}
	select {
	case <-cl.ready:
		cl.timer.Stop()
		return c.finish(cl)
	case <-ctx.Done():
		cl.timer.Stop()
		return nil, &TransportError{API: cl.api, Addr: c.addr, Sent: true, Err: errors.Join(errWait, ctx.Err())}
	case <-cl.timer.C:
		return nil, &TransportError{API: cl.api, Addr: c.addr, Sent: true, Err: errors.Join(errWait, os.ErrDeadlineExceeded)}
	}
}

func (c *conn) finish(cl *call) ([]byte, error) {
	api, kind, body, err := cl.api, cl.kind, cl.body, cl.err
	c.release(cl)
	switch {
	case err != nil:
		return nil, &TransportError{API: api, Addr: c.addr, Sent: true, Err: err}
	case kind == wire.KindError:
		var e msg.ErrorResponse
		if err := e.Decode(body); err != nil {
			return nil, &TransportError{API: api, Addr: c.addr, Sent: true, Err: fmt.Errorf("%w: %w", ErrProtocol, err)}
		}
		return nil, serverError(api, c.addr, e.Code, e.Message)
	}
	return body, nil
}

// abandon gives up a call whose wait ended. When the peer has sent nothing at all since the request left and the request's own time is
// over, the connection is taken for dead: otherwise every later request would first have to find that out for itself.
func (c *conn) abandon(cl *call, err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) && c.frames.Load() == cl.frames {
		c.kill(fmt.Errorf("peer is silent: %w", os.ErrDeadlineExceeded))
		return
	}
	if c.take(cl.id) != nil {
		c.release(cl)
	}
}

// roundTrip sends a request and decodes its answer into resp.
func (c *conn) roundTrip(ctx context.Context, req msg.Request, resp msg.Message) error {
	cl, err := c.start(ctx, req, nil)
	if err != nil {
		return err
	}
	body, err := c.wait(ctx, cl, c.timeout)
	if err != nil {
		if errors.Is(err, errWait) {
			c.abandon(cl, err)
		}
		return err
	}
	if err := resp.Decode(body); err != nil {
		return &TransportError{API: req.Key(), Addr: c.addr, Sent: true, Err: fmt.Errorf("%w: %w", ErrProtocol, err)}
	}
	return nil
}
