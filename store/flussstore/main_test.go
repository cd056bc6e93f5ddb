package flussstore_test

import "flag"

// long makes the tests of failures run at least 20 rounds.
var long = flag.Bool("long", false, "run many rounds of the tests with failures")
