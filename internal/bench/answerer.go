package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/intentlog/intentlog/internal/jvm"
	"github.com/intentlog/intentlog/store/flussstore"
)

// answerer is a peer that runs all the time, so that its compiler is warm, and
// measures one work whenever it is asked to: a line in, a figure out.
type answerer struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	errs bytes.Buffer // written until Wait has returned
}

func startAnswerer(cmd *exec.Cmd) (*answerer, error) {
	a := &answerer{cmd: cmd}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.in, a.out, cmd.Stderr = in, bufio.NewScanner(out), &a.errs
	return a, cmd.Start()
}

// ask lets the peer measure one work.
func (a *answerer) ask(work string) (float64, error) {
	if _, err := io.WriteString(a.in, work+"\n"); err != nil {
		return 0, errors.Join(fmt.Errorf("ask for %s: %w", work, err), a.close())
	}
	if !a.out.Scan() {
		return 0, errors.Join(fmt.Errorf("no answer to %s: %w", work, io.ErrUnexpectedEOF), a.close())
	}
	return strconv.ParseFloat(strings.TrimSpace(a.out.Text()), 64)
}

// close lets the peer tidy up and end.
func (a *answerer) close() error {
	if a == nil || a.cmd.ProcessState != nil {
		return nil
	}
	_ = a.in.Close()
	if err := a.cmd.Wait(); err != nil {
		text := a.errs.String()
		return fmt.Errorf("%s: %w: %s", filepath.Base(a.cmd.Path), err, text[max(0, len(text)-2000):])
	}
	return nil
}

// moduleFile is the path of a file of this module.
func moduleFile(ctx context.Context, parts ...string) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{filepath.Dir(strings.TrimSpace(string(mod)))}, parts...)...), nil
}

// startJava starts the official Java client, release 1.0.0.
func startJava(ctx context.Context, bootstrap, database string, format flussstore.Format) (*answerer, error) {
	dir, err := moduleFile(ctx, "internal", "fluss", "javawitness")
	if err != nil {
		return nil, err
	}
	pom, err := os.ReadFile(filepath.Join(dir, "pom.xml"))
	if err != nil {
		return nil, err
	}
	java, err := jvm.Java()
	if err != nil {
		return nil, err
	}
	classPath, err := jvm.Bundle{Name: "fluss-client", POM: pom}.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	return startAnswerer(exec.CommandContext(ctx, java, "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", classPath,
		filepath.Join(dir, "Bench.java"), bootstrap, database, label(format)))
}
