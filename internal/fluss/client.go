package fluss

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// Path names a table.
type Path struct {
	Database, Table string
}

func (p Path) String() string { return p.Database + "." + p.Table }

func (p Path) wire() msg.TablePath { return msg.TablePath{Database: p.Database, Table: p.Table} }

// Client talks to one cluster. It connects when it is first needed and is safe for concurrent use.
type Client struct {
	o     *Options
	ctx   context.Context // ends with Close; what outlives a call runs under it
	close context.CancelFunc
	tasks sync.WaitGroup // connections and batches that are seen to their end
	turn  atomic.Uint32  // how many answers named no leader: see servers

	mu          sync.Mutex
	conns       map[string]*slot // by address: the numbers of coordinators and tablet servers overlap
	coordinator string           // "" while unknown
	tablets     map[int32]string
	closed      bool
}

// slot is the one connection to an address, or the attempt to make it.
type slot struct {
	ready chan struct{} // closed when conn or err is set
	conn  *conn
	err   error
}

// rank is 1 when the slot holds a living connection.
func (s *slot) rank() int {
	if s == nil {
		return 0
	}
	select {
	case <-s.ready:
		if s.conn != nil && s.conn.alive() {
			return 1
		}
	default:
	}
	return 0
}

// New returns a client. It does not connect, so it cannot fail.
func New(o Options) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{o: o.withDefaults(), ctx: ctx, close: cancel, conns: map[string]*slot{}}
}

// Close ends all connections and waits until everything the client started has ended. Calls in flight fail; the outcome of appends in
// flight is unknown.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	slots := c.conns
	c.conns = map[string]*slot{}
	c.mu.Unlock()
	c.close()
	for _, s := range slots {
		<-s.ready
		if s.conn != nil {
			s.conn.kill(ErrClosed)
		}
	}
	c.tasks.Wait()
	return nil
}

// run starts f under the client's own context; Close waits for it. It reports false when the client is closed.
func (c *Client) run(f func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tasks.Go(func() { f(c.ctx) })
	return true
}

// conn returns the living connection to addr, dialling when there is none. Callers that come while it is dialled share the attempt.
func (c *Client) conn(ctx context.Context, api msg.Key, addr string) (*conn, error) {
	c.mu.Lock()
	s := c.conns[addr]
	if s != nil {
		select {
		case <-s.ready:
			if s.conn != nil && s.conn.alive() {
				c.mu.Unlock()
				return s.conn, nil
			}
			s = nil
		default:
		}
	}
	if s == nil && !c.closed {
		s = &slot{ready: make(chan struct{})}
		c.conns[addr] = s
		c.tasks.Go(func() {
			s.conn, s.err = c.dial(c.ctx, addr)
			close(s.ready)
		})
	}
	c.mu.Unlock()
	if s == nil {
		return nil, &TransportError{API: api, Addr: addr, Err: ErrClosed}
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, &TransportError{API: api, Addr: addr, Err: ctx.Err()}
	}
	if s.err != nil {
		return nil, &TransportError{API: api, Addr: addr, Err: s.err}
	}
	return s.conn, nil
}

func (c *Client) dial(ctx context.Context, addr string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout)
	defer cancel()
	nc, err := c.o.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if c.o.TLS != nil {
		cfg := c.o.TLS.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(addr)
		}
		secure := tls.Client(nc, cfg)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = nc.Close()
			return nil, err
		}
		nc = secure
	}
	cn := newConn(addr, nc, c.o)
	c.tasks.Go(cn.readLoop)
	if err := cn.agree(ctx, c.o); err != nil {
		cn.kill(err)
		return nil, err
	}
	c.o.Logger.DebugContext(ctx, "fluss: connected", "addr", addr)
	return cn, nil
}

// learn asks for the servers of the cluster and the leaders of tables, and keeps the servers.
func (c *Client) learn(ctx context.Context, tables ...msg.TablePath) (*msg.MetadataResponse, error) {
	var m msg.MetadataResponse
	if err := c.askAny(ctx, &msg.MetadataRequest{Tables: tables}, &m); err != nil {
		return nil, err
	}
	tablets := make(map[int32]string, len(m.Tablets))
	for _, n := range m.Tablets {
		if addr, err := c.address(n); err == nil {
			tablets[n.ID] = addr
		} else {
			c.o.Logger.WarnContext(ctx, "fluss: address refused", "addr", addr, "err", err)
		}
	}
	coordinator := ""
	if m.Coordinator != nil {
		if addr, err := c.address(*m.Coordinator); err == nil {
			coordinator = addr
		}
	}
	c.mu.Lock()
	c.coordinator, c.tablets = coordinator, tablets
	c.mu.Unlock()
	return &m, nil
}

// address is where a node listens, unless the options forbid to go there.
func (c *Client) address(n msg.ServerNode) (string, error) {
	addr := net.JoinHostPort(n.Host, strconv.Itoa(int(n.Port)))
	if c.o.AllowAddr == nil {
		return addr, nil
	}
	return addr, c.o.AllowAddr(addr)
}

// tabletAddr is the address of a tablet server, "" when it is not known.
func (c *Client) tabletAddr(id int32) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tablets[id]
}
