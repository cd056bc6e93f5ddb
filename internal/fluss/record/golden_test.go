package record

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/row"
)

// The nine columns of an intent log.
var nine = row.Schema{
	{Name: "job_id", Kind: row.STRING, Nullable: true},
	{Name: "event_id", Kind: row.STRING, Nullable: true},
	{Name: "attempt", Kind: row.INT, Nullable: true},
	{Name: "step", Kind: row.INT, Nullable: true},
	{Name: "event_type", Kind: row.STRING, Nullable: true},
	{Name: "action_id", Kind: row.STRING, Nullable: true},
	{Name: "payload_digest", Kind: row.STRING, Nullable: true},
	{Name: "emitted_at_ms", Kind: row.BIGINT, Nullable: true},
	{Name: "detail", Kind: row.STRING, Nullable: true},
}

var goldenMeta = Meta{SchemaID: 7, WriterID: 4242, Sequence: 11}

// sampleRow is the row i of javawitness/GoldenBatches.java.
func sampleRow(i int, nulls bool) []row.Value {
	action := ""
	if i%2 == 1 {
		action = fmt.Sprintf("action-%d", i)
	}
	v := []row.Value{
		row.String(fmt.Sprintf("job-%d", i%4)), row.String(fmt.Sprintf("job-%d.owner/%d", i%4, i)),
		row.Int(int32(1 + i)), row.Int(int32(-i)), row.String("ACTION_REQUESTED"), row.String(action),
		row.String(strings.Repeat("9f86d081884c7d65", 4)), row.Bigint(1700000000000 + int64(i)),
		row.String("é" + strings.Repeat("x", i%8*37)),
	}
	if nulls {
		v[i%9] = row.Value{}
	}
	return v
}

func sampleRows(n int, nulls bool) []row.Value {
	var rows []row.Value
	for i := range n {
		rows = append(rows, sampleRow(i, nulls)...)
	}
	return rows
}

type golden map[string][]byte

// readGolden reads what javawitness/GoldenBatches.java printed.
func readGolden(t testing.TB) golden {
	text, err := os.ReadFile("../testdata/golden.txt")
	require.NoError(t, err)
	g := golden{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, digits, ok := strings.Cut(strings.TrimSpace(line), " ")
		require.True(t, ok, line)
		g[name] = unhex(t, digits)
	}
	return g
}

func unhex(t testing.TB, digits string) []byte {
	b, err := hex.DecodeString(digits)
	require.NoError(t, err)
	return b
}

// readAll decodes every record of all batches in b.
func readAll(t require.TestingT, dec *Decoder, b []byte) (rows []row.Value, changes []Change) {
	scan := NewScanner(b)
	for {
		batch, err := scan.Next()
		if err == io.EOF {
			return rows, changes
		}
		require.NoError(t, err)
		require.NoError(t, dec.Reset(batch, 0))
		for dec.Next() {
			rows, changes = append(rows, dec.Row()...), append(changes, dec.Change())
		}
		require.NoError(t, dec.Err())
	}
}

func newDecoder(t require.TestingT, f Format) *Decoder {
	dec, err := NewDecoder(nine, f, nil)
	require.NoError(t, err)
	return dec
}

func TestBatchesOfJavaAreRead(t *testing.T) {
	seen := 0
	for name, batch := range readGolden(t) {
		format, found := Arrow, strings.HasPrefix(name, "arrow-")
		if strings.HasPrefix(name, "indexed-") {
			format, found = Indexed, true
		}
		if !found {
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			var n int
			_, err := fmt.Sscanf(name[strings.LastIndex(name, "-")+1:], "%d", &n)
			require.NoError(t, err)
			header, err := NewScanner(batch).Next()
			require.NoError(t, err)
			require.Equal(t, goldenMeta, Meta{header.SchemaID, header.WriterID, header.Sequence})
			require.EqualValues(t, n, header.Count)
			require.EqualValues(t, n, header.NextOffset())
			require.True(t, header.Dense())
			require.Equal(t, len(batch), header.Size())
			rows, changes := readAll(t, newDecoder(t, format), batch)
			require.Equal(t, sampleRows(n, strings.Contains(name, "nulls") || strings.Contains(name, "statistics")), rows)
			require.Equal(t, !strings.Contains(name, "changes"), header.AppendOnly())
			for i, c := range changes {
				if header.AppendOnly() {
					require.Equal(t, Append, c)
				} else {
					require.Equal(t, Change(1+i%4), c)
				}
			}
		})
	}
	require.Equal(t, 19, seen)
}

