package flinktest

import (
	"context"
	"sync"
	"testing"

	"github.com/intentlog/intentlog/internal/needs"
)

// New starts a cluster for one test and closes it when the test ends. The test is skipped, or fails
// where package needs says so, if Flink is not to be had.
func New(tb testing.TB, v Version) *Cluster {
	tb.Helper()
	Require(tb, v)
	c, err := Start(tb.Context(), Options{Version: v, QuickStart: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// Shared returns the one cluster of a version that all tests of a test binary share, and starts it for
// the first. It is not closed: it ends, on Linux, with the test binary, in whatever way that ends.
func Shared(tb testing.TB, v Version) *Cluster {
	tb.Helper()
	Require(tb, v)
	c, err := shared[v]()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// shared keeps the error too: a cluster that does not start fails all its tests quickly.
var shared = map[Version]func() (*Cluster, error){
	Flink120: sync.OnceValues(func() (*Cluster, error) { return startShared(Flink120) }),
	Flink22:  sync.OnceValues(func() (*Cluster, error) { return startShared(Flink22) }),
}

func startShared(v Version) (*Cluster, error) {
	return Start(context.Background(), Options{Version: v, QuickStart: true})
}

// OpenSession opens a session for one test and closes it when the test ends.
func OpenSession(tb testing.TB, c *Cluster) *Session {
	tb.Helper()
	s, err := c.OpenSession(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		// The test's own context has ended here.
		if err := s.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// Require skips or fails the test where the version cannot be started: without Java, or without the
// jars. Missing jars are fetched only where the environment requires Flink, since a plain go test
// should not download two hundred megabytes unasked.
func Require(tb testing.TB, v Version) {
	tb.Helper()
	needs.Feature(tb, needs.Flink, func() error {
		return v.bundle().Available(tb.Context(), needs.Required(needs.Flink))
	})
}
