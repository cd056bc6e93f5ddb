// Command crash shows what intentlog does when a worker dies, or loses an answer, at
// the worst moment. It needs nothing but Go:
//
//	go run github.com/intentlog/intentlog/examples/crash@latest
//
// It starts real worker processes ([worker.go] is the program to copy from), kills
// them with SIGKILL where it hurts, starts fresh ones, and in the end compares what
// the log of intents says with what the other service did. The README beside this
// file explains the cases. The exit status is 0 only if every case is right.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		stop()
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "crash:", err)
		stop()
		os.Exit(1)
	}
}

// caseTimeout bounds one case; it takes well under a second on a machine that is at rest.
const caseTimeout = 2 * time.Minute

// run is the supervisor, or, if the first argument says so, one worker process.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "worker" {
		return runWorker(ctx, args[1:], os.Stdin, stdout)
	}
	flags := flag.NewFlagSet("crash", flag.ContinueOnError)
	only := flags.String("case", "", "run only this case: "+strings.Join(caseNames(), ", "))
	asJSON := flags.Bool("json", false, "print one JSON object a case and nothing else")
	dir := flags.String("dir", "", "keep each case's service.db and intents.db in `DIR`/CASE")
	kind := flags.String("store", "sqlite", "where the intents are logged: sqlite, memory or fluss")
	bootstrap := flags.String("bootstrap", "", "`HOST:PORT` of a Fluss cluster; without it, -store fluss starts one")
	switch err := flags.Parse(args); {
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("what is %q? see -h", flags.Arg(0))
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	where, stop, err := place(ctx, *kind, *bootstrap)
	if err != nil {
		return err
	}
	defer stop()
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "intentlog-crash-"); err != nil {
			return err
		}
		defer os.RemoveAll(*dir)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	say := io.Discard
	if !*asJSON {
		say = stdout
	}
	var results []Result
	wrong := 0
	for i, c := range chosen {
		fmt.Fprintf(say, "[%d/%d] %s: %s\n", i+1, len(chosen), c.name, c.what)
		s := &stage{c: c, exe: exe, dir: filepath.Join(*dir, c.name), place: where, out: say}
		caseCtx, cancel := context.WithTimeout(ctx, caseTimeout)
		r := s.perform(caseCtx)
		cancel()
		if !r.OK {
			wrong++
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		results = append(results, r)
		if *asJSON {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%s\n", line)
		}
	}
	if !*asJSON {
		if err := printTable(stdout, results); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d cases are wrong", wrong, len(results))
	}
	return nil
}

// choose returns the named case, or all.
func choose(name string) ([]testCase, error) {
	if name == "" {
		return cases, nil
	}
	for _, c := range cases {
		if c.name == name {
			return []testCase{c}, nil
		}
	}
	return nil, fmt.Errorf("no case %q; there are %s", name, strings.Join(caseNames(), ", "))
}

func caseNames() (names []string) {
	for _, c := range cases {
		names = append(names, c.name)
	}
	return names
}
