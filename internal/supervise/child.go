package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// Child is the parent's end: one process under supervision. It is for one goroutine.
type Child struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	messages chan message  // closed at the end of the child's output
	gone     chan struct{} // closed once the process is reaped
	stderr   tail
}

// ErrEnded is wrapped by errors about a child that ended before it did what was
// waited for.
var ErrEnded = errors.New("the process has ended")

// Start runs the program with the arguments. The child inherits no environment
// beyond what a Go program needs to start, and what it needs not to wait: under the
// race detector a process sleeps for a second before it ends.
func Start(program string, args ...string) (*Child, error) {
	c := &Child{cmd: exec.Command(program, args...), messages: make(chan message, 16), gone: make(chan struct{})}
	c.cmd.Env = []string{"GORACE=atexit_sleep_ms=0"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "SYSTEMROOT", "GOCOVERDIR"} {
		if value, set := os.LookupEnv(name); set {
			c.cmd.Env = append(c.cmd.Env, name+"="+value)
		}
	}
	c.cmd.Stderr = &c.stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go c.read(out)
	return c, nil
}

// read takes the child's lines until it ends, and then its status.
func (c *Child) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			m = message{Barrier: "a line that is no message"}
		}
		c.messages <- m
	}
	close(c.messages)
	_ = c.cmd.Wait() // the status says it all
	close(c.gone)
}

func (c *Child) next(ctx context.Context, want string) (message, error) {
	select {
	case m, ok := <-c.messages:
		if !ok {
			<-c.gone
			return m, fmt.Errorf("waiting for %s: %w: %s%s", want, ErrEnded, c.cmd.ProcessState, c.stderr.String())
		}
		return m, nil
	case <-ctx.Done():
		return message{}, fmt.Errorf("waiting for %s: %w%s", want, ctx.Err(), c.stderr.String())
	}
}

// Reached waits until the child stands at the barrier.
func (c *Child) Reached(ctx context.Context, barrier string) error {
	m, err := c.next(ctx, "barrier "+barrier)
	if err == nil && m.Barrier != barrier {
		err = fmt.Errorf("waiting for barrier %s: the process is at %q, report %s", barrier, m.Barrier, m.Report)
	}
	return err
}

// Report waits for the child's next report and decodes it.
func (c *Child) Report(ctx context.Context, into any) error {
	m, err := c.next(ctx, "a report")
	switch {
	case err != nil:
		return err
	case m.Report == nil:
		return fmt.Errorf("waiting for a report: the process is at barrier %q", m.Barrier)
	}
	return json.Unmarshal(m.Report, into)
}

// Release lets the child go on from the barrier at which it stands. A stopped child
// goes on once it is continued.
func (c *Child) Release() error {
	_, err := io.WriteString(c.in, "go\n")
	return err
}

// Kill kills the process and returns once it is dead. It is an error if the process
// died of anything else.
func (c *Child) Kill() error {
	if err := c.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill: %w: %s%s", err, c.status(), c.stderr.String())
	}
	c.drain()
	if !killed(c.cmd.ProcessState) {
		return fmt.Errorf("kill: the process ended otherwise: %s%s", c.cmd.ProcessState, c.stderr.String())
	}
	return nil
}

// Exited waits until the process ends by itself, with status 0.
func (c *Child) Exited(ctx context.Context) error {
	m, err := c.next(ctx, "the end of the process")
	switch {
	case err == nil:
		return fmt.Errorf("waiting for the end of the process: it says %+v", m)
	case errors.Is(err, ErrEnded) && c.cmd.ProcessState.Success():
		return nil
	}
	return err
}

// Close kills the process if it lives, and returns once it is gone.
func (c *Child) Close() {
	_ = c.cmd.Process.Kill() // an error means that it is gone
	c.drain()
	_ = c.in.Close()
}

// drain waits for the end of a process that was killed.
func (c *Child) drain() {
	for range c.messages {
	}
	<-c.gone
}

func (c *Child) status() string {
	select {
	case <-c.gone:
		return c.cmd.ProcessState.String()
	default:
		return "alive"
	}
}

// tail keeps the end of what the child writes to its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append([]byte(nil), t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) == 0 {
		return ""
	}
	return "; it wrote: " + strings.TrimSpace(string(t.text))
}
