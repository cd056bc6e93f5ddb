package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/row"
)

// resealed returns a copy of batch, changed by edit and with a checksum that fits again.
func resealed(batch []byte, edit func([]byte) []byte) []byte {
	b := edit(slices.Clone(batch))
	crc := crcAt
	if b[magicAt] == 2 {
		crc += 4
	}
	binary.LittleEndian.PutUint32(b[lengthAt:], uint32(len(b)-lengthEnd))
	binary.LittleEndian.PutUint32(b[crc:], crcOf(b[crc+4:]))
	return b
}

func stamped(batch []byte, base int64) []byte {
	b := slices.Clone(batch)
	Stamp(b, base, 0)
	return b
}

func TestEveryChangedByteIsNoticed(t *testing.T) {
	for _, name := range []string{"arrow-none-1", "indexed-1", "arrow-none-statistics-5"} {
		batch := readGolden(t)[name]
		for at := range batch {
			if at < lengthAt || at >= commitAt && at < crcAt {
				continue // set by the server, outside the checksum
			}
			b := slices.Clone(batch)
			b[at] ^= 0x11
			_, err := NewScanner(b).Next()
			require.Error(t, err, "%s, byte %d", name, at)
		}
	}
}

func TestCutTailIsToldFromDamageAtEveryLength(t *testing.T) {
	g := readGolden(t)
	whole := g["arrow-none-1"]
	two := slices.Concat(whole, g["indexed-3"])
	for n := range two {
		scan := NewScanner(two[:n])
		batch, err := scan.Next()
		switch {
		case n == 0:
			require.Equal(t, io.EOF, err)
		case n < len(whole):
			require.Equal(t, ErrCut, err, "%d bytes", n)
		default:
			require.NoError(t, err)
			require.Equal(t, len(whole), batch.Size())
			_, err = scan.Next()
			if n == len(whole) {
				require.Equal(t, io.EOF, err)
			} else {
				require.Equal(t, ErrCut, err, "%d bytes", n)
			}
		}
	}
}

func TestBadHeadersAreCorruptAndNewMagicIsUnsupported(t *testing.T) {
	batch := readGolden(t)["indexed-3"]
	put32 := func(at int, v int32) func([]byte) []byte {
		return func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[at:], uint32(v))
			return b
		}
	}
	for _, row := range []struct {
		why string
		b   []byte
	}{
		{"negative count", resealed(batch, put32(44, -1))},
		{"negative last offset delta", resealed(batch, put32(28, -2))},
		{"negative base offset", put32(4, -1)(slices.Clone(batch))},
		{"base offset whose next would overflow", stamped(batch, math.MaxInt64-2)},
		{"negative length", put32(lengthAt, -1)(slices.Clone(batch))},
		{"length below the header", put32(lengthAt, 35)(slices.Clone(batch))},
		{"statistics beyond the batch", resealed(readGolden(t)["arrow-none-statistics-5"], put32(48, math.MaxInt32))},
		{"negative statistics", resealed(readGolden(t)["arrow-none-statistics-5"], put32(48, -1))},
	} {
		var corrupt *CorruptError
		scan := NewScanner(row.b)
		_, err := scan.Next()
		require.ErrorAs(t, err, &corrupt, row.why)
		_, again := scan.Next()
		require.Equal(t, err, again, row.why)
	}
	var unsupported *UnsupportedError
	_, err := NewScanner(resealed(batch, func(b []byte) []byte { b[magicAt] = 3; return b })).Next()
	require.ErrorAs(t, err, &unsupported)
	require.Equal(t, "magic 3", unsupported.What)
}

func TestMagicTwoIsReadAndItsEpochSkipped(t *testing.T) {
	one := readGolden(t)["arrow-none-statistics-changes-5"]
	two := resealed(one, func(b []byte) []byte {
		b[magicAt] = 2
		return slices.Insert(b, crcAt, 9, 9, 9, 9)
	})
	want, wantChanges := readAll(t, newDecoder(t, Arrow), one)
	got, changes := readAll(t, newDecoder(t, Arrow), two)
	require.Equal(t, want, got)
	require.Equal(t, wantChanges, changes)
	batch, err := NewScanner(two).Next()
	require.NoError(t, err)
	require.Equal(t, goldenMeta, Meta{batch.SchemaID, batch.WriterID, batch.Sequence})
}

