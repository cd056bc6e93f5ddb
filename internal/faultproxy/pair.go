package faultproxy

import (
	"bufio"
	"net"
	"sync"
	"time"
)

// end is one side of a connection. Held frames and those that pass them are written
// by different goroutines.
type end struct {
	net.Conn
	mu sync.Mutex
}

func (e *end) deliver(b []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.Write(b)
	return err
}

// pair is a client's connection and the one to the server that belongs to it.
type pair struct {
	p              *Proxy
	number         int
	target         string
	client, server *end

	mu   sync.Mutex
	lost map[uint32]bool // requests whose responses are to be lost
	held int             // requests that are held back
	gone bool            // to be closed, when nothing is held any more
}

// close ends both sides. While a request is held back the server's side stays, so
// that it can arrive late.
func (c *pair) close() {
	_ = c.client.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	if c.held == 0 {
		_ = c.server.Close()
	}
}

func (c *pair) hold(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held += n
	if c.held == 0 && c.gone {
		_ = c.server.Close()
	}
}

// pump carries the frames of one direction until the connection ends.
func (c *pair) pump(response bool) {
	defer c.close()
	src, dst, next, id := c.client, c.server, c.p.framing.Request, c.p.framing.RequestID
	if response {
		src, dst, next, id = c.server, c.client, c.p.framing.Response, c.p.framing.ResponseID
	}
	r := bufio.NewReaderSize(src, 64<<10)
	for n := uint32(1); ; n++ {
		frame, err := next(r)
		if err != nil {
			return
		}
		which := n
		if id != nil {
			which = id(frame)
		}
		act := c.p.ask(Frame{Conn: c.number, Target: c.target, Response: response, Bytes: frame})
		c.mu.Lock()
		if response && c.lost[which] {
			delete(c.lost, which)
			act.Drop = true
		} else if !response && act.DropResponse {
			c.lost[which] = true
		}
		c.mu.Unlock()
		if !c.carry(dst, frame, act, response) {
			return
		}
	}
}

// carry does to a frame what the action says. It returns false when the connection
// is to end.
func (c *pair) carry(dst *end, frame []byte, act Action, response bool) bool {
	if act.Delay > 0 {
		t := time.NewTimer(act.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.p.done:
			return false
		}
	}
	if act.Replace != nil {
		frame = act.Replace
	}
	if act.Hold == nil {
		return (act.Drop || dst.deliver(frame) == nil) && !act.Cut
	}
	if !response {
		c.hold(1)
	}
	c.p.tasks.Go(func() {
		if !response {
			defer c.hold(-1)
		}
		select {
		case <-act.Hold:
			if !act.Drop {
				_ = dst.deliver(frame) // nobody is left to be told
			}
		case <-c.p.done:
		}
	})
	return !act.Cut
}
