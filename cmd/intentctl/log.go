package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// open opens the log that a call names. It never creates one.
func open(ctx context.Context, name string, write bool) (store.Store, error) {
	rest, isFluss := strings.CutPrefix(name, "fluss://")
	if !isFluss {
		return sqlitestore.Open(name, &sqlitestore.Options{MustExist: true, ReadOnly: !write})
	}
	addr, table, _ := strings.Cut(rest, "/")
	var o flussstore.Options
	if table != "" {
		db, tab, ok := strings.Cut(table, ".")
		if !ok {
			return nil, fmt.Errorf("log %q: want fluss://HOST:PORT/DATABASE.TABLE", name)
		}
		o.Database, o.Table = db, tab
	}
	return flussstore.Open(ctx, addr, &o)
}

// each calls fn for every record of every bucket, up to a bound per bucket, and
// returns the log's latest time.
func each(ctx context.Context, st store.Store, fn func(bucket int, r *store.Record) error) (nowMS int64, err error) {
	for b := range st.Buckets() {
		bound, err := st.Bound(ctx, b)
		if err != nil {
			return 0, err
		}
		nowMS = max(nowMS, bound.NowMS)
		err = st.Read(ctx, b, 0, bound.End, func(r *store.Record) error {
			nowMS = max(nowMS, r.CommitMS)
			return fn(b, r)
		})
		if err != nil {
			return 0, err
		}
	}
	return nowMS, nil
}

// summary is what a whole log folds to.
type summary struct {
	records, barriers, done int
	open                    map[intent.JobID]*intent.History
	broken                  []error // one for each job whose history breaks the rules
	nowMS                   int64
}

// fold reads the whole log. It keeps every history to the end, so that events
// about finished jobs are checked too.
func fold(ctx context.Context, st store.Store) (*summary, error) {
	s := &summary{open: map[intent.JobID]*intent.History{}}
	bad := map[intent.JobID]bool{}
	var err error
	s.nowMS, err = each(ctx, st, func(_ int, r *store.Record) error {
		s.records++
		ev := &r.Event
		if ev.Type == intent.Barrier {
			s.barriers++
			return ev.Check()
		}
		if bad[ev.JobID] {
			return nil
		}
		h := s.open[ev.JobID]
		if h == nil {
			h = &intent.History{}
		}
		if err := h.Fold(ev, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}); err != nil {
			bad[ev.JobID] = true
			s.broken = append(s.broken, err)
			delete(s.open, ev.JobID)
			return nil
		}
		s.open[h.Job] = h
		return nil
	})
	for job, h := range s.open {
		if h.Done {
			s.done++
			delete(s.open, job)
		}
	}
	return s, err
}

// with opens the log for one call and closes it behind it.
func with(ctx context.Context, c *call, write bool, fn func(store.Store) error) (err error) {
	st, err := open(ctx, c.log, write)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return fn(st)
}