func TestBatchesAreWrittenAsJavaWritesThem(t *testing.T) {
	g := readGolden(t)
	for _, format := range []Format{Arrow, Indexed} {
		enc, err := NewEncoder(nine, format)
		require.NoError(t, err)
		name := map[Format]string{Arrow: "arrow-none", Indexed: "indexed"}[format]
		for _, n := range []int{1, 3, 64} {
			for suffix, nulls := range map[string]bool{"": false, "-nulls": true} {
				got, err := enc.Append(nil, goldenMeta, sampleRows(n, nulls))
				require.NoError(t, err)
				name := fmt.Sprintf("%s%s-%d", name, suffix, n)
				require.Equal(t, hex.EncodeToString(g[name]), hex.EncodeToString(got), name)
			}
		}
	}
}

// Batches that the Java client 0.9.1 wrote and a server stamped.
func TestStampedBatchesOfOlderJavaAreReadAndWritten(t *testing.T) {
	schema := row.Schema{
		{Name: "job", Kind: row.STRING},
		{Name: "seq", Kind: row.BIGINT},
		{Name: "n", Kind: row.INT, Nullable: true},
		{Name: "payload", Kind: row.BYTES, Nullable: true},
	}
	want := []row.Value{row.String("job-1"), row.Bigint(300), {}, row.Bytes("\x01\x02\x00")}
	for format, digits := range map[Format]string{
		Indexed: "00000000000000004200000000e5dd3a2ea20100006d1720f8010001000000000a0000000000000000000000010000001a000000000405000000030000006a6f622d312c01000000000000010200",
		Arrow:   "0000000000000000b40100000013dd3a2ea2010000322f70ed010001000000000a000000000000000000000001000000ffffffff3801000014000000000000000c0016000e001500100004000c0000005000000000000000000004001000000000030a0018000c00080004000a00000014000000b80000000100000000000000000000000a00000000000000000000000100000000000000080000000000000008000000000000001000000000000000050000000000000018000000000000000100000000000000200000000000000008000000000000002800000000000000010000000000000030000000000000000400000000000000380000000000000001000000000000004000000000000000080000000000000048000000000000000300000000000000000000000400000001000000000000000000000000000000010000000000000000000000000000000100000000000000010000000000000001000000000000000000000000000000010000000000000000000000050000006a6f622d3100000001000000000000002c0100000000000000000000000000000000000000000000010000000000000000000000030000000102000000000000",
	} {
		b := unhex(t, digits)
		dec, err := NewDecoder(schema, format, nil)
		require.NoError(t, err)
		rows, _ := readAll(t, dec, b)
		require.Equal(t, want, rows)
		header, err := NewScanner(b).Next()
		require.NoError(t, err)
		enc, err := NewEncoder(schema, format)
		require.NoError(t, err)
		again, err := enc.Append(nil, Meta{1, 10, 0}, want)
		require.NoError(t, err)
		Stamp(again, 0, header.CommitMillis)
		require.Equal(t, digits, hex.EncodeToString(again))
	}
}

func TestKeyValueBatchesEqualJava(t *testing.T) {
	g := readGolden(t)
	key := func(i int) []byte {
		b, err := nine.AppendKey(nil, sampleRow(i, false), 0, 2)
		require.NoError(t, err)
		return b
	}
	compacted := func(i int, nulls bool) []byte {
		b, err := nine.AppendCompacted(nil, sampleRow(i, nulls))
		require.NoError(t, err)
		return b
	}
	for i := range 9 {
		require.Equal(t, g[fmt.Sprintf("compacted-row-%d", i)], compacted(i, true))
	}
	require.Equal(t, g["key-3"], key(3))
	got, err := AppendPuts(nil, goldenMeta, []Put{{key(1), compacted(1, false)}, {Key: key(2)}, {key(3), compacted(3, false)}})
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(g["kv-put-delete-put"]), hex.EncodeToString(got))

	id, value, err := LookupValue(string(g["value-1"]))
	require.NoError(t, err)
	require.EqualValues(t, 7, id)
	require.Equal(t, string(compacted(1, false)), value)

	scan := NewValueScanner(string(g["values-3"]))
	for i := range 3 {
		id, value, err := scan.Next()
		require.NoError(t, err)
		require.EqualValues(t, 7, id)
		require.Equal(t, string(compacted(i, true)), value)
	}
	_, _, err = scan.Next()
	require.Equal(t, io.EOF, err)
}
