// Package flussstore keeps the log in an Apache Fluss log table, for fleets of
// workers.
//
//	st, err := flussstore.Open(ctx, "fluss:9123", &flussstore.Options{Create: true})
//
// The table has the nine columns of an event, one bucket or more, and keeps its
// records for ever: Open creates it so when told to, and refuses a table that could
// lose or hide history. Appends wait for all in-sync replicas. A bound is the
// offset of an appended barrier, so it is linearizable. Several workers, in
// several processes, may use one table.
//
// What an acknowledged append survives is what the cluster's replication survives:
// see [Store.Durability] and docs/fluss.md. Only writers with acks=all may write to
// the table. There is no fencing in Fluss; ownership is by log order, in package
// recovery.
//
// All that this package needs of a Fluss client stands in the interface table of
// table.go; adapter.go implements it over internal/fluss.
package flussstore
