// Package needs decides what a test does when the world around it lacks something: a Java runtime, a
// privilege, another project's client.
//
// A test names the feature and gives a probe:
//
//	needs.Feature(t, needs.Root, func() error { ... })
//
// When the probe fails, the test is skipped with the probe's reason. When the environment variable
// INTENTLOG_REQUIRE lists the feature (as in INTENTLOG_REQUIRE=fluss,flink), the test fails instead, so
// that a continuous build cannot turn green by lacking what it should have tested. A name in the
// variable that is no feature fails every test that asks, because a typing error would otherwise
// require nothing.
package needs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Variable is the name of the environment variable that lists the required features, separated by
// commas.
const Variable = "INTENTLOG_REQUIRE"

// Name is a feature that the machine or its installation may lack.
type Name string

// The features that tests of this module may need.
const (
	Fluss    Name = "fluss"    // a real Fluss cluster, started from Maven jars
	Flink    Name = "flink"    // a real Flink cluster, started from Maven jars
	Java     Name = "java"     // a Java runtime and Maven, for programs that use the official clients
	PyFluss  Name = "pyfluss"  // the official Python client of Fluss
	Postgres Name = "postgres" // a PostgreSQL server
	Root     Name = "root"     // the privileges of root, for mounts and power-cut devices
	Ptrace   Name = "ptrace"   // the right to trace a process of its own, on Linux on amd64
)

var all = []Name{Fluss, Flink, Java, PyFluss, Postgres, Root, Ptrace}

// Feature ends the test when probe returns an error: it skips the test, or fails it when the
// environment requires the feature. A nil error lets the test go on. Short tests (go test -short) skip
// a feature that is not required without probing.
func Feature(tb testing.TB, name Name, probe func() error) {
	tb.Helper()
	required, err := parse(os.Getenv(Variable))
	if err != nil {
		tb.Fatal(err)
		return
	}
	must := slices.Contains(required, name)
	if !must && testing.Short() {
		tb.Skipf("%s: not probed in short mode", name)
		return
	}
	err = probe()
	switch {
	case err == nil:
	case must:
		tb.Fatalf("%s is required by %s, and is missing: %v", name, Variable, err)
	default:
		tb.Skipf("%s is missing: %v (with %s=%s it is fetched, where it can be, or this fails)", name, err, Variable, name)
	}
}

// Required reports whether the environment requires the feature. Probes use it to decide whether to
// fetch what is not there: an unrequired feature costs no download.
func Required(name Name) bool {
	required, err := parse(os.Getenv(Variable))
	return err == nil && slices.Contains(required, name)
}

func parse(list string) ([]Name, error) {
	var names []Name
	for word := range strings.SplitSeq(list, ",") {
		name := Name(strings.TrimSpace(word))
		if name == "" {
			continue
		}
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%s names %q, which is none of %q", Variable, name, all)
		}
		names = append(names, name)
	}
	return names, nil
}
