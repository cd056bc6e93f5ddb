// Command flink shows the log of intents through Flink SQL, and its projection
// events_by_id: one row per event. It starts its own Fluss and its own Flink, which
// needs Java 17 and, the first time, Maven:
//
//	go run ./examples/flink
//
// Each case compares what Flink says with an independent read. The exit status is 0
// only if every case is right.
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
	"text/tabwriter"

	"github.com/intentlog/intentlog/internal/flinktest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "flink:", err)
		os.Exit(1)
	}
}

// Result is how a case ended. Its JSON is the output of -json, one object a line.
type Result struct {
	Case string `json:"case"`
	Rows int64  `json:"rows"` // that Flink, or the projection, was seen to have
	OK   bool   `json:"ok"`
	Err  string `json:"error,omitempty"`
	note string // the evidence, for people
}

var versions = map[string]flinktest.Version{"1.20": flinktest.Flink120, "2.2": flinktest.Flink22}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("flink", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print one JSON object a case and nothing else")
	version := flags.String("flink", "1.20", "release line of Flink: 1.20 or 2.2")
	measure := flags.Bool("bench", false, "measure instead: the trace query and the projection on 100,000 events")
	switch err := flags.Parse(args); {
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("what is %q? see -h", flags.Arg(0))
	}
	v, known := versions[*version]
	if !known {
		return fmt.Errorf("no Flink %q; there are 1.20 and 2.2", *version)
	}
	say := stdout
	if *asJSON {
		say = io.Discard
	}
	fmt.Fprintf(say, "starting Fluss and Flink %s\n", v)
	l, err := openLab(ctx, v, !*measure)
	if err != nil {
		return err
	}
	defer l.Close()
	if *measure {
		return bench(ctx, l, stdout)
	}
	results := perform(ctx, l, say)
	if err := ctx.Err(); err != nil {
		return err
	}
	wrong := 0
	for _, r := range results {
		if !r.OK {
			wrong++
		}
		if *asJSON {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%s\n", line)
		}
	}
	if err := printTable(say, results); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d cases are wrong", wrong, len(results))
	}
	return nil
}

func printTable(out io.Writer, results []Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nCASE\tROWS\tVERDICT\tEVIDENCE")
	for _, r := range results {
		verdict, said := "ok", r.note
		if !r.OK {
			verdict, said = "WRONG", r.Err
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", r.Case, r.Rows, verdict, said)
	}
	return w.Flush()
}
