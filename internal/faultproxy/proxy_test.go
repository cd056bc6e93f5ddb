package faultproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echo is a server of the Fluss framing. It answers each request with its id, and
// tells of each that arrives.
func echo(t *testing.T) (addr string, arrived chan uint32) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	arrived = make(chan uint32, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for {
					var in [12]byte
					if _, err := io.ReadFull(conn, in[:]); err != nil {
						return
					}
					arrived <- binary.BigEndian.Uint32(in[8:])
					if _, err := conn.Write(response(binary.BigEndian.Uint32(in[8:]))); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), arrived
}

func request(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8, 3, 246, 0, 0}, id)
}

func response(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0, 0, 5, 0}, id)
}

// start returns a connection to an echo server through a proxy.
func start(t *testing.T, hook func(Frame) Action) (*Proxy, net.Conn, chan uint32) {
	addr, arrived := echo(t)
	p := New(Fluss)
	t.Cleanup(p.Close)
	p.SetHook(hook)
	conn, err := p.Dial(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	return p, conn, arrived
}

func ask(t *testing.T, conn net.Conn, ids ...uint32) {
	t.Helper()
	for _, id := range ids {
		_, err := conn.Write(request(id))
		require.NoError(t, err)
	}
}

func answers(t *testing.T, conn net.Conn, ids ...uint32) {
	t.Helper()
	for _, id := range ids {
		got := make([]byte, 9)
		_, err := io.ReadFull(conn, got)
		require.NoError(t, err)
		require.Equal(t, response(id), got)
	}
}

func TestFramesPassUnchanged(t *testing.T) {
	_, conn, _ := start(t, nil)
	ask(t, conn, 7, 1<<31, 9)
	answers(t, conn, 7, 1<<31, 9)
}

func TestAFrameIsLost(t *testing.T) {
	_, conn, arrived := start(t, func(f Frame) Action { return Action{Drop: !f.Response && f.N == 2} })
	ask(t, conn, 1, 2, 3)
	answers(t, conn, 1, 3)
	require.EqualValues(t, 1, <-arrived)
	require.EqualValues(t, 3, <-arrived)
}

func TestTheResponseOfARequestIsLost(t *testing.T) {
	_, conn, arrived := start(t, func(f Frame) Action { return Action{DropResponse: !f.Response && f.N == 2} })
	ask(t, conn, 1, 2, 3)
	answers(t, conn, 1, 3)
	<-arrived
	require.EqualValues(t, 2, <-arrived, "the server acted")
}

func TestAHeldRequestArrivesLateAlsoWithoutItsClient(t *testing.T) {
	release := make(chan struct{})
	_, conn, arrived := start(t, func(f Frame) Action {
		if !f.Response && f.N == 1 {
			return Action{Hold: release}
		}
		return Action{}
	})
	ask(t, conn, 1, 2)
	answers(t, conn, 2)
	require.EqualValues(t, 2, <-arrived)
	require.NoError(t, conn.Close())
	close(release)
	require.EqualValues(t, 1, <-arrived)
}

func TestAnAnswerIsReplacedAndTheConnectionCut(t *testing.T) {
	lie := []byte{0x7f, 0xff, 0xff, 0xff, 0, 1, 2}
	_, conn, _ := start(t, func(f Frame) Action {
		if f.Response {
			return Action{Replace: lie, Cut: true}
		}
		return Action{}
	})
	ask(t, conn, 1)
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, lie, got)
}

func TestCutEndsWhatThereIsAndLeavesTheProxy(t *testing.T) {
	p, conn, _ := start(t, nil)
	ask(t, conn, 1)
	answers(t, conn, 1)
	p.Cut()
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	for target := range p.listeners {
		again, err := p.Dial(t.Context(), "tcp", target)
		require.NoError(t, err)
		ask(t, again, 2)
		answers(t, again, 2)
		require.NoError(t, again.Close())
	}
}

func TestADelayHoldsUpAllBehind(t *testing.T) {
	_, conn, _ := start(t, func(f Frame) Action {
		if f.Response && f.N == 1 {
			return Action{Delay: 30 * time.Millisecond}
		}
		return Action{}
	})
	began := time.Now()
	ask(t, conn, 1, 2)
	answers(t, conn, 1, 2)
	require.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond)
}

func TestALengthThatIsNoFrameEndsTheConnection(t *testing.T) {
	_, conn, _ := start(t, nil)
	_, err := conn.Write([]byte{0xff, 0xff, 0xff, 0xff, 0})
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}

func TestHTTP(t *testing.T) {
	posts := make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts <- r.Method + " " + r.RequestURI + " " + r.Header.Get("Idempotency-Key") + " " + string(body)
		_, _ = w.Write(bytes.Repeat([]byte("x"), 5000))
	}))
	defer srv.Close()
	p := New(HTTP)
	defer p.Close()
	transport := &http.Transport{DialContext: p.Dial}
	defer transport.CloseIdleConnections()
	post := func() (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/charges?x=1", bytes.NewReader([]byte("body")))
		require.NoError(t, err)
		req.GetBody = nil
		req.Header.Set("Idempotency-Key", "a-1")
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return len(b), err
	}
	n, err := post()
	require.NoError(t, err)
	require.Equal(t, 5000, n)
	require.Equal(t, "POST /charges?x=1 a-1 body", <-posts)

	p.SetHook(func(f Frame) Action { return Action{Drop: f.Response, Cut: f.Response} })
	_, err = post()
	require.Error(t, err)
	require.Equal(t, "POST /charges?x=1 a-1 body", <-posts, "the server acted, and nobody knows")
}
