package flusstest

import (
	"context"
	"sync"
	"testing"

	"github.com/intentlog/intentlog/internal/needs"
)

// NewCluster starts a cluster for one test and closes it when the test ends. The test is skipped, or
// fails where package needs says so, if Fluss is not to be had.
func NewCluster(tb testing.TB, o ClusterOptions) *Cluster {
	tb.Helper()
	RequireCluster(tb)
	c, err := StartCluster(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// SharedCluster returns the one cluster that all tests of a test binary share, and starts it for the first.
// It has one tablet server, so tests choose names of their own for databases and kill nothing. It is
// not closed: it ends, on Linux, with the test binary, in whatever way that ends.
func SharedCluster(tb testing.TB) *Cluster {
	tb.Helper()
	RequireCluster(tb)
	c, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// shared keeps the error too: a cluster that does not start fails all its tests quickly.
var shared = sync.OnceValues(func() (*Cluster, error) {
	return StartCluster(context.Background(), ClusterOptions{
		QuickStart: true,
		// Nobody kills a server here, so a machine so busy that a JVM stands still for seconds need not
		// look like a failure.
		Config: map[string]string{"zookeeper.client.session-timeout": "20s"},
	})
})

// RequireCluster skips or fails the test where a cluster cannot be started: without Java, or without
// the jars. Missing jars are fetched only where the environment requires Fluss, since a plain go test
// should not download a hundred megabytes unasked.
func RequireCluster(tb testing.TB) {
	tb.Helper()
	needs.Feature(tb, needs.Fluss, func() error {
		return clusterJars.Available(tb.Context(), needs.Required(needs.Fluss))
	})
}
