package receipttest_test

import (
	"context"
	"fmt"

	"github.com/intentlog/intentlog/receipt/receipttest"
)

// A service that lets a retry that was overtaken act behind its back.
func ExampleProbe() {
	s := newService(checkOnEntry)
	report, err := receipttest.Probe(context.Background(), s.describe("http://tickets.test", s), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(report)
	// Output:
	// service:  http://tickets.test/effects
	//   kept        same key, same bytes              1 effect, and its receipt again
	//   kept        same key, other bytes             other bytes ended mismatch (conflict), and its receipt again
	//   kept        concurrent duplicates             1 effect of 8 requests at once, 4 times, and its receipt again
	//   BROKEN      request that arrives late         2 effects: the late request did not see that its key was used
	//   kept        lookup while in flight            absent
	//   kept        lookup after the commit           committed, 8 times
	//   kept        lookup of an unknown key          absent
	//   kept        lookup without credentials        unknown (auth): status 401
	//   kept        crash between effect and receipt  1 effect outlived the crash, sent ended lost; 1 in the end, and its receipt again
	//   kept        age of a key                      1 effect after 23h45m36s, 2 after 24h14m24s, and its receipt again
	// contract: none: nothing may be sent twice
	// lookup:   may be used
	// missing:  request that arrives late: 2 effects: the late request did not see that its key was used
}
