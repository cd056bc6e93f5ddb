package flussstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/faultproxy"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

// replicated is what the tests of failures run on: three copies, two of them needed.
func replicated(t *testing.T) *flusstest.Cluster {
	return flusstest.NewCluster(t, flusstest.ClusterOptions{TabletServers: 3, ReplicationFactor: 3, MinISR: 2, QuickStart: true})
}

// Servers are killed and restarted and connections damaged while a crowd appends and reads.
func TestNothingAcknowledgedIsLostWhenServersFail(t *testing.T) {
	cluster := replicated(t)
	rounds := 1
	if *long {
		rounds = 4
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(uint64(round), 7))
		for _, f := range []struct {
			name string
			do   func(t *testing.T, c *crowd, w *watcher)
		}{
			{"leader killed", func(t *testing.T, c *crowd, w *watcher) {
				leader := w.leader(t, cluster)
				c.awaitMoves(t, int64(rng.IntN(50)))
				leader.Kill()
				c.awaitMoves(t, 200)
				require.NoError(t, leader.Restart(t.Context()))
				c.awaitMoves(t, 50)
			}},
			{"tablet server restarted", func(t *testing.T, c *crowd, w *watcher) {
				s := cluster.TabletServer(rng.IntN(3))
				s.Stop(t.Context())
				c.awaitMoves(t, 50)
				require.NoError(t, s.Restart(t.Context()))
				c.awaitMoves(t, 50)
			}},
			{"coordinator killed", func(t *testing.T, c *crowd, w *watcher) {
				cluster.Coordinator().Kill()
				c.awaitMoves(t, 200)
				require.NoError(t, cluster.Coordinator().Restart(t.Context()))
				c.awaitMoves(t, 50)
			}},
			{"connections cut", func(t *testing.T, c *crowd, w *watcher) {
				w.harm(func(f faultproxy.Frame) faultproxy.Action {
					switch rng.IntN(150) {
					case 0:
						return faultproxy.Action{Cut: true, Drop: true}
					case 1:
						return faultproxy.Action{Cut: true, Replace: f.Bytes[:rng.IntN(len(f.Bytes))]}
					case 2:
						return faultproxy.Action{Cut: true}
					}
					return faultproxy.Action{}
				})
				c.awaitMoves(t, 1500)
			}},
			{"answers lost, late, slow and damaged", func(t *testing.T, c *crowd, w *watcher) {
				late := make(chan struct{})
				w.harm(func(f faultproxy.Frame) faultproxy.Action {
					produce := !f.Response && apiOf(f) == msg.KeyProduceLog
					switch n := rng.IntN(400); {
					case n == 0 && produce:
						return faultproxy.Action{DropResponse: true}
					case n < 4 && produce:
						return faultproxy.Action{Hold: late}
					case n == 4 && f.Response:
						return faultproxy.Action{Replace: []byte{0x7f, 0xff, 0xff, 0xff, 0}}
					case n == 5 && f.Response:
						return faultproxy.Action{Replace: []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), Cut: true}
					case n < 12:
						return faultproxy.Action{Delay: time.Duration(rng.IntN(20)) * time.Millisecond}
					}
					return faultproxy.Action{}
				})
				c.awaitMoves(t, 400)
				close(late) // copies that were given up long ago arrive now
				w.harm(nil)
				c.awaitMoves(t, 100)
			}},
		} {
			t.Run(fmt.Sprintf("%d/%s", round, f.name), func(t *testing.T) {
				w := watch(t)
				o := flussstore.Options{
					Replicas: 3, Dial: w.proxy.Dial, Require: flussstore.Durability{Replicas: 3, MinISR: 2},
				}
				if round%2 == 1 {
					o.Format = flussstore.Indexed
				}
				c := startCrowd(t, cluster.Bootstrap(), o, 2)
				f.do(t, c, w)
				w.harm(nil)
				c.verdict(t, cluster.Bootstrap())
			})
		}
	}
}

// watcher sees all frames of a store and learns who leads.
type watcher struct {
	proxy *faultproxy.Proxy
	lead  chan string // the last address that was sent an append
}

func watch(t *testing.T) *watcher {
	w := &watcher{proxy: faultproxy.New(faultproxy.Fluss), lead: make(chan string, 1)}
	t.Cleanup(w.proxy.Close)
	w.harm(nil)
	return w
}

// harm makes f decide about every frame; nil lets all pass.
func (w *watcher) harm(f func(faultproxy.Frame) faultproxy.Action) {
	w.proxy.SetHook(func(frame faultproxy.Frame) faultproxy.Action {
		if !frame.Response && apiOf(frame) == msg.KeyProduceLog {
			select {
			case <-w.lead:
			default:
			}
			w.lead <- frame.Target
		}
		if f == nil {
			return faultproxy.Action{}
		}
		return f(frame)
	})
}

// leader waits for an append and returns the server that it went to.
func (w *watcher) leader(t *testing.T, cluster *flusstest.Cluster) *flusstest.Server {
	t.Helper()
	addr := <-w.lead
	for _, s := range cluster.TabletServers() {
		if s.Addr() == addr {
			return s
		}
	}
	t.Fatalf("an append went to %s, which is no tablet server", addr)
	return nil
}

func apiOf(f faultproxy.Frame) msg.Key {
	if len(f.Bytes) < 6 {
		return 0
	}
	return msg.Key(int16(f.Bytes[4])<<8 | int16(f.Bytes[5]))
}

// A process gives up an append and dies, the next one finds nothing and appends the same event, and then the first copy
// arrives. Fluss cannot tell the copies from two events; readers can.
func TestALateCopyOfAnAppendIsTheSameEvent(t *testing.T) {
	c := flusstest.SharedCluster(t)
	p := faultproxy.New(faultproxy.Fluss)
	defer p.Close()
	o := flussstore.Options{Table: newTable()}
	next := openTable(t, c.Bootstrap(), o)
	o.Dial = p.Dial
	dying := openTable(t, c.Bootstrap(), o)

	late, held := make(chan struct{}), make(chan struct{}, 1)
	p.SetHook(func(f faultproxy.Frame) faultproxy.Action {
		if f.Response || apiOf(f) != msg.KeyProduceLog {
			return faultproxy.Action{}
		}
		held <- struct{}{}
		return faultproxy.Action{Hold: late}
	})
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		<-held
		giveUp()
	}()
	_, err := dying.Append(ctx, 0, numbered(0, 1))
	require.Equal(t, store.Unknown, store.OutcomeOf(err))
	require.NoError(t, dying.Close())

	_, err = find(t.Context(), next, 0, 0, event(0))
	require.ErrorIs(t, err, errNotThere)
	put(t, next, 0, 0, 2)
	close(late)
	var got []intent.Event
	require.Eventually(t, func() bool {
		b, err := next.Bound(t.Context(), 0)
		require.NoError(t, err)
		got, err = readAll(t, next, 0, 0, b.End)
		require.NoError(t, err)
		got = slices.DeleteFunc(got, func(e intent.Event) bool { return e.Type == intent.Barrier })
		return len(got) == 3
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, append(numbered(0, 2), event(0)), got)
}
