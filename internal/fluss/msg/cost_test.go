package msg_test

import (
	"reflect"
	"testing"

	"github.com/intentlog/intentlog/internal/cost"
	"github.com/intentlog/intentlog/internal/figure"
	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// TestClaimsOfHugeLengthsCostNoMemory puts huge lengths and counts at every place of
// every message.
func TestClaimsOfHugeLengthsCostNoMemory(t *testing.T) {
	lies, most := 0, uint64(0)
	msg.Keys(func(k msg.Key) bool {
		for _, m := range []msg.Message{k.NewRequest(), k.NewResponse()} {
			n := int64(0)
			fill(reflect.ValueOf(m).Elem(), &n)
			lies += cost.Lies(m.Append(nil), func(lie []byte) {
				most = max(most, cost.AtMost(t, 64<<10, func() { _ = m.Decode(lie) }))
			})
		}
		return true
	})
	t.Logf("the dearest of %d lies cost %d bytes", lies, most)
	figure.Print(t, "fuzz/huge-claims-in-messages", lies)
}
