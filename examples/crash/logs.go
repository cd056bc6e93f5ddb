package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/sharedlog"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// kinds are the logs that the cases can run on. This file is all that differs.
// Those of kinds need nothing but Go; there is fluss besides.
var kinds = []string{"sqlite", "memory"}

// place returns where the logs of a kind are, for newCaseLog, until stop is called.
func place(ctx context.Context, kind, bootstrap string) (place string, stop func(), err error) {
	switch {
	case kind == "fluss":
		return flussPlace(ctx, bootstrap)
	case bootstrap != "":
		return "", nil, fmt.Errorf("-bootstrap goes with -store fluss, not %s", kind)
	case slices.Contains(kinds, kind):
		return kind, func() {}, nil
	}
	return "", nil, fmt.Errorf("no store %q; there are %s, fluss", kind, strings.Join(kinds, ", "))
}

// openLog opens the log that a supervisor named with [caseLog.address].
func openLog(ctx context.Context, address string) (store.Store, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "sqlite":
		return sqlitestore.Open(rest, nil)
	case "shared":
		return sharedlog.Dial(ctx, rest)
	case "fluss":
		return openFluss(ctx, address, false)
	}
	return nil, fmt.Errorf("no log at %q", address)
}

// caseLog is the log of one case, as the supervisor has it.
type caseLog struct {
	address string // for the workers
	label   string // for people
	read    func(context.Context) ([]store.Record, error)
	close   func() error
}

// newCaseLog makes a fresh log in dir. The embedded log lets one process write at a
// time, so where several are alive at once, and where the log is in memory, the
// supervisor opens the log and serves it to the workers.
func newCaseLog(ctx context.Context, place, dir string, several bool) (*caseLog, error) {
	path := filepath.Join(dir, "intents.db")
	switch {
	case strings.HasPrefix(place, "fluss:"):
		return newFlussLog(ctx, place, dir)
	case place == "memory":
		return serve(memstore.New(1), "memory, served")
	case several:
		st, err := sqlitestore.Open(path, nil)
		if err != nil {
			return nil, err
		}
		return serve(st, "sqlite, served")
	}
	return &caseLog{
		address: "sqlite:" + path, label: "sqlite",
		read:  func(ctx context.Context) ([]store.Record, error) { return readFile(ctx, path) },
		close: func() error { return nil },
	}, nil
}

// readFile reads a log by a handle of its own, beside a writer or after its death.
func readFile(ctx context.Context, path string) ([]store.Record, error) {
	st, err := sqlitestore.Open(path, &sqlitestore.Options{ReadOnly: true})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records, err := readAll(ctx, st)
	return records, errors.Join(err, st.Close())
}

// serve lets other processes share st.
func serve(st store.Store, label string) (*caseLog, error) {
	url, stop, err := listen(sharedlog.Handler(st))
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &caseLog{
		address: "shared:" + url, label: label,
		read:  func(ctx context.Context) ([]store.Record, error) { return readAll(ctx, st) },
		close: func() error { return errors.Join(stop(), st.Close()) },
	}, nil
}

// readAll reads all records of all buckets but the barriers, which mark bounds and
// belong to no job.
func readAll(ctx context.Context, st store.Store) (all []store.Record, err error) {
	for b := range st.Buckets() {
		bound, err := st.Bound(ctx, b)
		if err != nil {
			return nil, err
		}
		err = st.Read(ctx, b, 0, bound.End, func(r *store.Record) error {
			if r.Event.Type != intent.Barrier {
				all = append(all, *r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// listen serves h on a free port of this machine until stop is called.
func listen(h http.Handler) (url string, stop func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with srv.Close
	return "http://" + l.Addr().String(), srv.Close, nil
}

// freshDir makes the directory of a case and takes the files of an earlier run out
// of it; it touches no others.
func freshDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"service.db", "intents.db"} {
		for _, ext := range []string{"", "-wal", "-shm", "-lock", "-new"} {
			if err := os.Remove(filepath.Join(dir, name+ext)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
