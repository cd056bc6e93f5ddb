package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// The lines of docs/benchmarks.md between which the figures stand.
const (
	figuresBegin = "<!-- figures: written by go run ./internal/bench table -->"
	figuresEnd   = "<!-- end of figures -->"
)

// writeTable puts the JSON lines of earlier runs into a document as one table, and
// names this machine and commit, so it is run where and when they were.
func writeTable(ctx context.Context, fs *flag.FlagSet, args []string, _ *report) error {
	doc := fs.String("doc", "docs/benchmarks.md", "the document")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var b strings.Builder
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("name the commit: %w", err)
	}
	fmt.Fprintf(&b, "%s on %s, %d CPUs, %s/%s, %s, commit %s.\n\n", time.Now().UTC().Format(time.DateOnly),
		processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), bytes.TrimSpace(commit))
	b.WriteString("| work | ours | peer | unit | times better | peer; our format where there are several |\n|---|---|---|---|---|---|\n")
	for _, name := range fs.Args() {
		if err := addRows(&b, name); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(*doc)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), figuresBegin)
	_, after, whole := strings.Cut(rest, figuresEnd)
	if !found || !whole {
		return errors.New(*doc + " has no place for figures")
	}
	return os.WriteFile(*doc, []byte(before+figuresBegin+"\n"+b.String()+figuresEnd+after), 0o644)
}

// addRows adds the comparisons in a file of JSON lines.
func addRows(b *strings.Builder, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %.2f | %s |\n", l.Work, figure(l.Ours), figure(l.Peer), l.Unit, l.Ratio, l.PeerName)
	}
	return nil
}

// figure shows three digits that mean something.
func figure(v float64) string {
	switch {
	case v >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// processor is the name of the machine's processor, as far as the system tells.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for l := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unnamed processor"
}
