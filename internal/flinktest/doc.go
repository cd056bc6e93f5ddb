// Package flinktest runs a real Flink on loopback: a JobManager, TaskManagers and a SQL gateway, each a
// JVM of its own, with the Fluss connector, from Maven jars that are kept in the user's cache
// directory.
//
//	c := flinktest.Shared(t, flinktest.Flink120)
//	s, err := c.OpenSession(ctx)
//	results, err := s.Run(ctx, "CREATE CATALOG ...; INSERT ...; SELECT ...;")
//
// Run claims success only when every statement of the script reached its end. The official SQL client
// does not do that: it exits with 0 after an error, and silently drops a last statement whose quote is
// not closed. [Cluster.SQLClient] runs it, to show just this.
//
// Which part of a query runs where is not obvious. The connector answers LIMIT, COUNT(*) and lookups by
// primary key in the gateway while it plans; scans and INSERT run on a TaskManager. [Cluster.Job] and
// [TaskManager.WaitLog] give evidence of that.
package flinktest
