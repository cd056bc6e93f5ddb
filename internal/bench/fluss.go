package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/store/flussstore"
)

// formats are the log formats that everything is measured in.
var formats = []flussstore.Format{flussstore.Arrow, flussstore.Indexed}

// flussBench is one run on one cluster.
type flussBench struct {
	r         *report
	dir       string // scratch
	bootstrap string
	database  string // of this run; dropped in the end
	rounds    int
	tables    map[tableKey]string
	java      map[flussstore.Format]*answerer // nil without -peers
	py        *answerer                       // nil without -peers
}

// flussSuite measures the log in a Fluss table.
func flussSuite(ctx context.Context, fs *flag.FlagSet, args []string, r *report) (err error) {
	bootstrap := fs.String("bootstrap", "", "`HOST:PORT` of a cluster; without it one is started")
	withPeers := fs.Bool("peers", false, "measure the Java client and pyfluss too")
	only := fs.String("work", "", "only this work: append, append64, bulk, read, read9, call")
	profile := fs.String("cpuprofile", "", "write a CPU profile of this process to `FILE`")
	n := fs.Int("rounds", rounds, "how often ours and the peers take turns")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "intentlog-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *bootstrap == "" {
		// Nobody kills a server here: one that stands still for seconds on a busy machine has not died.
		c, err := flusstest.StartCluster(ctx, flusstest.ClusterOptions{Config: map[string]string{"zookeeper.client.session-timeout": "30s"}})
		if err != nil {
			return err
		}
		defer c.Close()
		*bootstrap = c.Bootstrap()
	}
	b := &flussBench{
		r: r, dir: dir, bootstrap: *bootstrap, database: fmt.Sprintf("bench_%d", time.Now().UnixMilli()), rounds: *n,
		tables: map[tableKey]string{}, java: map[flussstore.Format]*answerer{},
	}
	c := fluss.New(fluss.Options{Bootstrap: []string{*bootstrap}})
	if err := c.CreateDatabase(ctx, b.database, false); err != nil {
		return errors.Join(err, c.Close())
	}
	defer func() {
		err = errors.Join(err, b.closePeers(), c.DropDatabase(context.WithoutCancel(ctx), b.database, true), c.Close())
	}()
	if *withPeers {
		if err := b.startPeers(ctx); err != nil {
			return err
		}
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for _, w := range []struct {
		name string
		run  func(*flussBench, context.Context) error
	}{
		{"append", (*flussBench).appendAlone},
		{"append64", (*flussBench).append64},
		{"bulk", (*flussBench).bulk},
		{"read", (*flussBench).read},
		{"read9", (*flussBench).read9},
		{"call", (*flussBench).call},
	} {
		if *only != "" && *only != w.name {
			continue
		}
		if err := w.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// open opens a log in a table of its own, which the first call creates.
func (b *flussBench) open(ctx context.Context, name string, format flussstore.Format) (*flussstore.Store, error) {
	o := flussstore.Options{Database: b.database, Table: b.table(name, format), Format: format}
	if o.Table != "" {
		return flussstore.Open(ctx, b.bootstrap, &o)
	}
	// The coordinator of Fluss 0.9.1 may miss that a table was created, and then it
	// never gets a leader: the next name is tried.
	for try := 1; ; try++ {
		o.Table, o.Create = fmt.Sprintf("%s_%s_%d", name, format, try), true
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		st, err := flussstore.Open(limited, b.bootstrap, &o)
		cancel()
		if err == nil {
			b.tables[tableKey{name, format}] = o.Table
		}
		if err == nil || try == 3 || ctx.Err() != nil {
			return st, err
		}
	}
}

// tableKey names a log of this run.
type tableKey struct {
	name   string
	format flussstore.Format
}

// table is the table of a log that was opened, else "".
func (b *flussBench) table(name string, format flussstore.Format) string {
	return b.tables[tableKey{name, format}]
}

// startPeers starts the official clients. They stay, and answer when they are asked.
func (b *flussBench) startPeers(ctx context.Context) (err error) {
	for _, format := range formats {
		if b.java[format], err = startJava(ctx, b.bootstrap, b.database, format); err != nil {
			return err
		}
	}
	b.py, err = startPython(ctx, b.bootstrap, b.database)
	return err
}

func (b *flussBench) closePeers() error {
	errs := []error{b.py.close()}
	for _, j := range b.java {
		errs = append(errs, j.close())
	}
	return errors.Join(errs...)
}

// javaIn enters the Java client in both formats against all of ours.
func (b *flussBench) javaIn(c *contest, ours []int, in []flussstore.Format, work func(flussstore.Format) string) {
	for _, format := range in {
		if j := b.java[format]; j != nil {
			peer := c.run("Java "+label(format), func() (float64, error) { return j.ask(work(format)) })
			for _, o := range ours {
				c.against(o, peer)
			}
		}
	}
}

// pythonIn enters pyfluss, which speaks ARROW only.
func (b *flussBench) pythonIn(c *contest, name string, ours int, work string) {
	if b.py != nil {
		c.against(ours, c.run(name, func() (float64, error) { return b.py.ask(work) }))
	}
}

// label is a format as Fluss spells it.
func label(f flussstore.Format) string {
	if f == flussstore.Indexed {
		return "INDEXED"
	}
	return "ARROW"
}
