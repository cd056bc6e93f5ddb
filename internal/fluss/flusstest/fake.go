package flusstest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// FakeOptions configure a Fake. The zero value is one coordinator and one tablet server without authentication.
type FakeOptions struct {
	Tablets int               // tablet servers; 0 means 1
	Users   map[string]string // passwords by user; when set, every connection must authenticate by SASL/PLAIN
	TCP     bool              // listen on loopback ports; otherwise only Dial reaches the fake
}

// Fake is a Fluss cluster inside this process. It speaks the real frames, keeps its tables in memory, assigns offsets, checks leaders,
// remembers the last five batches of each writer as a real server does, and does to any request what its hook says.
//
// Without TCP its connections are net.Pipe ends that Dial makes, and every wait in it is on a channel or a timer, so that it works in a
// testing/synctest bubble. Close it before the test ends.
type Fake struct {
	o     FakeOptions
	nodes []*node // the coordinator, then the tablet servers
	done  chan struct{}
	tasks sync.WaitGroup

	mu      sync.Mutex
	hook    func(Request) Action
	count   map[msg.Key]int
	serial  int
	conns   map[*fakeConn]struct{}
	closed  bool
	dbs     map[string]bool
	tables  map[msg.TablePath]*fakeTable
	tableID int64
	writer  int64
}

type node struct {
	id       int32
	tablet   bool
	addr     string
	listener net.Listener
	down     bool // guarded by Fake.mu
}

// NewFake starts a fake cluster with an empty database "fluss".
func NewFake(o FakeOptions) (*Fake, error) {
	if o.Tablets == 0 {
		o.Tablets = 1
	}
	f := &Fake{
		o: o, done: make(chan struct{}), count: map[msg.Key]int{}, conns: map[*fakeConn]struct{}{},
		dbs: map[string]bool{"fluss": true}, tables: map[msg.TablePath]*fakeTable{},
	}
	for i := range o.Tablets + 1 {
		// The coordinator and the first tablet server are both number 0, as in a real cluster.
		n := &node{id: int32(max(i-1, 0)), tablet: i > 0, addr: fmt.Sprintf("127.0.0.1:%d", 9100+i)}
		if o.TCP {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				f.Close()
				return nil, err
			}
			n.listener, n.addr = l, l.Addr().String()
			f.tasks.Go(func() { f.accept(n) })
		}
		f.nodes = append(f.nodes, n)
	}
	return f, nil
}

// Bootstrap is the address of the coordinator.
func (f *Fake) Bootstrap() string { return f.nodes[0].addr }

// Tablet is the address of a tablet server.
func (f *Fake) Tablet(id int) string { return f.nodes[id+1].addr }

// Dial connects to a server of the fake by its address; it fits the Dial option of a client.
func (f *Fake) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if f.o.TCP {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	for _, n := range f.nodes {
		if n.addr != addr {
			continue
		}
		client, server := net.Pipe()
		if !f.serve(n, server) {
			_ = client.Close()
			break
		}
		return client, nil
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("nobody listens at %s", addr)}
}

// Close stops the fake and waits for its goroutines.
func (f *Fake) Close() {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return
	}
	f.closed = true
	close(f.done)
	for c := range f.conns {
		_ = c.nc.Close()
	}
	f.mu.Unlock()
	for _, n := range f.nodes {
		if n.listener != nil {
			_ = n.listener.Close()
		}
	}
	f.tasks.Wait()
}

// Stop cuts all connections to a tablet server and refuses new ones until Start.
func (f *Fake) Stop(tablet int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[tablet+1].down = true
	for c := range f.conns {
		if c.node == f.nodes[tablet+1] {
			_ = c.nc.Close()
		}
	}
}

// Start undoes Stop.
func (f *Fake) Start(tablet int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[tablet+1].down = false
}

// SetHook makes hook decide about every request from now on, but for those that have been read already. hook is called by one goroutine
// per connection; nil removes it. It must not call the client it serves.
func (f *Fake) SetHook(hook func(Request) Action) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Count is how many requests of an API have arrived.
func (f *Fake) Count(key msg.Key) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count[key]
}

// Move makes a tablet server the leader of a bucket. -1 leaves the bucket without a leader.
func (f *Fake) Move(path msg.TablePath, bucket, tablet int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables[path].buckets[bucket].leader = int32(tablet)
}

// Trim deletes the log of a bucket below an offset, as retention does.
func (f *Fake) Trim(path msg.TablePath, bucket int, below int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables[path].buckets[bucket].start = below
}

// Truncate cuts the log of a bucket back to the batches that end at or below an offset, as a failover can.
func (f *Fake) Truncate(path msg.TablePath, bucket int, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables[path].buckets[bucket].truncate(to)
}

// ForgetWriters makes a bucket forget all writers, as it does with those that were idle for long.
func (f *Fake) ForgetWriters(path msg.TablePath, bucket int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.tables[path].buckets[bucket].writers)
}

// SetSchema gives a table a further schema, which becomes its current one.
func (f *Fake) SetSchema(path msg.TablePath, id int32, schemaJSON string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables[path].setSchema(id, schemaJSON)
}

// Batches returns copies of the batches in the log of a bucket.
func (f *Fake) Batches(path msg.TablePath, bucket int) [][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out [][]byte
	for _, b := range f.tables[path].buckets[bucket].log {
		out = append(out, append([]byte(nil), b.bytes...))
	}
	return out
}

// AppendRaw puts bytes into the log of a bucket as they are, as a batch from base on that takes n offsets.
func (f *Fake) AppendRaw(path msg.TablePath, bucket int, base, n int64, bytes []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables[path].buckets[bucket].push(base, n, bytes)
}

func (f *Fake) accept(n *node) {
	for {
		nc, err := n.listener.Accept()
		if err != nil {
			return
		}
		if !f.serve(n, nc) {
			_ = nc.Close()
		}
	}
}

// serve starts to answer on a connection. It returns false when the server is down.
func (f *Fake) serve(n *node, nc net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || n.down {
		_ = nc.Close()
		return false
	}
	c := &fakeConn{f: f, node: n, nc: nc, writing: make(chan struct{}, 1)}
	c.writing <- struct{}{}
	f.conns[c] = struct{}{}
	f.tasks.Go(c.loop)
	return true
}

// pause waits, but not longer than the fake lives.
func (f *Fake) pause(d time.Duration, until <-chan struct{}) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-f.done:
			return false
		}
	}
	if until != nil {
		select {
		case <-until:
		case <-f.done:
			return false
		}
	}
	return true
}
