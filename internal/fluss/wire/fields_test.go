package wire_test

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/wire"
)

func TestFieldsAreThoseOfProtobuf(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  []byte
		want string
	}{
		{"zero is written", wire.AppendInt32(nil, 1, 0), "0800"},
		{"false is written", wire.AppendBool(nil, 2, false), "1000"},
		{"true", wire.AppendBool(nil, 2, true), "1001"},
		{"a negative int32 takes ten bytes", wire.AppendInt32(nil, 1, -1), "08ffffffffffffffffff01"},
		{"int64", wire.AppendInt64(nil, 1, 150), "089601"},
		{"string", wire.AppendString(nil, 2, "testing"), "120774657374696e67"},
		{"empty bytes are written", wire.AppendBytes(nil, 2, nil), "1200"},
		{"packed", wire.AppendInt32s(nil, 4, []int32{3, 270, 86942}), "2206038e029ea705"},
		{"nothing packed is left out", wire.AppendInt32s(nil, 4, nil), ""},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, hex.EncodeToString(tt.got)) })
	}
}

func TestNestedMessagesOfAnyLength(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 1 << 21} {
		text := strings.Repeat("x", n)
		b, at := wire.Begin([]byte("before"), 3)
		b = append(b, text...)
		b = wire.End(b, at)
		require.Equal(t, wire.AppendString([]byte("before"), 3, text), b, "%d bytes", n)
		require.Equal(t, len(b)-len("before")-1-n, wire.UvarintLen(uint64(n)))
	}
}

func TestReaderTakesWhatWasWritten(t *testing.T) {
	b := wire.AppendInt32(nil, 1, math.MinInt32)
	b = append(b, 0x09, 1, 2, 3, 4, 5, 6, 7, 8) // field 1, fixed64: skipped where nobody takes it
	b = wire.AppendInt64(b, 2, math.MaxInt64)
	b = append(b, 0x3d, 1, 2, 3, 4) // field 7, fixed32
	b = wire.AppendString(b, 3, "text")
	b = wire.AppendInt32s(b, 4, []int32{-1, 2})
	b = wire.AppendInt32(b, 4, 3) // the same field unpacked
	b = wire.AppendBool(b, 60, true)
	r := wire.NewReader(b)
	require.Equal(t, 1, r.Next())
	require.EqualValues(t, math.MinInt32, r.Int32())
	require.Equal(t, 1, r.Next())
	require.Equal(t, 2, r.Next())
	require.EqualValues(t, math.MaxInt64, r.Int64())
	require.Equal(t, 7, r.Next())
	require.Equal(t, 3, r.Next())
	require.Equal(t, "text", r.String())
	require.Equal(t, 4, r.Next())
	list := r.Int32s(nil)
	require.Equal(t, 4, r.Next())
	require.Equal(t, []int32{-1, 2, 3}, r.Int32s(list))
	require.Equal(t, 60, r.Next())
	require.True(t, r.Bool())
	require.Zero(t, r.Next())
	require.NoError(t, r.Done(1, 2, 3, 4, 60))
	require.ErrorContains(t, r.Done(5), "required field 5")
}

func TestReaderKeepsItsFirstError(t *testing.T) {
	for _, tt := range []struct{ name, hex string }{
		{"cut varint", "0880"},
		{"varint of eleven bytes", "08ffffffffffffffffffff01"},
		{"bytes beyond the end", "0a05616263"},
		{"bytes of 2^63", "0affffffffffffffffff01"},
		{"field number 0", "0001"},
		{"group", "0b"},
		{"cut fixed64", "09010203"},
		{"cut fixed32", "0d0102"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := hex.DecodeString(tt.hex)
			require.NoError(t, err)
			r := wire.NewReader(b)
			for r.Next() != 0 {
			}
			require.ErrorIs(t, r.Done(), wire.ErrMessage)
			require.Zero(t, r.Next())
			require.Zero(t, r.Int64())
			require.Nil(t, r.Bytes())
		})
	}
	r := wire.NewReader(wire.AppendString(nil, 1, "no number"))
	r.Next()
	require.Zero(t, r.Int64())
	require.ErrorContains(t, r.Done(), "wire type")
}

func FuzzReader(f *testing.F) {
	f.Add(wire.AppendInt32s(wire.AppendString(wire.AppendInt32(nil, 1, -1), 2, "x"), 3, []int32{1, 2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := wire.NewReader(b)
		n := 0
		for field := r.Next(); field != 0; field = r.Next() {
			switch field % 4 {
			case 0:
				r.Int64()
			case 1:
				n += len(r.Bytes())
			case 2:
				r.Int32s(nil)
			}
		}
		if n > len(b) {
			t.Fatalf("took %d bytes of %d", n, len(b))
		}
		_ = r.Done()
	})
}
