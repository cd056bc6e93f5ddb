// Package jvm runs Java programs for tests, benchmarks and example programs: it finds Java and Maven,
// fetches jars once, and starts, watches and ends JVMs.
//
//	bundle := jvm.Bundle{Name: "fluss", POM: pom}
//	classPath, err := bundle.Fetch(ctx)
//	p, err := jvm.Start(jvm.Command{Name: "zookeeper", ClassPath: classPath, Class: "org.Main", Log: "zk.log"})
//	defer p.Stop(ctx)
//	err = p.WaitPort(ctx, "127.0.0.1:2181")
//
// On Linux no JVM outlives the program that started it, however that program ends (also by a panic, by
// a test's timeout and by kill -9), and a directory of [Scratch] is removed then. On other systems only
// the orderly ways promise that: Stop, Kill and the release function of Scratch.
package jvm
