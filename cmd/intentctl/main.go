// Command intentctl is the operator's tool: it shows what a log holds, checks it,
// and records decisions about held actions.
//
//	intentctl -log intents.db list
//	intentctl -log intents.db trace ticket-1042
//	intentctl -log fluss://127.0.0.1:9123/intentlog.job_events verify
//	intentctl -log intents.db resolve -decision retry -by ada -reason "the bank says no" order-7 order-7/1
//
// It sends nothing to any service. On an embedded log, list, trace and verify read
// beside the running worker; resolve needs the worker to be stopped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "intentctl:", err)
		os.Exit(1)
	}
}

// command is one verb of the tool.
type command struct {
	usage string
	run   func(ctx context.Context, c *call) error
	flags func(fs *flag.FlagSet, c *call)
	args  int
}

// call is one run of a command.
type call struct {
	log      string
	args     []string
	out      io.Writer
	decision string
	by       string
	reason   string
}

var commands = map[string]command{
	"list":   {usage: "list the jobs that are not completed", run: list},
	"trace":  {usage: "JOB: the events of one job, in order", run: trace, args: 1},
	"verify": {usage: "check every record and every history", run: verify},
	"resolve": {
		usage: "-decision D -by WHO -reason WHY JOB ACTION: record a decision about a held action", run: resolve, args: 2,
		flags: func(fs *flag.FlagSet, c *call) {
			fs.StringVar(&c.decision, "decision", "", "retry: send the same bytes once more; confirm: the effect exists; reject: it does not, and is not wanted")
			fs.StringVar(&c.by, "by", "", "who decides")
			fs.StringVar(&c.reason, "reason", "", "why")
		},
	},
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c := &call{out: out}
	fs := flag.NewFlagSet("intentctl", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.StringVar(&c.log, "log", "", "the log: a file, or fluss://HOST:PORT/DATABASE.TABLE")
	fs.Usage = func() {
		fmt.Fprintln(out, "usage: intentctl -log LOG COMMAND [FLAGS] [ARGS]")
		for _, name := range []string{"list", "trace", "verify", "resolve"} {
			fmt.Fprintf(out, "  %-8s %s\n", name, commands[name].usage)
		}
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		return ignoreHelp(err)
	}
	cmd, known := commands[fs.Arg(0)]
	if c.log == "" || !known {
		fs.Usage()
		return fmt.Errorf("want -log, and behind it one of the commands; got %q", fs.Args())
	}
	sub := flag.NewFlagSet(fs.Arg(0), flag.ContinueOnError)
	sub.SetOutput(out)
	if cmd.flags != nil {
		cmd.flags(sub, c)
	}
	if err := sub.Parse(fs.Args()[1:]); err != nil {
		return ignoreHelp(err)
	}
	if c.args = sub.Args(); len(c.args) != cmd.args {
		return fmt.Errorf("%s %s; flags come first; got %d arguments", fs.Arg(0), cmd.usage, len(c.args))
	}
	return cmd.run(ctx, c)
}

func ignoreHelp(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}
