// Package cost measures what decoding the bytes of a stranger costs.
//
//	cost.AtMost(t, 1<<20, func() { _ = m.Decode(claimsTwoGigabytes) })
package cost

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
)

// AtMost fails the test if fn allocates more than limit bytes, freed or not. Nothing
// else may run meanwhile. It returns the bytes.
func AtMost(tb testing.TB, limit uint64, fn func()) uint64 {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	got := after.TotalAlloc - before.TotalAlloc
	if got > limit {
		tb.Errorf("%d bytes were allocated, want at most %d", got, limit)
	}
	return got
}

// claims are lengths and counts that nobody has, in the forms that formats use.
var claims = [][]byte{
	{0xff, 0xff, 0xff, 0x7f},       // 2 GiB, little-endian
	{0x7f, 0xff, 0xff, 0xff},       // and big-endian
	{0x00, 0x00, 0x00, 0x40},       // 1 GiB
	{0xff, 0xff, 0xff, 0xff},       // -1, or 4 GiB
	{0xff, 0xff, 0xff, 0xff, 0x07}, // 2 GiB as a varint
	binary.LittleEndian.AppendUint64(nil, 1<<40),
}

// Lies calls fn with copies of the bytes, each of which claims something huge at one
// place. The copy is fn's.
func Lies(b []byte, fn func(lie []byte)) (count int) {
	for at := range b {
		for _, claim := range claims {
			lie := slices.Clone(b)
			if copy(lie[at:], claim) < len(claim) {
				continue
			}
			fn(lie)
			count++
		}
	}
	return count
}
