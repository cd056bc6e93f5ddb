package fluss_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/wire"
)

func TestAnswersThatAreNoneEndTheConnectionAndTheCall(t *testing.T) {
	for _, tt := range []struct{ why, raw, says string }{
		{"2 GiB are announced", "\x7f\xff\xff\xff\x00", "2147483647"},
		{"a negative length", "\xff\xff\xff\xff\x00", "-1"},
		{"a web server", "HTTP/1.1 400 Bad Request\r\n", "web server"},
		{"a TLS server", "\x15\x03\x01\x00\x02\x02\x16", "TLS"},
		{"an unknown kind", "\x00\x00\x00\x05\x09\x00\x00\x00\x01", "kind"},
		{"too short for an id", "\x00\x00\x00\x02\x00\x00", "correlation id"},
		{"the server gives up", string(wire.AppendResponse(nil, wire.KindFailure, 0, (&msg.ErrorResponse{Code: -1, Message: "TooLongFrame"}).Append(nil))), "TooLongFrame"},
		{"a message that is none", string(wire.AppendResponse(nil, wire.KindSuccess, 1, []byte{0xff})), "malformed"},
		{"a refusal that is none", string(wire.AppendResponse(nil, wire.KindError, 1, []byte{0xff})), "malformed"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := pipeServer(func(nc net.Conn) {
					defer nc.Close()
					_, _ = wire.ReadRequest(nc, 1<<20)
					_, _ = nc.Write([]byte(tt.raw))
					_, _ = io.Copy(io.Discard, nc)
				})
				c := fluss.New(fluss.Options{
					Bootstrap: []string{"127.0.0.1:1"},
					Dial:      func(_ context.Context, _, addr string) (net.Conn, error) { return dial(addr), nil },
				})
				_, err := c.Table(t.Context(), path)
				require.ErrorContains(t, err, tt.says)
				require.ErrorIs(t, err, fluss.ErrNoServer)
				require.NoError(t, c.Close())
			})
		})
	}
}

// slowConn delivers one byte a read.
type slowConn struct{ net.Conn }

func (c slowConn) Read(p []byte) (int, error) { return c.Conn.Read(p[:1]) }

func TestAServerThatDribblesIsUnderstood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, err := flusstest.NewFake(flusstest.FakeOptions{})
		require.NoError(t, err)
		defer fake.Close()
		c := fluss.New(fluss.Options{Bootstrap: []string{fake.Bootstrap()}, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := fake.Dial(ctx, network, addr)
			return slowConn{nc}, err
		}})
		defer c.Close()
		table, want := filled(t, c, 9)
		got, err := readAll(t, table, 0, 0, 9)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// stuckConn takes a part of the frame that follows its n-th write, and then nothing.
type stuckConn struct {
	net.Conn
	writes *int
	n      int
}

func (c stuckConn) Write(p []byte) (int, error) {
	if *c.writes++; *c.writes != c.n {
		return c.Conn.Write(p)
	}
	n, _ := c.Conn.Write(p[:len(p)/2])
	return n, os.ErrDeadlineExceeded
}

func TestAHalfWrittenFrameCostsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, err := flusstest.NewFake(flusstest.FakeOptions{})
		require.NoError(t, err)
		defer fake.Close()
		dials, writes := 0, 0
		c := fluss.New(fluss.Options{Bootstrap: []string{fake.Bootstrap()}, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := fake.Dial(ctx, network, addr)
			if addr == fake.Tablet(0) {
				dials++
				nc = stuckConn{nc, &writes, 4}
			}
			return nc, err
		}})
		defer c.Close()
		table := logTable(t, c, "ARROW")
		for i := range 5 { // the tablet server's connection: negotiation, writer id, then appends
			base, err := table.Append(t.Context(), 0, one("a", 1))
			require.NoError(t, err)
			require.EqualValues(t, i, base, "the half frame was sent again, whole and once")
		}
		require.Equal(t, 2, dials)
		require.Len(t, fake.Batches(wirePath(), 0), 5)
	})
}

func TestARequestWithoutAnswerEnds(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		logTable(t, c, "ARROW")
		fake.SetHook(func(r flusstest.Request) flusstest.Action { return flusstest.Action{DropRequest: true} })
		began := time.Now()
		err := c.DropTable(t.Context(), path)
		var transport *fluss.TransportError
		require.ErrorAs(t, err, &transport)
		require.True(t, transport.Sent)
		require.False(t, fluss.SafeToRetry(err))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 15*time.Second, time.Since(began))
		fake.SetHook(nil)
		ok, err := c.TableExists(t.Context(), path)
		require.NoError(t, err)
		require.True(t, ok, "a silent connection is replaced")
	})
}