func TestEmptyBatchTakesAnOffsetAndHasNoRecords(t *testing.T) {
	b := appendHeader(nil, Meta{1, -1, -1}, 1)
	binary.LittleEndian.PutUint32(b[44:], 0)
	seal(b)
	batch, err := NewScanner(b).Next()
	require.NoError(t, err)
	require.EqualValues(t, 1, batch.NextOffset())
	require.False(t, batch.Dense())
	for _, format := range []Format{Arrow, Indexed} {
		dec := newDecoder(t, format)
		require.NoError(t, dec.Reset(batch, 0))
		require.False(t, dec.Next())
		require.NoError(t, dec.Err())
	}
}

func TestRecordsBelowTheWantedOffsetArePassedOver(t *testing.T) {
	g := readGolden(t)
	for name, format := range map[string]Format{"arrow-zstd-nulls-64": Arrow, "indexed-nulls-64": Indexed} {
		b := stamped(g[name], 1000)
		batch, err := NewScanner(b).Next()
		require.NoError(t, err)
		require.EqualValues(t, 1064, batch.NextOffset())
		dec := newDecoder(t, format)
		for _, from := range []int64{0, 1000, 1001, 1063, 1064, math.MaxInt64} {
			require.NoError(t, dec.Reset(batch, from))
			want := max(from, 1000)
			for ; dec.Next(); want++ {
				require.Equal(t, want, dec.Offset())
				require.Equal(t, sampleRow(int(want-1000), true), dec.Row())
			}
			require.NoError(t, dec.Err())
			require.Equal(t, max(from, 1064), want)
		}
	}
}

// With a fitting checksum the body still is a stranger's: whatever byte is changed, decoding ends, and with an error of a
// known type if it fails.
func TestDamageBehindTheChecksumNeverPanics(t *testing.T) {
	g := readGolden(t)
	for _, name := range []string{"arrow-none-nulls-3", "arrow-none-changes-5", "arrow-lz4-1", "arrow-zstd-1", "indexed-nulls-3"} {
		format := Arrow
		if strings.HasPrefix(name, "indexed") {
			format = Indexed
		}
		dec, err := NewDecoder(nine, format, &DecoderOptions{DecompressLimit: 1 << 16})
		require.NoError(t, err)
		failed := 0
		for at := headerSize; at < len(g[name]); at++ {
			for _, v := range []byte{0x00, 0x01, 0x7f, 0x80, 0xff} {
				if decodeAll(t, dec, resealed(g[name], func(b []byte) []byte { b[at] = v; return b })) != nil {
					failed++
				}
			}
		}
		for n := headerSize; n < len(g[name]); n++ {
			require.Error(t, decodeAll(t, dec, resealed(g[name], func(b []byte) []byte { return b[:n] })), "%s cut at %d", name, n)
		}
		require.NotZero(t, failed, name)
	}
}

// decodeAll decodes one batch or returns its error, whose type it checks.
func decodeAll(t testing.TB, dec *Decoder, b []byte) error {
	batch, err := NewScanner(b).Next()
	if err == nil {
		err = dec.Reset(batch, 0)
	}
	for err == nil && dec.Next() {
		require.Len(t, dec.Row(), len(nine))
	}
	if err == nil {
		err = dec.Err()
	}
	var corrupt *CorruptError
	var unsupported *UnsupportedError
	var limit *LimitError
	known := err == nil || err == ErrCut || err == io.EOF ||
		errors.As(err, &corrupt) || errors.As(err, &unsupported) || errors.As(err, &limit)
	require.True(t, known, "%v", err)
	return err
}

