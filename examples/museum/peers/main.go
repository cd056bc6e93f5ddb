// Command peers is the contenders of the museum that are other people's work. It is
// a module of its own, so that the library does not depend on them.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	contenders := map[string]func(context.Context, errand) error{"retryablehttp": retryable, "DBOS": workflow}
	if len(os.Args) != 3 || contenders[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: peers CONTENDER ERRAND")
		os.Exit(2)
	}
	e, err := parseErrand(os.Args[1:])
	if err == nil {
		err = contenders[os.Args[1]](context.Background(), e)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}
