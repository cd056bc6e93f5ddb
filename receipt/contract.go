package receipt

import (
	"context"
	"fmt"
	"time"
)

// Safety is the declared reason why a second send cannot make a second effect.
// The zero Safety is None.
type Safety uint8

// The safety proofs that a user may declare of a service.
const (
	// None: nothing makes a second send safe. It is never done.
	None Safety = iota
	// KeyBound: effect and receipt commit in one transaction, unique per action
	// ID and bound to the exact payload, and are kept for the stated Retention.
	KeyBound
	// Fenced: Contract.Fence makes the key permanently unusable for every request
	// that was sent before.
	Fenced
	// NotAfter: every request carries a deadline, and the service refuses it after
	// that deadline by its own clock.
	NotAfter
)

var safetyNames = [...]string{"none", "key-bound", "fenced", "not-after"}

func (s Safety) String() string {
	if int(s) < len(safetyNames) {
		return safetyNames[s]
	}
	return fmt.Sprintf("safety(%d)", uint8(s))
}

// Forever is the Retention of a service that never forgets a key.
const Forever = time.Duration(1<<63 - 1)

// Contract is what the user declares about a service. The zero Contract allows no
// second send.
type Contract struct {
	Safety Safety

	// Retention is how long a KeyBound service keeps a key, from the first time
	// it saw it. Zero is not at all: then a KeyBound contract allows no retry.
	Retention time.Duration
	// Margin is taken off Retention, for clocks and for the time that the retry
	// itself takes. Zero, or less, means a tenth of Retention.
	Margin time.Duration

	// Fence is needed by Fenced. It returns nil only once the fence holds: no
	// request for the action of an attempt below r.Attempt has an effect from then
	// on. The request that is sent next carries r.Attempt.
	Fence func(ctx context.Context, r Request) error

	// Window is needed by NotAfter: a request carries the deadline Request.NotAfter,
	// which is the commit time of the intent, or of the claim of a later attempt,
	// plus Window.
	Window time.Duration
	// Skew bounds the difference between the log's clock and the service's.
	// Zero, or less, means one minute.
	Skew time.Duration
}

// Retry reports how long after the intent's commit a retry is still covered by
// the retention; zero is never.
func (c Contract) Retry() time.Duration {
	margin := c.Margin
	switch {
	case c.Retention == Forever:
		return Forever
	case margin <= 0:
		margin = c.Retention / 10
	}
	return max(0, c.Retention-margin)
}

// SkewOrDefault returns Skew, or a minute where it is not positive.
func (c Contract) SkewOrDefault() time.Duration {
	if c.Skew <= 0 {
		return time.Minute
	}
	return c.Skew
}
