//go:build unix

package httpfault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/supervise"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// TestMain is the worker process too: this binary with "worker" as its first
// argument, then the log, the service and how many bytes of its request get out.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "worker" {
		err := halfway(os.Args[2], os.Args[3], os.Args[4])
		fmt.Fprintln(os.Stderr, "the worker was not killed:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// halfway makes the call and stands still when a part of its request has left.
func halfway(log, url, cut string) error {
	ctx := context.Background()
	n, err := strconv.Atoi(cut)
	if err != nil {
		return err
	}
	st, err := sqlitestore.Open(log, nil)
	if err != nil {
		return err
	}
	gate := supervise.NewGate(os.Stdin, os.Stdout, []string{"half"}, func() { os.Exit(3) })
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return halfConn{conn, gate, n}, err
	}
	w, err := intentlog.Open(ctx, st, "tickets-0", &intentlog.Options{Targets: intentlog.Targets{"tickets": {
		Base: url, Transport: &http.Transport{DialContext: dial},
	}}})
	if err != nil {
		return err
	}
	_, err = w.Do(ctx, job, intent.POST("tickets", "/followups", []byte(payload)).WithAction(action))
	return err
}

// halfConn writes n bytes, from the end if n is negative, and waits to be killed.
type halfConn struct {
	net.Conn
	gate *supervise.Gate
	n    int
}

func (c halfConn) Write(b []byte) (int, error) {
	n := c.n
	if n < 0 {
		n += len(b)
	}
	if _, err := c.Conn.Write(b[:n]); err != nil {
		return 0, err
	}
	c.gate.Pass("half")
	return 0, errors.New("nobody killed the process")
}

func TestHalfARequestOfAKilledWorkerIsNoRequest(t *testing.T) {
	for where, cut := range map[string]int{"in its first line": 10, "in its head": 60, "in its body": -5} {
		t.Run(where, func(t *testing.T) {
			w := newWorld(t)
			path := filepath.Join(t.TempDir(), "log.db")
			exe, err := os.Executable()
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c, err := supervise.Start(exe, "worker", path, w.url, strconv.Itoa(cut))
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.Reached(ctx, "half"))
			require.NoError(t, c.Kill())
			require.Zero(t, w.effects())

			st, err := sqlitestore.Open(path, nil)
			require.NoError(t, err)
			defer st.Close()
			w.log = st
			second := w.open(20*time.Second, time.Second)
			report, err := second.Recover(t.Context())
			require.NoError(t, err)
			require.NoError(t, second.Close())
			require.Len(t, report.Outcomes, 1)
			require.Equal(t, intentlog.Confirmed, report.Outcomes[0].Status)
			require.Equal(t, 1, report.Outcomes[0].Sends)
			require.Equal(t, 1, w.effects())
			w.judge()
		})
	}
}
