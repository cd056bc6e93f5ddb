package sticky

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReaderConsumesFromTheFront(t *testing.T) {
	r := New("\x01\x02\x00\x03\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x80\xac\x02tail")
	require.EqualValues(t, 1, r.Uint8())
	require.EqualValues(t, 2, r.Uint16())
	require.EqualValues(t, 3, r.Uint32())
	require.EqualValues(t, uint64(4|0x80<<56), r.Uint64())
	require.EqualValues(t, 300, r.Uvarint(32))
	require.Equal(t, "tail", r.Take(4))
	require.Zero(t, r.Len())
	require.NoError(t, r.Err())
}

func TestFirstFailureSticks(t *testing.T) {
	r := New("abc")
	require.Zero(t, r.Uint32())
	require.Empty(t, r.Take(1), "a byte is left, but the reader is bad")
	require.ErrorIs(t, r.Err(), ErrShort)
	r = New("abc")
	require.Empty(t, r.Take(-1))
	require.ErrorIs(t, r.Err(), ErrShort)
}

func TestUvarintRefusesWhatDoesNotFit(t *testing.T) {
	for _, row := range []struct {
		why, in string
		size    int
		ok      bool
	}{
		{"largest 32", "\xff\xff\xff\xff\x0f", 32, true},
		{"33 bits", "\xff\xff\xff\xff\x1f", 32, false},
		{"largest 64", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 64, true},
		{"65 bits", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03", 64, false},
		{"endless", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 64, false},
		{"cut", "\x80", 64, false},
		{"nothing", "", 64, false},
	} {
		r := New(row.in)
		r.Uvarint(row.size)
		require.Equal(t, row.ok, r.Err() == nil, row.why)
	}
}

func FuzzUvarintEqualsTheStandardLibrary(f *testing.F) {
	f.Add([]byte{0xac, 0x02})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		want, n := binary.Uvarint(b)
		r := New(string(b))
		got := r.Uvarint(64)
		require.Equal(t, n > 0, r.Err() == nil)
		if n > 0 {
			require.Equal(t, want, got)
			require.Equal(t, len(b)-n, r.Len())
		}
	})
}