func TestDecompressionIsLimitedByWhatBuffersDeclare(t *testing.T) {
	for _, name := range []string{"arrow-lz4-nulls-64", "arrow-zstd-nulls-64"} {
		batch, err := NewScanner(readGolden(t)[name]).Next()
		require.NoError(t, err)
		dec, err := NewDecoder(nine, Arrow, &DecoderOptions{DecompressLimit: 10_000})
		require.NoError(t, err)
		var limit *LimitError
		require.ErrorAs(t, dec.Reset(batch, 0), &limit, name)
		require.EqualValues(t, 10_000, limit.Limit)
		require.Equal(t, limit, dec.Err())
		require.Zero(t, cap(dec.plain), "nothing may be allocated before the limit is checked")
		require.False(t, dec.Next())
	}
}

// A buffer list of one compressed buffer, whose declared size lies.
func TestBuffersOfAnotherSizeThanDeclaredAreRefused(t *testing.T) {
	plain := bytes.Repeat([]byte("intent"), 100)
	for codec, frame := range map[int][]byte{codecLZ4: lz4Frame(t, plain), codecZSTD: zstdFrame(t, plain)} {
		for _, declared := range []int64{0, 1, 599, 601, 6000} {
			var f inflater
			body := append(binary.LittleEndian.AppendUint64(nil, uint64(declared)), frame...)
			list := binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(len(body)))
			_, _, err := f.inflate(codec, list, body, 1<<20, 7)
			var corrupt *CorruptError
			require.ErrorAs(t, err, &corrupt, "codec %d, declared %d", codec, declared)
			require.EqualValues(t, 7, corrupt.Offset)

			binary.LittleEndian.PutUint64(body, 600)
			_, got, err := f.inflate(codec, list, body, 600, 7)
			require.NoError(t, err, "the codec must survive a bad frame")
			require.Equal(t, plain, got)
		}
	}
}

func TestWhatDoesNotFitIntoABatchIsRefusedBeforeAnyByte(t *testing.T) {
	big := row.String(strings.Repeat("x", 64<<20))
	rows := make([]row.Value, 0, 40*9)
	for range 40 {
		rows = append(rows, sampleRow(0, false)...)
		rows[len(rows)-1] = big
	}
	var value *row.ValueError
	for _, format := range []Format{Arrow, Indexed} {
		enc, err := NewEncoder(nine, format)
		require.NoError(t, err)
		b, err := enc.Append([]byte("head"), goldenMeta, rows)
		require.Equal(t, ErrTooLarge, err)
		require.Equal(t, "head", string(b))
		for _, rows := range [][]row.Value{nil, rows[:8], rows[:10]} {
			_, err = enc.Append(nil, goldenMeta, rows)
			require.ErrorAs(t, err, &value)
		}
	}
	_, err := AppendPuts(nil, goldenMeta, slices.Repeat([]Put{{Key: []byte("k"), Row: []byte(big.Text())}}, 40))
	require.Equal(t, ErrTooLarge, err)
}

func TestReadingAllocatesOneStringPerBatch(t *testing.T) {
	g := readGolden(t)
	for name, format := range map[string]Format{"arrow-none-nulls-64": Arrow, "indexed-nulls-64": Indexed} {
		dec := newDecoder(t, format)
		batch, err := NewScanner(g[name]).Next()
		require.NoError(t, err)
		require.EqualValues(t, 1, testing.AllocsPerRun(50, func() {
			if dec.Reset(batch, 0) != nil {
				panic(dec.Err())
			}
			for dec.Next() {
			}
		}), name)
	}
}

func TestForeignArrowMessagesThatAreNoRecordBatchAreUnsupported(t *testing.T) {
	peer := newArrowPeer(t, nine)
	b := append(appendHeader(nil, goldenMeta, 1), peer.head...)
	seal(b)
	var unsupported *UnsupportedError
	require.ErrorAs(t, decodeAll(t, newDecoder(t, Arrow), b), &unsupported)
}

func TestValueBatchDamageIsAnError(t *testing.T) {
	whole := string(readGolden(t)["values-3"])
	for n := 1; n < len(whole); n++ {
		scan := NewValueScanner(whole[:n])
		_, _, err := scan.Next()
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt, "%d bytes", n)
	}
	_, _, err := NewValueScanner("").Next()
	require.Equal(t, io.EOF, err)
	_, _, err = NewValueScanner(whole + "x").Next()
	require.ErrorContains(t, err, "behind the value batch")
	_, _, err = LookupValue("\x01")
	require.Error(t, err)
}
