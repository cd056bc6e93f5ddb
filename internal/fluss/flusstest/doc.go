// Package flusstest gives tests and example programs a Fluss to talk to: a real one or a fake one.
//
// A [Cluster] is real: ZooKeeper, a coordinator and tablet servers of Apache Fluss, each a JVM of its
// own, on free loopback ports. The jars come from Maven once and are kept in the user's cache
// directory. Tests share one cluster of one tablet server by [SharedCluster], or start their own with
// [NewCluster]; both skip the test where there is no Java (see package needs). Other programs call
// [StartCluster].
//
// The fake speaks the same frames inside the test's process, in no time, and can be told to answer
// wrongly, late or not at all.
package flusstest
