package flusstest

import (
	"bufio"
	"bytes"
	"net"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/wire"
)

// fakeConn is one connection to a server of the fake. Requests take effect in the order in which they come; an answer that waits does not
// hold up those behind it.
type fakeConn struct {
	f       *Fake
	node    *node
	nc      net.Conn
	writing chan struct{} // one token; who has it may write to nc
	user    bool          // authenticated; used by loop only
}

func (c *fakeConn) loop() {
	defer func() {
		_ = c.nc.Close()
		c.f.mu.Lock()
		delete(c.f.conns, c)
		c.f.mu.Unlock()
	}()
	r := bufio.NewReader(c.nc)
	for {
		in, err := wire.ReadRequest(r, wire.DefaultMaxFrame)
		if err != nil {
			return
		}
		if !c.handle(in) {
			return
		}
	}
}

// handle acts on one request. It returns false when the connection is to end.
func (c *fakeConn) handle(in wire.Request) bool {
	req := c.f.observe(c.node, in)
	act := Action{}
	c.f.mu.Lock()
	hook := c.f.hook
	c.f.mu.Unlock()
	if hook != nil {
		act = hook(req)
	}
	if act.DropRequest {
		return true
	}
	kind, answer, after := wire.KindSuccess, msg.Message(&msg.Empty{}), (func() msg.Message)(nil)
	if !act.Skip {
		var known bool
		kind, answer, after, known = c.f.apply(c, req)
		if !known {
			return true // as a real server: no answer to what it cannot read
		}
		if act.Duplicate {
			_, _, _, _ = c.f.apply(c, req)
		}
	}
	finish := func() []byte {
		if act.DropResponse || act.Close {
			return nil // nobody will see it
		}
		if after != nil {
			answer = after()
		}
		if act.Edit != nil {
			act.Edit(answer)
		}
		if act.Code != msg.None {
			kind, answer = wire.KindError, &msg.ErrorResponse{Code: act.Code, Message: "as the hook wants it"}
		}
		if act.BucketCode != msg.None {
			if m, ok := refuseBuckets(req.Message, act.BucketCode); ok {
				kind, answer = wire.KindSuccess, m
			} else {
				kind, answer = wire.KindError, &msg.ErrorResponse{Code: act.BucketCode}
			}
		}
		if act.Raw != nil {
			return act.Raw
		}
		return wire.AppendResponse(nil, kind, in.ID, answer.Append(nil))
	}
	if after == nil && act.Delay == 0 && act.Until == nil {
		return c.respond(finish(), act)
	}
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if c.f.closed {
		return false
	}
	c.f.tasks.Go(func() {
		if !c.f.pause(act.Delay, act.Until) || !c.respond(finish(), act) {
			_ = c.nc.Close()
		}
	})
	return true
}

// respond writes an answer. It returns false when the connection is to end.
func (c *fakeConn) respond(frame []byte, act Action) bool {
	switch {
	case act.Close:
		return false
	case act.DropResponse:
		return true
	case act.Half:
		frame = frame[:len(frame)/2]
	}
	select {
	case <-c.writing:
	case <-c.f.done:
		return false
	}
	_, err := c.nc.Write(frame)
	c.writing <- struct{}{}
	return err == nil && !act.Half
}

// observe counts a request and decodes it.
func (f *Fake) observe(n *node, in wire.Request) Request {
	req := Request{Addr: n.addr, Key: msg.Key(in.Key), Version: in.Version}
	if m := req.Key.NewRequest(); m != nil && m.Decode(in.Body) == nil {
		req.Message = m
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serial++
	f.count[req.Key]++
	req.Serial, req.Nth = f.serial, f.count[req.Key]
	return req
}

// apply gives a request its effect. known is false when nothing is to be answered. When after is not nil, it waits for the answer.
func (f *Fake) apply(c *fakeConn, req Request) (kind wire.Kind, answer msg.Message, after func() msg.Message, known bool) {
	if req.Message == nil {
		return 0, nil, nil, false
	}
	refuse := func(code msg.Code, text string) (wire.Kind, msg.Message, func() msg.Message, bool) {
		return wire.KindError, &msg.ErrorResponse{Code: code, Message: text}, nil, true
	}
	if auth, ok := req.Message.(*msg.AuthenticateRequest); ok {
		part := bytes.Split(auth.Token, []byte{0})
		if f.o.Users == nil || auth.Protocol != "PLAIN" || len(part) != 3 || f.o.Users[string(part[1])] != string(part[2]) {
			return refuse(msg.Authenticate, "authentication failed")
		}
		c.user = true
		return wire.KindSuccess, &msg.AuthenticateResponse{Challenge: []byte{}}, nil, true
	}
	if req.Key != msg.KeyApiVersions && f.o.Users != nil && !c.user {
		return refuse(msg.Authenticate, "the connection has not completed authentication yet")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !c.node.serves(req.Key) {
		return 0, nil, nil, false
	}
	if fetch, ok := req.Message.(*msg.FetchLogRequest); ok {
		return wire.KindSuccess, nil, func() msg.Message { return f.longPoll(c.node, fetch) }, true
	}
	answer, code, text := f.answerLocked(c.node, req.Message)
	if code != msg.None {
		return refuse(code, text)
	}
	return wire.KindSuccess, answer, nil, true
}

// longPoll answers a fetch as soon as there is something to say, at the latest when its time is over.
func (f *Fake) longPoll(n *node, req *msg.FetchLogRequest) msg.Message {
	var over <-chan time.Time
	for {
		f.mu.Lock()
		answer, changed, some := f.fetchLocked(n, req)
		f.mu.Unlock()
		if some || req.MaxWaitMs <= 0 || changed == nil {
			return answer
		}
		if over == nil {
			t := time.NewTimer(time.Duration(req.MaxWaitMs) * time.Millisecond)
			defer t.Stop()
			over = t.C
		}
		select {
		case <-changed:
		case <-over:
			return answer
		case <-f.done:
			return answer
		}
	}
}

// serves reports whether a server of the node's kind has the API.
func (n *node) serves(key msg.Key) bool {
	switch key {
	case msg.KeyCreateDatabase, msg.KeyDropDatabase, msg.KeyCreateTable, msg.KeyDropTable:
		return !n.tablet
	case msg.KeyProduceLog, msg.KeyFetchLog, msg.KeyPutKv, msg.KeyLookup, msg.KeyListOffsets, msg.KeyInitWriter, msg.KeyLimitScan:
		return n.tablet
	}
	return true
}
