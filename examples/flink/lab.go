package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/flinktest"
	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

// lab is a Fluss and a Flink beside it, and what is open in them. Every log of it has a
// database of its own and one bucket.
type lab struct {
	fluss   *flusstest.Cluster
	flink   *flinktest.Cluster
	client  *fluss.Client // to look behind the store's back
	session *flinktest.Session
	closers []func() error
}

func openLab(ctx context.Context, v flinktest.Version, quick bool) (_ *lab, err error) {
	l := &lab{}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	started := make(chan error, 1)
	go func() {
		var err error
		l.flink, err = flinktest.Start(ctx, flinktest.Options{Version: v, QuickStart: quick})
		started <- err
	}()
	l.fluss, err = flusstest.StartCluster(ctx, flusstest.ClusterOptions{QuickStart: quick, Config: map[string]string{
		// The default of ten minutes is long to wait for a snapshot.
		"kv.snapshot.interval": "1s",
		// Nobody kills a server here: one that stands still on a busy machine is no failure.
		"zookeeper.client.session-timeout": "20s",
	}})
	if err = errors.Join(err, <-started); err != nil {
		return nil, err
	}
	l.client = fluss.New(fluss.Options{Bootstrap: []string{l.fluss.Bootstrap()}})
	if l.session, err = l.openSession(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// openSession opens a session in which the lab's catalog is the current one.
func (l *lab) openSession(ctx context.Context) (*flinktest.Session, error) {
	s, err := l.flink.OpenSession(ctx)
	if err != nil {
		return nil, err
	}
	_, err = s.Run(ctx, fmt.Sprintf("CREATE CATALOG fluss WITH ('type' = 'fluss', 'bootstrap.servers' = '%s'); "+
		"USE CATALOG fluss; SET 'table.local-time-zone' = 'UTC';", l.fluss.Bootstrap()))
	return s, err
}

// Close ends all that the lab started.
func (l *lab) Close() {
	for i := len(l.closers) - 1; i >= 0; i-- {
		_ = l.closers[i]() // the servers are about to be killed
	}
	if l.client != nil {
		_ = l.client.Close()
	}
	if l.flink != nil {
		l.flink.Close()
	}
	if l.fluss != nil {
		l.fluss.Close()
	}
}

// createTables creates a log and its projection in a database, by SQL.
func (l *lab) createTables(ctx context.Context, database string) error {
	_, err := l.session.Run(ctx, "CREATE DATABASE "+database+"; USE "+database+";\n"+flussstore.DDL(nil))
	return err
}

// open opens the log and the projection of a database; the lab closes them.
func (l *lab) open(ctx context.Context, database string) (*flussstore.Store, *flussstore.Projection, error) {
	o := &flussstore.Options{Database: database}
	st, err := flussstore.Open(ctx, l.fluss.Bootstrap(), o)
	if err != nil {
		return nil, nil, err
	}
	l.closers = append(l.closers, st.Close)
	p, err := l.openSink(ctx, database)
	return st, p, err
}

// openSink opens a projection; the lab closes it.
func (l *lab) openSink(ctx context.Context, database string) (*flussstore.Projection, error) {
	p, err := flussstore.OpenProjection(ctx, l.fluss.Bootstrap(), &flussstore.Options{Database: database})
	if err == nil {
		l.closers = append(l.closers, p.Close)
	}
	return p, err
}

// create does both.
func (l *lab) create(ctx context.Context, database string) (*flussstore.Store, *flussstore.Projection, error) {
	if err := l.createTables(ctx, database); err != nil {
		return nil, nil, err
	}
	return l.open(ctx, database)
}

// changes returns the table's id and how many changes the projection of a database has seen.
func (l *lab) changes(ctx context.Context, database string) (id, n int64, err error) {
	t, err := l.client.Table(ctx, fluss.Path{Database: database, Table: flussstore.ProjectionTable})
	if err != nil {
		return 0, 0, err
	}
	n, err = t.Offset(ctx, 0, fluss.Latest)
	return t.Info().ID, n, err
}

// count asks the server for the number of the projection's rows. On a table with a
// primary key COUNT(*) is true; on a log it would count offsets.
func (l *lab) count(ctx context.Context, database string) (int64, error) {
	r, err := l.session.Run(ctx, "SET 'execution.runtime-mode' = 'batch'; USE "+database+"; SELECT COUNT(*) FROM events_by_id;")
	if err != nil {
		return 0, err
	}
	n, ok := r[2].Rows[0].Fields[0].(int64)
	if !ok {
		return 0, fmt.Errorf("COUNT(*) is %v", r[2].Fields())
	}
	return n, nil
}

// readLog reads the events of [0, end) without barriers, by Go.
func readLog(ctx context.Context, st store.Store, end int64) (events []intent.Event, err error) {
	err = st.Read(ctx, 0, 0, end, func(r *store.Record) error {
		if r.Event.Type != intent.Barrier {
			events = append(events, r.Event)
		}
		return nil
	})
	return events, err
}

// byID keeps each event once.
func byID(events []intent.Event) map[intent.EventID]intent.Event {
	m := make(map[intent.EventID]intent.Event, len(events))
	for _, e := range events {
		m[e.EventID] = e
	}
	return m
}
