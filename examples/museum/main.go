// Command museum shows public failures of programs that make other services do
// things, and counts what came of them:
//
//	go run ./examples/museum
//
// Each case is played by real processes against a shop that keeps a ledger of its
// own. The contenders are net/http with a naive retry, hashicorp/go-retryablehttp, a
// step-after-effect workflow (DBOS Go on SQLite), a controller to which an error is a
// failure, and intentlog. The README beside this file explains the cases and what is
// assumed of whom. The exit status is 0 only if intentlog is right in every case.
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
	"sync"
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
		fmt.Fprintln(os.Stderr, "museum:", err)
		stop()
		os.Exit(1)
	}
}

// Result is how one contender ended one case. The JSON form is one line of -json.
type Result struct {
	Case      string `json:"case"`
	Contender string `json:"contender"`
	Effects   int    `json:"effects"`
	Wanted    int    `json:"wanted"`
	OK        bool   `json:"ok"`
	Note      string `json:"note,omitempty"` // what it took, or why the case was not played

	played bool
}

// atOnce is how many cases are played at the same time.
const atOnce = 4

// caseTimeout bounds one contender in one case; the longest take a few seconds.
const caseTimeout = time.Minute

// run is the museum, or, if the first argument is a contender's, one process of it.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 2 {
		if work := own[args[0]]; work != nil {
			e, err := parseErrand(args)
			if err != nil {
				return err
			}
			return work(ctx, e)
		}
	}
	flags := flag.NewFlagSet("museum", flag.ContinueOnError)
	only := flags.String("case", "", "play only this case")
	asJSON := flags.Bool("json", false, "print one JSON object a case and contender, and nothing else")
	keys := flags.Bool("keys", false, "let the shop honour keys for ever, in the cases where it honours none")
	require := flags.Bool("require", false, "fail if a contender cannot be built")
	switch err := flags.Parse(args); {
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("what is %q? see -h", flags.Arg(0))
	}
	shown, err := choose(*only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "intentlog-museum-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, missing, err := contenders(ctx, dir)
	switch {
	case err != nil:
		return err
	case missing != nil && *require:
		return missing
	}
	results, err := playAll(ctx, shown, all, dir, *keys)
	if err != nil {
		return err
	}
	if *asJSON {
		err = printJSON(stdout, results)
	} else {
		err = printTable(stdout, shown, all, results)
		if err == nil && missing != nil {
			_, err = fmt.Fprintf(stdout, "\nnot played: %v\n", missing)
		}
	}
	return errors.Join(err, judge(results))
}

// judge is an error if intentlog is wrong in a case.
func judge(results []Result) error {
	wrong := 0
	for _, r := range results {
		if r.Contender == intentLog && !r.OK {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("intentlog is wrong in %d cases", wrong)
	}
	return nil
}

// own are the contenders that this program is itself.
var own = map[string]func(context.Context, errand) error{
	netHTTP: plain, operator: reconciler, intentLog: durable,
}

func choose(name string) ([]exhibit, error) {
	if name == "" {
		return exhibits, nil
	}
	for _, x := range exhibits {
		if x.name == name {
			return []exhibit{x}, nil
		}
	}
	return nil, fmt.Errorf("no case %q", name)
}

// playAll plays every case with every contender; the results are in that order.
func playAll(ctx context.Context, shown []exhibit, all []contender, dir string, keys bool) ([]Result, error) {
	results := make([]Result, len(shown)*len(all))
	errs := make([]error, len(results))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range results {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, caseTimeout)
			defer cancel()
			results[i], errs[i] = all[i%len(all)].play(ctx, shown[i/len(all)], dir, keys)
		})
	}
	wg.Wait()
	return results, errors.Join(errs...)
}

func printJSON(out io.Writer, results []Result) error {
	enc := json.NewEncoder(out)
	for _, r := range results {
		if r.played {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
	}
	return nil
}