func TestLateAnswersAreNobodysAnswers(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		logTable(t, c, "ARROW")
		gate := make(chan struct{})
		fake.SetHook(nth(msg.KeyTableExists, 1, 1, flusstest.Action{Until: gate}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.TableExists(ctx, path)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		negotiated := fake.Count(msg.KeyApiVersions)
		close(gate)
		for range 3 {
			ok, err := c.TableExists(t.Context(), path)
			require.NoError(t, err)
			require.True(t, ok)
			ok, err = c.DatabaseExists(t.Context(), "none")
			require.NoError(t, err)
			require.False(t, ok)
		}
		require.Equal(t, negotiated, fake.Count(msg.KeyApiVersions), "the connection lives on")
	})
}

func TestAnAnswerInMidArrivalIsNobodysAnswerEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		answer := func(id int32, m msg.Message) []byte {
			return wire.AppendResponse(nil, wire.KindSuccess, id, m.Append(nil))
		}
		dial := pipeServer(func(nc net.Conn) {
			defer nc.Close()
			var rest []byte
			for n := 0; ; n++ {
				req, err := wire.ReadRequest(nc, 1<<20)
				if err != nil {
					return
				}
				switch n {
				case 0:
					_, _ = nc.Write(answer(req.ID, &msg.ApiVersionsResponse{APIs: []msg.ApiVersion{{Key: msg.KeyTableExists}}}))
				case 1: // the first byte of the body, and the rest when the caller has gone
					late := answer(req.ID, &msg.ExistsResponse{Exists: true})
					_, _ = nc.Write(late[:len(late)-1])
					rest = late[len(late)-1:]
				default:
					<-gate
					_, _ = nc.Write(rest)
					time.Sleep(time.Second) // of the bubble: whoever takes the late answer for his own has time to do so
					_, _ = nc.Write(answer(req.ID, &msg.ExistsResponse{Exists: false}))
					rest = nil
				}
			}
		})
		c := fluss.New(fluss.Options{
			Bootstrap: []string{"127.0.0.1:1"},
			Dial:      func(_ context.Context, _, addr string) (net.Conn, error) { return dial(addr), nil },
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.TableExists(ctx, path)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Second, func() { close(gate) })
		for range 2 {
			ok, err := c.TableExists(t.Context(), path)
			require.NoError(t, err)
			require.False(t, ok)
		}
		require.NoError(t, c.Close())
	})
}

func TestAnswersMayOvertakeEachOther(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		logTable(t, c, "ARROW")
		gate := make(chan struct{})
		fake.SetHook(nth(msg.KeyTableExists, 1, 1, flusstest.Action{Until: gate}))
		var slow bool
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { slow, err = c.TableExists(t.Context(), path) })
		synctest.Wait()
		fast, errFast := c.DatabaseExists(t.Context(), "none")
		require.NoError(t, errFast)
		require.False(t, fast)
		close(gate)
		wg.Wait()
		require.NoError(t, err)
		require.True(t, slow)
	})
}

func TestVersionsAreTheLowerOfBoth(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		var version int16 = -1
		fake.SetHook(func(r flusstest.Request) flusstest.Action {
			switch {
			case r.Key == msg.KeyLookup:
				version = r.Version
			case r.Key == msg.KeyApiVersions:
				return flusstest.Action{Edit: func(m msg.Message) {
					answer := m.(*msg.ApiVersionsResponse)
					for i := range answer.APIs {
						switch answer.APIs[i].Key {
						case msg.KeyLookup:
							answer.APIs[i].Max = 0
						case msg.KeyPutKv:
							answer.APIs[i].Min, answer.APIs[i].Max = 7, 9
						}
					}
				}}
			}
			return flusstest.Action{}
		})
		require.NoError(t, c.CreateTable(t.Context(), path, fluss.TableDescriptor{Schema: schema, PrimaryKey: []string{"id"}}))
		table, err := c.Table(t.Context(), path)
		require.NoError(t, err)
		_, err = table.Lookup(t.Context(), one("a", 1))
		require.NoError(t, err)
		require.Zero(t, version)
		err = table.Put(t.Context(), one("a", 1))
		require.ErrorIs(t, err, fluss.ErrUnsupported)
		require.Equal(t, fluss.NotStored, fluss.OutcomeOf(err))
	})
}

func TestPasswordsDoNotPrint(t *testing.T) {
	cred := fluss.Credentials{User: "worker", Password: "s3cret"}
	doc, err := json.Marshal(cred)
	require.NoError(t, err)
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "cred", cred, "password", cred.Password)
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", cred, cred, cred, cred.Password, cred.Password, cred.Password), string(doc), logged.String()} {
		require.NotContains(t, s, "s3cret")
		require.NotContains(t, s, "733363726574")
	}
}

