//go:build unix

package supervise_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/supervise"
)

// TestMain is the main function where this binary is started as a child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		child(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func child(what string) {
	gate := supervise.NewGate(os.Stdin, os.Stdout, []string{"one", "two"}, func() { os.Exit(3) })
	switch what {
	case "fail":
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(4)
	case "suicide":
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		select {}
	}
	gate.Pass("zero")
	gate.Pass("one")
	gate.Pass("one")
	if gate.Tell(map[string]int{"passed": 1}) != nil {
		os.Exit(5)
	}
	gate.Pass("two")
}

func start(t *testing.T, what string) (context.Context, *supervise.Child) {
	exe, err := os.Executable()
	require.NoError(t, err)
	c, err := supervise.Start(exe, "child", what)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx, c
}

func TestAChildWaitsAtItsBarriersAndEnds(t *testing.T) {
	ctx, c := start(t, "")
	require.NoError(t, c.Reached(ctx, "one"))
	require.NoError(t, c.Release())
	var report map[string]int
	require.NoError(t, c.Report(ctx, &report))
	require.Equal(t, map[string]int{"passed": 1}, report)
	require.ErrorContains(t, c.Reached(ctx, "three"), `the process is at "two"`)
	require.NoError(t, c.Release())
	require.NoError(t, c.Exited(ctx))
	require.Error(t, c.Kill(), "it is dead already, and not by us")
}

func TestKillReturnsOnceTheChildIsDead(t *testing.T) {
	ctx, c := start(t, "")
	require.NoError(t, c.Reached(ctx, "one"))
	require.NoError(t, c.Kill())
	require.ErrorIs(t, c.Reached(ctx, "two"), supervise.ErrEnded)
	require.ErrorContains(t, c.Exited(ctx), "signal: killed")
}

func TestAStoppedChildHearsTheWordOnlyWhenContinued(t *testing.T) {
	ctx, c := start(t, "")
	require.NoError(t, c.Reached(ctx, "one"))
	require.NoError(t, c.Stop(ctx))
	require.NoError(t, c.Release())
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	var report map[string]int
	require.ErrorIs(t, c.Report(soon, &report), context.DeadlineExceeded)
	require.NoError(t, c.Continue())
	require.NoError(t, c.Report(ctx, &report))
}

func TestADeathOfItsOwnIsAnErrorThatTellsWhy(t *testing.T) {
	ctx, c := start(t, "fail")
	require.ErrorContains(t, c.Reached(ctx, "one"), "exit status 4; it wrote: out of luck")
	ctx, c = start(t, "suicide")
	require.ErrorContains(t, c.Exited(ctx), "signal: terminated")
	require.Error(t, c.Kill())
}

func TestAChildWithoutAParentEnds(t *testing.T) {
	in, parent := io.Pipe()
	orphaned := make(chan struct{})
	supervise.NewGate(in, io.Discard, nil, func() { close(orphaned) })
	parent.Close()
	<-orphaned
}

func TestPassWaitsOncePerBarrierThatIsAskedFor(t *testing.T) {
	in, parent := io.Pipe()
	var out bytes.Buffer
	g := supervise.NewGate(in, &out, []string{"x"}, func() {})
	g.Pass("y")
	require.True(t, g.Armed("x"))
	go func() { _, _ = io.WriteString(parent, "go\n") }()
	g.Pass("x")
	require.False(t, g.Armed("x"))
	g.Pass("x")
	require.Equal(t, "{\"barrier\":\"x\"}\n", out.String())
	parent.Close()
}
