// Package figure prints what tests counted, in lines that the table of
// docs/testing.md is made from.
//
//	figure.Print(t, "disk/power-cuts", cuts)
//
// prints "figure: disk/power-cuts 104". A test that failed prints none.
package figure

import (
	"fmt"
	"regexp"
	"testing"
)

// Pattern finds the name and the value of a figure in the output of go test -v.
var Pattern = regexp.MustCompile(`figure: ([a-z0-9/-]+) (\S+)`)

// Print prints a figure, unless the test failed before.
func Print(tb testing.TB, name string, value any) {
	tb.Helper()
	line := fmt.Sprintf("figure: %s %v", name, value)
	if !Pattern.MatchString(line) {
		tb.Errorf("%q is no name of a figure", name)
	}
	if !tb.Failed() {
		tb.Log(line)
	}
}
