package record

import (
	"bytes"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func lz4Frame(t testing.TB, plain []byte) []byte {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zstdFrame(t testing.TB, plain []byte) []byte {
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return w.EncodeAll(plain, nil)
}

// FuzzDecode gives every input a fitting checksum, or no fuzzer would ever see a body.
func FuzzDecode(f *testing.F) {
	for name, batch := range readGolden(f) {
		if len(batch) < 8192 && (strings.HasPrefix(name, "arrow") || strings.HasPrefix(name, "indexed")) {
			f.Add(batch)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > headerSize+8 {
			b = resealed(b, func(b []byte) []byte { return b })
		}
		for _, format := range []Format{Arrow, Indexed} {
			dec, err := NewDecoder(nine, format, &DecoderOptions{DecompressLimit: 1 << 18})
			require.NoError(t, err)
			if decodeAll(t, dec, b) != nil {
				continue
			}
			rows, _ := readAll(t, dec, b)
			if len(rows) == 0 {
				continue
			}
			enc, err := NewEncoder(nine, format)
			require.NoError(t, err)
			again, err := enc.Append(nil, goldenMeta, rows)
			require.NoError(t, err)
			got, _ := readAll(t, dec, again)
			require.Equal(t, rows, got)
		}
	})
}

// FuzzScan leaves the bytes as they are: headers, cuts and checksums.
func FuzzScan(f *testing.F) {
	g := readGolden(f)
	f.Add(append(g["arrow-none-1"], g["indexed-3"]...))
	f.Add(g["arrow-none-statistics-5"])
	f.Fuzz(func(t *testing.T, b []byte) {
		scan, left := NewScanner(b), len(b)
		for {
			batch, err := scan.Next()
			if err != nil {
				require.Equal(t, err == io.EOF, left == 0)
				return
			}
			require.Greater(t, batch.NextOffset(), batch.BaseOffset)
			require.GreaterOrEqual(t, batch.Size(), headerSize)
			left -= batch.Size()
		}
	})
}

func FuzzValues(f *testing.F) {
	f.Add(string(readGolden(f)["values-3"]))
	f.Fuzz(func(t *testing.T, b string) {
		scan, size := NewValueScanner(b), 9
		for {
			_, value, err := scan.Next()
			if err != nil {
				break
			}
			size += 6 + len(value)
		}
		require.LessOrEqual(t, size, max(9, len(b)))
	})
}
