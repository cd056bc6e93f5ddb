package flusstest

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCluster(t *testing.T) {
	ctx := t.Context()
	began := time.Now()
	c := NewCluster(t, ClusterOptions{
		TabletServers: 2, ReplicationFactor: 2, MinISR: 2, QuickStart: true,
		Users: map[string]string{"worker": "secret"},
	})
	t.Logf("2 tablet servers started in %v", time.Since(began))

	ids, err := liveTabletServers(ctx, c.Bootstrap())
	require.NoError(t, err)
	require.Equal(t, map[int]bool{0: true, 1: true}, ids)

	t.Run("the other listener demands a password", func(t *testing.T) {
		conn, err := dialProbe(ctx, c.SASLBootstrap())
		require.NoError(t, err)
		defer conn.Close()
		_, err = askTabletServers(conn)
		require.ErrorContains(t, err, "has not completed authentication yet")
		_, err = exchange(conn, authenticate("worker", "guess"))
		require.Error(t, err)
		_, err = exchange(conn, authenticate("worker", "secret"))
		require.NoError(t, err)
		ids, err := askTabletServers(conn)
		require.NoError(t, err)
		require.Len(t, ids, 2)
	})

	t.Run("a killed tablet server comes back on its port with its data", func(t *testing.T) {
		s := c.TabletServer(1)
		s.Kill()
		require.False(t, s.Running())
		_, err := net.DialTimeout("tcp", s.Addr(), time.Second)
		require.Error(t, err)
		require.DirExists(t, s.DataDir())
		began := time.Now()
		require.NoError(t, s.Restart(ctx))
		t.Logf("restarted in %v", time.Since(began))
		ids, err := liveTabletServers(ctx, s.Addr())
		require.NoError(t, err)
		require.True(t, ids[1])
	})

	t.Run("a killed coordinator comes back and knows the tablet servers", func(t *testing.T) {
		c.Coordinator().Kill()
		began := time.Now()
		require.NoError(t, c.Coordinator().Restart(ctx))
		t.Logf("restarted in %v", time.Since(began))
	})

	t.Run("nothing is left after Close", func(t *testing.T) {
		c.Close()
		require.False(t, c.TabletServer(0).Running())
		require.False(t, c.Coordinator().Running())
		require.NoDirExists(t, c.dir)
	})
}

// authenticate returns an AUTHENTICATE request (1038) for SASL/PLAIN.
func authenticate(user, password string) []byte {
	token := "\x00" + user + "\x00" + password
	body := append([]byte{1<<3 | 2, 5}, "PLAIN"...)
	body = append(body, 2<<3|2, byte(len(token)))
	body = append(body, token...)
	frame := []byte{0, 0, 0, byte(8 + len(body)), 1038 >> 8, 1038 & 0xff, 0, 0, 0, 0, 0, 1}
	return append(frame, body...)
}

func TestSharedClusterIsOne(t *testing.T) {
	began := time.Now()
	c := SharedCluster(t)
	t.Logf("started in %v", time.Since(began))
	require.Same(t, c, SharedCluster(t))
}

func TestFailedStartShowsTheServersLogAndLeavesNothing(t *testing.T) {
	RequireCluster(t)
	t.Setenv("TMPDIR", t.TempDir())
	_, err := StartCluster(context.Background(), ClusterOptions{
		QuickStart: true,
		Config:     map[string]string{"default.bucket.number": "many"},
	})
	require.ErrorContains(t, err, "coordinator")
	require.ErrorContains(t, err, "NumberFormatException: For input string: \"many\"")
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}
