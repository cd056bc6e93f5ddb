package flusstest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/intentlog/intentlog/internal/jvm"
)

// Server is one server of a [Cluster]: its coordinator or a tablet server. It keeps its address and its
// data over a kill and a start. Its methods may be called from several goroutines.
type Server struct {
	cluster  *Cluster
	name     string
	id       int // of a tablet server; -1 for the coordinator
	addr     string
	saslAddr string
	dir      string
	command  jvm.Command

	mu   sync.Mutex   // serialises starts and ends
	proc *jvm.Process // the last one started, perhaps ended; nil before the first
}

// Addr returns the server's address without authentication, as host:port.
func (s *Server) Addr() string { return s.addr }

// DataDir returns the directory of a tablet server's logs and tables.
func (s *Server) DataDir() string { return filepath.Join(s.dir, "data") }

// Running reports whether the server's JVM lives.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc != nil && s.proc.Running()
}

// Kill ends the server as kill -9 does and returns when its process is gone. The rest of the cluster notices
// when its ZooKeeper session expires, about six seconds later.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.Kill()
	}
}

// Stop ends the server in good order, by SIGTERM, and returns when its process is gone. It is killed
// when that takes too long.
func (s *Server) Stop(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.Stop(ctx)
	}
}

// Restart starts a server that was killed or stopped, with the data it left, and returns when the
// cluster uses it again. A server that still runs is stopped first. After a Kill this takes as long as
// the old ZooKeeper session lasts.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.Stop(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.launch(); err != nil {
		return fmt.Errorf("restart %s: %w", s.name, err)
	}
	if err := s.awaitReady(ctx, 1); err != nil {
		return fmt.Errorf("restart %s: %w", s.name, err)
	}
	return nil
}

// LogTail returns the last n lines of what the server has written.
func (s *Server) LogTail(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return ""
	}
	return s.proc.LogTail(n)
}

func (s *Server) launch() error {
	p, err := jvm.Start(s.command)
	if err != nil {
		return err
	}
	s.proc = p
	return nil
}

// awaitReady waits until the server says that it knows at least n tablet servers, itself among them if
// it is one. A tablet server learns of the others, and of itself, only from a coordinator that has
// accepted it.
func (s *Server) awaitReady(ctx context.Context, n int) error {
	return s.proc.Await(ctx, fmt.Sprintf("metadata of %d tablet servers", n), func(ctx context.Context) error {
		ids, err := liveTabletServers(ctx, s.addr)
		if err != nil {
			return err
		}
		if len(ids) < n || s.id >= 0 && !ids[s.id] {
			return fmt.Errorf("it knows %d tablet servers: %v", len(ids), ids)
		}
		return nil
	})
}