func TestAuthentication(t *testing.T) {
	fo := flusstest.FakeOptions{Users: map[string]string{"worker": "s3cret"}}
	for _, tt := range []struct {
		why  string
		o    fluss.Options
		code msg.Code
	}{
		{"right", fluss.Options{Credentials: &fluss.Credentials{User: "worker", Password: "s3cret"}}, msg.None},
		{"wrong password", fluss.Options{Credentials: &fluss.Credentials{User: "worker", Password: "guess"}}, msg.Authenticate},
		{"none", fluss.Options{}, msg.Authenticate},
	} {
		t.Run(tt.why, func(t *testing.T) {
			onFakeWith(t, fo, tt.o, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
				_, err := c.DatabaseExists(t.Context(), "fluss")
				require.Equal(t, tt.code, fluss.CodeOf(err), "%v", err)
				require.Equal(t, tt.code == msg.None, err == nil)
				if err != nil {
					require.NotContains(t, err.Error(), "guess")
				}
			})
		})
	}
	onFakeWith(t, fo, fluss.Options{Credentials: &fluss.Credentials{User: "worker", Password: "s3cret"}}, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		fake.SetHook(nth(msg.KeyAuthenticate, 1, 2, flusstest.Action{Skip: true, Code: msg.RetriableAuthenticate}))
		ok, err := c.DatabaseExists(t.Context(), "fluss")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, 3, fake.Count(msg.KeyAuthenticate))
	})
}

func TestPasswordsStayOffTheNetworkInClear(t *testing.T) {
	for _, tt := range []struct {
		addr string
		o    fluss.Options
		sent bool
	}{
		{"10.0.0.1:9123", fluss.Options{}, false},
		{"fluss.example:9123", fluss.Options{}, false},
		{"127.0.0.1:9123", fluss.Options{}, true},
		{"[::1]:9123", fluss.Options{}, true},
		{"localhost:9123", fluss.Options{}, true},
		{"10.0.0.1:9123", fluss.Options{AllowPlaintextCredentials: true}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			fake, err := flusstest.NewFake(flusstest.FakeOptions{Users: map[string]string{"u": "p"}})
			require.NoError(t, err)
			defer fake.Close()
			o := tt.o
			o.Bootstrap, o.Credentials = []string{tt.addr}, &fluss.Credentials{User: "u", Password: "p"}
			o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return fake.Dial(ctx, network, fake.Bootstrap())
			}
			c := fluss.New(o)
			defer c.Close()
			_, err = c.DatabaseExists(t.Context(), "fluss")
			require.Equal(t, tt.sent, fake.Count(msg.KeyAuthenticate) > 0, tt.addr)
			require.Equal(t, !tt.sent, errors.Is(err, fluss.ErrPlaintextCredentials), "%v", err)
		})
	}
}

func TestTLSIsPutOnTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan byte, 10)
		dial := pipeServer(func(nc net.Conn) {
			defer nc.Close()
			b := make([]byte, 1)
			_, _ = io.ReadFull(nc, b)
			first <- b[0]
		})
		c := fluss.New(fluss.Options{
			Bootstrap: []string{"fluss.example:9123"}, TLS: &tls.Config{}, Credentials: &fluss.Credentials{},
			Dial: func(_ context.Context, _, addr string) (net.Conn, error) { return dial(addr), nil },
		})
		defer c.Close()
		_, err := c.DatabaseExists(t.Context(), "fluss")
		require.Error(t, err)
		require.EqualValues(t, 0x16, <-first, "a TLS handshake record")
	})
}

func TestAddressesOfTheClusterMayBeRefused(t *testing.T) {
	refuse := errors.New("not one of ours")
	o := fluss.Options{AllowAddr: func(addr string) error {
		if addr == "169.254.169.254:80" {
			return refuse
		}
		return nil
	}}
	onFakeWith(t, flusstest.FakeOptions{}, o, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		fake.SetHook(nth(msg.KeyGetMetadata, 1, always, flusstest.Action{Edit: func(m msg.Message) {
			n := &m.(*msg.MetadataResponse).Tablets[0]
			n.Host, n.Port = "169.254.169.254", 80
		}}))
		_, err := table.Append(t.Context(), 0, one("a", 1))
		require.Equal(t, fluss.NotStored, fluss.OutcomeOf(err))
		require.Equal(t, msg.LeaderNotAvailable, fluss.CodeOf(err))
	})
}
