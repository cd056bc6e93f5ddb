package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
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
	java      map[flussstore.Format]*answerer // nil without -peers
	py        *answerer                       // nil without -peers
}

// flussSuite measures the log in a Fluss table.
func flussSuite(ctx context.Context, fs *flag.FlagSet, args []string, r *report) (err error) {
	bootstrap := fs.String("bootstrap", "", "`HOST:PORT` of a cluster; without it one is started")
	withPeers := fs.Bool("peers", false, "measure the Java client and pyfluss too")
	only := fs.String("work", "", "only this work: append, append64, bulk, read, read9, call")
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
		c, err := flusstest.StartCluster(ctx, flusstest.ClusterOptions{})
		if err != nil {
			return err
		}
		defer c.Close()
		*bootstrap = c.Bootstrap()
	}
	b := &flussBench{
		r: r, dir: dir, bootstrap: *bootstrap, database: fmt.Sprintf("bench_%d", time.Now().UnixMilli()), rounds: *n,
		java: map[flussstore.Format]*answerer{},
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

// open opens a log in a table of its own.
func (b *flussBench) open(ctx context.Context, name string, format flussstore.Format) (*flussstore.Store, error) {
	return flussstore.Open(ctx, b.bootstrap, &flussstore.Options{Database: b.database, Table: table(name, format), Create: true, Format: format})
}

func table(name string, format flussstore.Format) string { return name + "_" + format.String() }

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

// contest is a work with those who take turns at it: ours in each format, floors and peers.
type contest struct {
	work, unit string
	higher     bool // more is better
	names      []string
	runs       []func() (float64, error)
	pairs      [][2]int // ours and peer, by index
}

// enter adds one who takes part and returns its index.
func (c *contest) enter(name string, run func() (float64, error)) int {
	c.names, c.runs = append(c.names, name), append(c.runs, run)
	return len(c.runs) - 1
}

// against adds a line of the report.
func (c *contest) against(ours, peer int) { c.pairs = append(c.pairs, [2]int{ours, peer}) }

// hold lets all take turns, and reports the medians. The order turns round in each
// round, so that nobody always follows the same one.
func (b *flussBench) hold(c *contest) error {
	figures := make([][]float64, len(c.runs))
	for round := range b.rounds {
		order := make([]int, len(c.runs))
		for i := range order {
			order[i] = i
		}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, i := range order {
			f, err := c.runs[i]()
			if err != nil {
				return fmt.Errorf("%s: %w", c.names[i], err)
			}
			figures[i] = append(figures[i], f)
		}
	}
	for _, p := range c.pairs {
		ours, peer := median(figures[p[0]]), median(figures[p[1]])
		name := fmt.Sprintf("%s; ours %s", c.names[p[1]], c.names[p[0]])
		if c.higher {
			b.r.higher(c.work, ours, peer, name, c.unit)
		} else {
			b.r.lower(c.work, ours, peer, name, c.unit)
		}
	}
	return nil
}

// javaIn enters the Java client in both formats against all of ours.
func (b *flussBench) javaIn(c *contest, ours []int, in []flussstore.Format, work func(flussstore.Format) string) {
	for _, format := range in {
		if j := b.java[format]; j != nil {
			peer := c.enter("Java "+label(format), func() (float64, error) { return j.ask(work(format)) })
			for _, o := range ours {
				c.against(o, peer)
			}
		}
	}
}

// pythonIn enters pyfluss, which speaks ARROW only.
func (b *flussBench) pythonIn(c *contest, name string, ours int, work string) {
	if b.py != nil {
		c.against(ours, c.enter(name, func() (float64, error) { return b.py.ask(work) }))
	}
}

// label is a format as Fluss spells it.
func label(f flussstore.Format) string {
	if f == flussstore.Indexed {
		return "INDEXED"
	}
	return "ARROW"
}
