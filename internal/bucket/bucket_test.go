package bucket

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rows were made with the Java client's own bucketing function.
func TestOfEqualsFluss(t *testing.T) {
	for _, row := range []struct {
		key          string
		hash, spread int32
		mod3, mod16  int
	}{
		{"056a6f622d31ac02", -1430529336, 81854011, 1, 11},
		{"056a6f622d31", 2037935679, 19952480, 2, 0},
		{"01", -386724586, 1113307500, 0, 12},
		{"01020304", -2481802, 1171435135, 1, 15},
		{"ff020304fe", 1274871045, 1836455102, 2, 14},
		{"612d6c6f6e672d6b65792dc3a9", 2107251275, 849030081, 0, 1},
	} {
		key, err := hex.DecodeString(row.key)
		require.NoError(t, err)
		require.Equal(t, uint32(row.hash), hash(key), row.key)
		require.Equal(t, uint32(row.spread), spread(hash(key)), row.key)
		require.Equal(t, row.mod3, Of(key, 3), row.key)
		require.Equal(t, row.mod16, Of(key, 16), row.key)
		require.Zero(t, Of(key, 1))
	}
}

func TestOfStringIsOfOverTheCompactedKey(t *testing.T) {
	require.Equal(t, 2, OfString("job-1", 3))
	require.Equal(t, 0, OfString("job-1", 16))
	require.Equal(t, 0, OfString("job-1", 0))
	long := strings.Repeat("é", 100) // 200 bytes: the length takes two varint bytes
	require.Equal(t, Of(append([]byte{0xc8, 0x01}, long...), 1000), OfString(long, 1000))
	longer := strings.Repeat("x", 5000)
	require.Equal(t, Of(append([]byte{0x88, 0x27}, longer...), 1000), OfString(longer, 1000))
}

func TestOfStringAllocatesNothing(t *testing.T) {
	job := strings.Repeat("j", 250)
	require.Zero(t, testing.AllocsPerRun(100, func() { OfString(job, 64) }))
}

func TestOfStringUsesEveryBucket(t *testing.T) {
	seen := map[int]int{}
	for i := range 16_000 {
		seen[OfString(fmt.Sprintf("job-%d", i), 16)]++
	}
	require.Len(t, seen, 16)
	for b, n := range seen {
		require.InDelta(t, 1000, n, 150, "bucket %d", b)
	}
}

func BenchmarkOfString(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		OfString("job-1042", 64)
	}
}
