// Package sharedlog serves a log to other processes on the same machine, so that a
// log which allows one process only can stand for one that a fleet shares.
//
//	srv := httptest.NewServer(sharedlog.Handler(st)) // the process that owns the log
//	st, err := sharedlog.Dial(ctx, srv.URL)          // every other one
//
// The client is a [store.Store] and tells the truth of it: an append that was not
// answered is Unknown unless no byte of it was sent, and a read that was cut is an
// error. Errors keep their identity for errors.Is across the wire.
//
// It is for examples and tests. It knows no authentication: serve it on a loopback
// address for the life of a program.
package sharedlog
