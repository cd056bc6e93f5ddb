package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/cost"
	"github.com/intentlog/intentlog/internal/figure"
)

// TestClaimsOfHugeLengthsCostNoMemory puts huge lengths and counts at every place of
// sound batches, whose checksums fit all the same.
func TestClaimsOfHugeLengthsCostNoMemory(t *testing.T) {
	lies, most := 0, uint64(0)
	for name, batch := range readGolden(t) {
		format := Arrow
		switch {
		case strings.HasPrefix(name, "indexed"):
			format = Indexed
		case !strings.HasPrefix(name, "arrow"):
			continue
		}
		if len(batch) > 2048 {
			continue
		}
		const unpacked = 1 << 18
		dec, err := NewDecoder(nine, format, &DecoderOptions{DecompressLimit: unpacked})
		require.NoError(t, err)
		_ = decodeAll(t, dec, batch) // what is made once, such as the tables of a decompressor
		lies += cost.Lies(batch, func(lie []byte) {
			lie = resealed(lie, func(b []byte) []byte { return b })
			most = max(most, cost.AtMost(t, 4*unpacked, func() { _ = decodeAll(t, dec, lie) }))
		})
	}
	t.Logf("the dearest of %d lies cost %d bytes", lies, most)
	figure.Print(t, "fuzz/huge-claims-in-batches", lies)
}
