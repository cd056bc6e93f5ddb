package supervise

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// message is one line of the child.
type message struct {
	Barrier string          `json:"barrier,omitempty"`
	Report  json.RawMessage `json:"report,omitempty"`
}

// Gate is the child's end. Its methods are safe for concurrent use.
type Gate struct {
	out io.Writer
	let chan struct{} // one value for each line of the parent

	mu    sync.Mutex // guards out and pause
	pause map[string]bool
}

// NewGate returns the gate of a process that talks over in and out. It waits at the
// named barriers, at each of them once. When in ends, the parent is gone: orphaned
// is called, from a goroutine of the gate, and should end the process.
func NewGate(in io.Reader, out io.Writer, pause []string, orphaned func()) *Gate {
	g := &Gate{out: out, let: make(chan struct{}), pause: map[string]bool{}}
	for _, name := range pause {
		g.pause[name] = true
	}
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			g.let <- struct{}{}
		}
		orphaned()
	}()
	return g
}

// Pass tells the parent that the barrier is reached and waits until it lets the
// process go on. At a barrier that was not asked for, or was passed before, it does
// nothing.
func (g *Gate) Pass(barrier string) {
	g.mu.Lock()
	wait := g.pause[barrier]
	delete(g.pause, barrier)
	g.mu.Unlock()
	if !wait {
		return
	}
	if g.write(message{Barrier: barrier}) == nil {
		<-g.let
	}
}

// Armed reports whether the next Pass of the barrier will wait.
func (g *Gate) Armed(barrier string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pause[barrier]
}

// Tell sends a report to the parent, which gets it from [Child.Report].
func (g *Gate) Tell(report any) error {
	text, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("report to the supervisor: %w", err)
	}
	return g.write(message{Report: text})
}

func (g *Gate) write(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err = g.out.Write(append(line, '\n'))
	return err
}
