package row

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Rows made by the Java client's own writers, of columns this package knows.
func TestRowsEqualJava(t *testing.T) {
	key := Schema{{"job", STRING, false}, {"seq", BIGINT, false}}
	b, err := key.AppendKey(nil, []Value{String("job-1"), Bigint(300)}, 0, 1)
	require.NoError(t, err)
	require.Equal(t, "056a6f622d31ac02", hex.EncodeToString(b))

	schema := Schema{{"job", STRING, false}, {"seq", BIGINT, false}, {"n", INT, true}, {"payload", BYTES, true}}
	row := []Value{String("job-1"), Bigint(300), {}, Bytes("\x01\x02\x00")}
	b, err = schema.AppendIndexed(nil, row)
	require.NoError(t, err)
	require.Equal(t, "0405000000030000006a6f622d312c01000000000000010200", hex.EncodeToString(b))
	got := make([]Value, 4)
	require.NoError(t, schema.DecodeIndexed(got, string(b)))
	require.Equal(t, row, got)

	b, err = schema.AppendCompacted(nil, []Value{String("job-1"), Bigint(300), Int(-1), Bytes("\x01\x02\x00")})
	require.NoError(t, err)
	require.Equal(t, "00056a6f622d31ac02ffffffff0f03010200", hex.EncodeToString(b))

	wide := Schema{{"b", BOOLEAN, true}, {"dbl", DOUBLE, true}, {"si", SMALLINT, true}, {"ti", TINYINT, true}, {"f", FLOAT, true}}
	row = []Value{Boolean(true), Double(1.5), Smallint(-2), Tinyint(-3), Float(2.5)}
	for _, form := range []func([]byte, []Value) ([]byte, error){wide.AppendIndexed, wide.AppendCompacted} {
		b, err = form(nil, row)
		require.NoError(t, err)
		require.Equal(t, "0001000000000000f83ffefffd00002040", hex.EncodeToString(b))
	}
}

func TestValuesOfOtherKindsAreRefusedAndNothingIsWritten(t *testing.T) {
	schema := Schema{{"a", STRING, false}, {"b", INT, true}}
	for _, row := range []struct {
		why    string
		values []Value
		column string
	}{
		{"null in a NOT NULL column", []Value{{}, Int(1)}, "a"},
		{"wrong kind", []Value{String("x"), Bigint(1)}, "b"},
		{"bytes are not text", []Value{Bytes("x"), Int(1)}, "a"},
		{"too few", []Value{String("x")}, ""},
		{"too many", []Value{String("x"), Int(1), Int(2)}, ""},
	} {
		for _, form := range []func([]byte, []Value) ([]byte, error){schema.AppendIndexed, schema.AppendCompacted} {
			b, err := form([]byte("head"), row.values)
			var bad *ValueError
			require.ErrorAs(t, err, &bad, row.why)
			require.Equal(t, row.column, bad.Column, row.why)
			require.Equal(t, "head", string(b), row.why)
		}
	}
	b, err := schema.AppendKey([]byte("head"), []Value{String("x"), {}}, 0, 1)
	require.ErrorContains(t, err, "null in a key")
	require.Equal(t, "head", string(b))
}

func TestSchemaNeedsColumnsOfKnownKinds(t *testing.T) {
	require.Error(t, Schema{}.Validate())
	require.ErrorContains(t, Schema{{"when", Kind(77), true}}.Validate(), "Kind(77)")
	require.ErrorContains(t, Schema{{"n", NULL, true}}.Validate(), "NULL")
	require.NoError(t, Schema{{"n", BYTES, true}}.Validate())
}

func TestEveryRowComesBackAndEveryCutIsAnError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Column {
			return Column{"c", Kind(rapid.IntRange(1, 9).Draw(t, "kind")), rapid.Bool().Draw(t, "nullable")}
		}), 1, 20).Draw(t, "columns")
		row := drawRow(t, schema)
		s, got := Schema(schema), make([]Value, len(schema))
		for i := range got {
			got[i] = String("left from another row")
		}
		b, err := s.AppendIndexed(nil, row)
		require.NoError(t, err)
		require.NoError(t, s.DecodeIndexed(got, string(b)))
		require.Equal(t, row, got)
		require.Error(t, s.DecodeIndexed(got, string(b[:len(b)-1])))
		require.Error(t, s.DecodeIndexed(got, string(b)+"x"))

		b, err = s.AppendCompacted(nil, row)
		require.NoError(t, err)
		require.NoError(t, s.DecodeCompacted(got, string(b)))
		require.Equal(t, row, got)
		require.Error(t, s.DecodeCompacted(got, string(b[:len(b)-1])))
		require.Error(t, s.DecodeCompacted(got, string(b)+"x"))
	})
}

func drawRow(t *rapid.T, schema []Column) []Value {
	row := make([]Value, len(schema))
	for i, c := range schema {
		if c.Nullable && rapid.Bool().Draw(t, "null") {
			continue
		}
		switch c.Kind {
		case STRING:
			row[i] = String(rapid.String().Draw(t, "text"))
		case BYTES:
			row[i] = Bytes(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
		default:
			bits := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, math.MaxUint64, 1 << 31, 1 << 63})).Draw(t, "bits")
			row[i] = FromBits(c.Kind, bits)
		}
	}
	return row
}

var fuzzed = Schema{
	{"a", STRING, true},
	{"b", BYTES, true},
	{"c", INT, true},
	{"d", BIGINT, true},
	{"e", BOOLEAN, true},
	{"f", TINYINT, true},
	{"g", SMALLINT, true},
	{"h", FLOAT, true},
	{"i", DOUBLE, true},
}

func fuzzSeed(f *testing.F, form func([]byte, []Value) ([]byte, error)) {
	full := []Value{String("é"), Bytes("\x00"), Int(-1), Bigint(300), Boolean(true), Tinyint(-1), Smallint(-1), Float(1), Double(2)}
	for _, row := range [][]Value{full, make([]Value, len(fuzzed))} {
		b, err := form(nil, row)
		require.NoError(f, err)
		f.Add(string(b))
	}
}

// What decodes must encode again, and to a row that decodes to the same.
func fuzzRow(f *testing.F, form func([]byte, []Value) ([]byte, error), decode func([]Value, string) error) {
	fuzzSeed(f, form)
	f.Fuzz(func(t *testing.T, b string) {
		row, again := make([]Value, len(fuzzed)), make([]Value, len(fuzzed))
		if decode(row, b) != nil {
			return
		}
		c, err := form(nil, row)
		require.NoError(t, err)
		require.NoError(t, decode(again, string(c)))
		require.Equal(t, row, again)
	})
}

func FuzzDecodeIndexed(f *testing.F) { fuzzRow(f, fuzzed.AppendIndexed, fuzzed.DecodeIndexed) }

func FuzzDecodeCompacted(f *testing.F) { fuzzRow(f, fuzzed.AppendCompacted, fuzzed.DecodeCompacted) }
