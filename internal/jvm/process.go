package jvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Command describes one JVM.
type Command struct {
	// Name says in errors which JVM is meant.
	Name string
	// ClassPath is what java -cp takes; Class is the main class, or the path of a single Java source file.
	ClassPath, Class string
	// JVMArgs stand before the class (-Xmx512m), Args behind it.
	JVMArgs, Args []string
	// Env are further environment variables, each of the form name=value.
	Env []string
	// Log is the file that receives standard output and standard error; it is appended to, so that a
	// restarted server keeps its history. Its folder must exist.
	Log string
}

// Process is a JVM that was started. Its methods may be called from several goroutines.
type Process struct {
	name string
	log  string
	pid  int
	done chan struct{}
	err  error // of the process, valid after done is closed
	cmd  *exec.Cmd
}

// Start starts a JVM in a process group of its own and returns without waiting for anything it does.
// The caller ends it with Stop or Kill.
func Start(c Command) (*Process, error) {
	cmd, err := c.build(context.Background())
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer log.Close() // the JVM has its own descriptor
	cmd.Stdout, cmd.Stderr = log, log
	if err := startBound(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{name: c.Name, log: c.Log, pid: cmd.Process.Pid, done: make(chan struct{}), cmd: cmd}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Run runs a JVM to its end and returns what it wrote to standard output. An exit code other than zero
// is an error that wraps *exec.ExitError and shows the end of standard error; the output is returned
// beside it. The end of ctx kills the JVM. Command.Log is not used.
func Run(ctx context.Context, c Command) ([]byte, error) {
	cmd, err := c.build(ctx)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := startBound(cmd); err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Name, err)
	}
	if err := cmd.Wait(); err != nil {
		return stdout.Bytes(), fmt.Errorf("run %s: %w: %s", c.Name, err, tail(stderr.Bytes(), 20))
	}
	return stdout.Bytes(), nil
}

func (c Command) build(ctx context.Context) (*exec.Cmd, error) {
	java, err := Java()
	if err != nil {
		return nil, err
	}
	args := append([]string{}, c.JVMArgs...)
	if c.ClassPath != "" {
		args = append(args, "-cp", c.ClassPath)
	}
	args = append(args, c.Class)
	cmd := exec.CommandContext(ctx, java, append(args, c.Args...)...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	return cmd, nil
}

// Pid returns the process id, which is also the id of its process group.
func (p *Process) Pid() int { return p.pid }

// Done is closed when the JVM has ended and its remains were collected.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running reports whether the JVM has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Kill ends the JVM as kill -9 does and returns when it is gone. A JVM that has ended already is left
// alone.
func (p *Process) Kill() {
	if p.Running() {
		_ = killGroup(p.cmd.Process) // it can only have ended meanwhile
	}
	<-p.done
}

// stopGrace is how long a JVM may take to end in good order. Fluss servers take up to 5 s.
const stopGrace = 15 * time.Second

// Stop asks the JVM to end (SIGTERM) and returns when it is gone; one that has not ended after 15
// seconds, or when ctx ends, is killed.
func (p *Process) Stop(ctx context.Context) {
	if p.Running() {
		_ = terminate(p.cmd.Process) // it can only have ended meanwhile
	}
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
	}
}

// Log returns all that the JVM, and earlier ones with the same log file, have written so far.
func (p *Process) Log() ([]byte, error) { return os.ReadFile(p.log) }

// LogSize returns the length of the log in bytes: the place from which to look for what comes next.
func (p *Process) LogSize() int64 {
	info, err := os.Stat(p.log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// ErrEnded says that a JVM ended while something was expected of it.
var ErrEnded = errors.New("the JVM has ended")

// WaitLog returns the first line at or behind byte offset from of the log that contains text. It ends early
// with an error that wraps [ErrEnded], and shows the end of the log, when the JVM ends.
func (p *Process) WaitLog(ctx context.Context, from int64, text string) (string, error) {
	var line string
	err := p.Await(ctx, fmt.Sprintf("log line with %q", text), func(context.Context) error {
		log, err := p.Log()
		if err != nil {
			return err
		}
		log = log[min(from, int64(len(log))):]
		at := bytes.Index(log, []byte(text))
		if at < 0 {
			return errors.New("not written yet")
		}
		begin := bytes.LastIndexByte(log[:at], '\n') + 1
		length := bytes.IndexByte(log[at:], '\n')
		if length < 0 {
			return errors.New("half written")
		}
		line = string(log[begin : at+length])
		return nil
	})
	return line, err
}

// WaitPort returns when the JVM accepts TCP connections on the address, or with an error like
// [Process.WaitLog].
func (p *Process) WaitPort(ctx context.Context, address string) error {
	var d net.Dialer
	return p.Await(ctx, "port "+address, func(ctx context.Context) error {
		conn, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// Await asks ready every few milliseconds until it returns nil. It gives up when the JVM ends or ctx
// does; the error then says what was awaited, ready's last error and the end of the log.
func (p *Process) Await(ctx context.Context, what string, ready func(context.Context) error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.wrap(what, fmt.Errorf("%w (%w)", ErrEnded, errors.Join(p.err, err)))
		case <-ctx.Done():
			return p.wrap(what, fmt.Errorf("%w (%w)", context.Cause(ctx), err))
		case <-tick.C:
		}
	}
}

func (p *Process) wrap(what string, err error) error {
	return fmt.Errorf("%s: wait for %s: %w\nend of %s:\n%s", p.name, what, err, filepath.Base(p.log), indent(p.LogTail(40)))
}

// LogTail returns the last n lines of the log.
func (p *Process) LogTail(n int) string {
	log, err := p.Log()
	if err != nil {
		return err.Error()
	}
	return tail(log, n)
}

func indent(text string) string { return "\t" + strings.ReplaceAll(text, "\n", "\n\t") }
