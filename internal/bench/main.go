// Command bench measures this library and its peers side by side, in one run and
// on one machine, and prints ratios: an absolute figure says little on a shared
// machine.
//
//	go run ./internal/bench embedded [-json]
//	go run ./internal/bench fluss [-bootstrap HOST:PORT] [-peers] [-json]
//	go run ./internal/bench table FILES   # JSON lines into docs/benchmarks.md
//
// Each work is measured in rounds that alternate between ours and the peer; the
// figures are medians of the rounds. Peers live in modules of their own, so that
// users of the library never see them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// suites are the things that can be measured.
var suites = map[string]func(ctx context.Context, fs *flag.FlagSet, args []string, r *report) error{
	"embedded":    embedded,
	"fluss":       flussSuite,
	"table":       writeTable,
	"recover-one": recoverOne, // a child of embedded: one recovery in a process of its own
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || suites[args[0]] == nil {
		return fmt.Errorf("usage: bench embedded|fluss [flags] | bench table FILES")
	}
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	r := &report{out: out}
	fs.BoolVar(&r.json, "json", false, "print one JSON object a line")
	return suites[args[0]](ctx, fs, args[1:], r)
}

// line is one comparison.
type line struct {
	Work     string  `json:"work"`
	Ours     float64 `json:"ours"`
	Peer     float64 `json:"peer"`
	PeerName string  `json:"peer_name"`
	Unit     string  `json:"unit"`
	Ratio    float64 `json:"ratio"` // how many times better than the peer; below 1 is worse
}

// report prints comparisons as they come.
type report struct {
	out  io.Writer
	json bool
	head bool
}

// lower prints a comparison where less is better.
func (r *report) lower(work string, ours, peer float64, peerName, unit string) {
	r.print(line{work, ours, peer, peerName, unit, peer / ours})
}

// higher prints a comparison where more is better.
func (r *report) higher(work string, ours, peer float64, peerName, unit string) {
	r.print(line{work, ours, peer, peerName, unit, ours / peer})
}

func (r *report) print(l line) {
	if r.json {
		_ = json.NewEncoder(r.out).Encode(l)
		return
	}
	if !r.head {
		r.head = true
		fmt.Fprintf(r.out, "%-14s %14s %14s  %-14s %8s  %s\n", "WORK", "OURS", "PEER", "UNIT", "RATIO", "PEER NAME")
	}
	fmt.Fprintf(r.out, "%-14s %14.1f %14.1f  %-14s %7.2fx  %s\n", l.Work, l.Ours, l.Peer, l.Unit, l.Ratio, l.PeerName)
}

// note prints a remark that is no comparison.
func (r *report) note(format string, args ...any) {
	if !r.json {
		fmt.Fprintf(r.out, strings.TrimSuffix(format, "\n")+"\n", args...)
	}
}

// median returns the middle of a list.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return 0
	}
	return v[len(v)/2]
}

// latency calls f n times and returns the median duration in microseconds.
func latency(n int, f func(i int) error) (float64, error) {
	took := make([]float64, n)
	for i := range took {
		start := time.Now()
		if err := f(i); err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(start).Nanoseconds()) / 1e3
	}
	return median(took), nil
}

// rate calls f n times from k goroutines and returns the calls per second.
func rate(n, k int, f func(i int) error) (float64, error) {
	var next atomic.Int64
	errs := make(chan error, k)
	start := time.Now()
	for range k {
		go func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range k {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(start).Seconds(), nil
}
