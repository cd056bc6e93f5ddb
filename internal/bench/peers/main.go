// Command peers measures what the library is compared with. It prints one figure:
//
//	peers bbolt64|sqlite64 DIR            appends per second, 64 goroutines
//	peers dbos-call|dbos-call64 DIR       microseconds a call | calls per second
//	peers dbos-call-url|dbos-call64-url DATABASE-URL
//	peers scan FILE                       seconds to read all rows of a log
package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	works := map[string]func(string) (float64, error){
		"bbolt64": bbolt64, "sqlite64": sqlite64, "scan": scan,
		"dbos-call":       func(dir string) (float64, error) { return dbosIn(dir, false) },
		"dbos-call64":     func(dir string) (float64, error) { return dbosIn(dir, true) },
		"dbos-call-url":   func(url string) (float64, error) { return dbosAt(url, false) },
		"dbos-call64-url": func(url string) (float64, error) { return dbosAt(url, true) },
	}
	if len(os.Args) != 3 || works[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: peers WORK DIR")
		os.Exit(2)
	}
	figure, err := works[os.Args[1]](os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(figure)
}

// latency returns the median duration of f in microseconds.
func latency(n int, f func(i int) error) (float64, error) {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		if err := f(i); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return float64(took[n/2].Nanoseconds()) / 1e3, nil
}

// rate returns how often a second f was called by k goroutines.
func rate(n, k int, f func(i int) error) (float64, error) {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	errs := make(chan error, k)
	start := time.Now()
	for range k {
		go func() {
			for i := range next {
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
