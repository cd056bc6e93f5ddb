package faultproxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// Frame is a request or a response as a hook sees it.
type Frame struct {
	Conn     int    // number of its connection, from 1
	Target   string // the server's address
	Response bool   // it comes from the server
	N        int    // its number among all requests, or all responses, of the proxy, from 1
	Bytes    []byte // the whole frame; not to be changed or kept
}

// Action is what happens to a frame. The zero Action passes it on. What is set is
// done in the order of the fields.
type Action struct {
	// Delay holds up the frame and all that comes behind it.
	Delay time.Duration
	// Hold keeps the frame back until the channel is closed. Frames behind it pass
	// by. A held request arrives even if its client has long gone.
	Hold <-chan struct{}
	// Drop loses the frame.
	Drop bool
	// Replace, when not nil, is delivered in place of the frame: a part of it,
	// garbage, a length that promises too much.
	Replace []byte
	// DropResponse, for a request, delivers it and loses its response.
	DropResponse bool
	// Cut ends the connection on both sides.
	Cut bool
}

// Proxy is a set of connections between clients and servers. Its methods may be
// called by many goroutines at once.
type Proxy struct {
	framing Framing
	done    chan struct{}
	tasks   sync.WaitGroup

	mu        sync.Mutex
	hook      func(Frame) Action
	listeners map[string]net.Listener // by target
	conns     map[*pair]struct{}
	serial    int    // connections so far
	frames    [2]int // requests and responses so far
	closed    bool
}

// New returns a proxy without a hook, which passes everything on.
func New(f Framing) *Proxy {
	return &Proxy{
		framing: f, done: make(chan struct{}),
		listeners: map[string]net.Listener{}, conns: map[*pair]struct{}{},
	}
}

// SetHook makes hook decide about every frame from now on; nil removes it. Calls of
// the hook do not overlap. It must not wait.
func (p *Proxy) SetHook(hook func(Frame) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Listen returns a loopback address whose connections lead to the target.
func (p *Proxy) Listen(target string) (addr string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return "", net.ErrClosed
	}
	l := p.listeners[target]
	if l == nil {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return "", err
		}
		p.listeners[target] = l
		p.tasks.Go(func() { p.accept(l, target) })
	}
	return l.Addr().String(), nil
}

// Dial connects to a server through the proxy; it fits the dial options of clients.
// It succeeds also when the server cannot be reached; the connection then ends.
func (p *Proxy) Dial(ctx context.Context, network, target string) (net.Conn, error) {
	addr, err := p.Listen(target)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

// Cut ends all connections that there are.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.close()
	}
}

// Close ends the proxy with all its connections and waits for its goroutines.
func (p *Proxy) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	close(p.done)
	for _, l := range p.listeners {
		_ = l.Close()
	}
	for c := range p.conns {
		c.close()
	}
	p.mu.Unlock()
	p.tasks.Wait()
}

func (p *Proxy) accept(l net.Listener, target string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.tasks.Go(func() { p.serve(client, target) })
	}
}

func (p *Proxy) serve(client net.Conn, target string) {
	server, err := net.DialTimeout("tcp", target, 10*time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &pair{p: p, target: target, client: &end{Conn: client}, server: &end{Conn: server}, lost: map[uint32]bool{}}
	defer c.close()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.serial++
	c.number = p.serial
	p.conns[c] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}()
	p.tasks.Go(func() { c.pump(true) })
	c.pump(false)
}

// ask counts a frame and asks the hook about it.
func (p *Proxy) ask(f Frame) Action {
	p.mu.Lock()
	defer p.mu.Unlock()
	way := 0
	if f.Response {
		way = 1
	}
	p.frames[way]++
	f.N = p.frames[way]
	if p.hook == nil {
		return Action{}
	}
	return p.hook(f)
}
