package msg_test

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/wire"
)

// fill sets every field that can be set to something that is not zero.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.String:
		v.SetString("text" + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(*n) % 251)
	default:
		v.SetInt(-*n % 1000)
	}
}

func TestEveryMessageSurvivesTheWayThere(t *testing.T) {
	msg.Keys(func(k msg.Key) bool {
		for _, m := range []msg.Message{k.NewRequest(), k.NewResponse()} {
			name := reflect.TypeOf(m).Elem().Name()
			t.Run(name, func(t *testing.T) {
				n := int64(0)
				fill(reflect.ValueOf(m).Elem(), &n)
				b := m.Append(nil)
				back := reflect.New(reflect.TypeOf(m).Elem()).Interface().(msg.Message)
				require.NoError(t, back.Decode(b))
				require.Equal(t, m, back)

				// What a newer server adds is skipped, whatever its wire type.
				more := wire.AppendString(b, 100, "unknown")
				more = append(more, 0xa9, 0x06, 1, 2, 3, 4, 5, 6, 7, 8) // field 101, fixed64
				more = append(more, 0xb5, 0x06, 1, 2, 3, 4)             // field 102, fixed32
				again := reflect.New(reflect.TypeOf(m).Elem()).Interface().(msg.Message)
				require.NoError(t, again.Decode(more))
				require.Equal(t, m, again)

				// A message that is cut is an error or a shorter message, never a panic.
				for i := range b {
					_ = back.Decode(b[:i])
				}
			})
		}
		return true
	})
}

func TestZeroValuesOfRequiredFieldsAreWritten(t *testing.T) {
	// A server gives no answer at all to a request in which one of them is missing.
	for _, tt := range []struct {
		m    msg.Message
		want string
	}{
		{&msg.FetchLogTable{}, "08001000"},
		{&msg.FetchLogBucket{}, "100018002000"},
		{&msg.ProduceLogRequest{}, "080010001800"},
		{&msg.ProduceLogRequest{Acks: msg.AcksAll, TableID: 5, TimeoutMs: 9}, "08ffffffffffffffffff0110051809"},
		{&msg.CreateTableRequest{}, "0a040a0012001200" + "1800"},
		{&msg.DropDatabaseRequest{Name: "d"}, "0a016410001800"},
		{&msg.LimitScanRequest{TableID: 1, Limit: 2}, "100120002802"},
		{&msg.ListOffsetsRequest{FollowerID: -1, Type: 1, TableID: 3, Buckets: []int32{0}}, "08ffffffffffffffffff01100118032a0100"},
		{&msg.AuthenticateRequest{Protocol: "PLAIN"}, "0a05504c41494e1200"},
		{&msg.InitWriterResponse{}, "0800"},
	} {
		require.Equal(t, tt.want, hex.EncodeToString(tt.m.Append(nil)), "%T", tt.m)
	}
}

func TestMissingRequiredFieldsAreErrors(t *testing.T) {
	for _, m := range []msg.Message{
		&msg.ErrorResponse{}, &msg.ApiVersion{}, &msg.GetTableInfoResponse{}, &msg.GetTableSchemaResponse{}, &msg.TableMetadata{},
		&msg.InitWriterResponse{}, &msg.ProduceLogResult{}, &msg.FetchLogResult{}, &msg.LookupResult{}, &msg.ExistsResponse{},
	} {
		require.ErrorIs(t, m.Decode(nil), wire.ErrMessage, "%T", m)
	}
}

func TestAbsentOffsetsAreNotZero(t *testing.T) {
	var p msg.ProduceLogResult
	require.NoError(t, p.Decode([]byte{0x10, 0}))
	require.EqualValues(t, -1, p.BaseOffset)
	var f msg.FetchLogResult
	require.NoError(t, f.Decode([]byte{0x10, 0}))
	require.EqualValues(t, -1, f.HighWatermark)
	var l msg.ListOffsetsResult
	require.NoError(t, l.Decode([]byte{0x08, 0}))
	require.EqualValues(t, -1, l.Offset)
}

func TestABatchBehindItsPrefixIsTheWholeRequest(t *testing.T) {
	for _, size := range []int{0, 1, 100, 127, 128, 20000, 1 << 21} {
		for _, bucket := range []int32{0, 1, 127, 128, 1 << 30} {
			records := make([]byte, size)
			log := &msg.ProduceLogRequest{Acks: msg.AcksAll, TableID: 1 << 40, TimeoutMs: 30000, Buckets: []msg.ProduceLogBucket{{Bucket: bucket, Records: records}}}
			prefix := msg.AppendBatchPrefix(nil, msg.KeyProduceLog, 1<<40, 30000, bucket, size)
			require.LessOrEqual(t, len(prefix), msg.MaxBatchPrefix)
			require.Equal(t, log.Append(nil), append(prefix, records...))
			put := &msg.PutKvRequest{Acks: msg.AcksAll, TableID: 3, TimeoutMs: 1, Buckets: log.Buckets}
			require.Equal(t, put.Append(nil), append(msg.AppendBatchPrefix(nil, msg.KeyPutKv, 3, 1, bucket, size), records...))
		}
	}
	longest := msg.AppendBatchPrefix(nil, msg.KeyPutKv, -1, -1, -1, 1<<62)
	require.LessOrEqual(t, len(longest), msg.MaxBatchPrefix)
}

func TestCodesKeepTheirNumbers(t *testing.T) {
	require.Equal(t, "NOT_LEADER_OR_FOLLOWER", msg.NotLeaderOrFollower.String())
	require.True(t, msg.NotLeaderOrFollower.Retriable())
	require.True(t, msg.NotLeaderOrFollower.StaleMetadata())
	require.False(t, msg.Authorization.Retriable())
	require.EqualValues(t, 74, msg.InvalidBucketRouting)
	var e msg.ErrorResponse
	require.NoError(t, e.Decode((&msg.ErrorResponse{Code: 4711}).Append(nil)))
	require.Equal(t, "error code 4711", e.Code.String())
	require.False(t, e.Code.Known())
	require.False(t, e.Code.Retriable())
	for c := msg.Code(-1); c <= 74; c++ {
		require.True(t, c.Known(), "%d", c)
	}
}

func FuzzMessages(f *testing.F) {
	var keys []msg.Key
	for k := msg.Key(1000); k < 1100; k++ {
		if k.NewRequest() == nil {
			continue
		}
		keys = append(keys, k)
		for _, m := range []msg.Message{k.NewRequest(), k.NewResponse()} {
			n := int64(0)
			fill(reflect.ValueOf(m).Elem(), &n)
			f.Add(m.Append(nil))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, k := range keys {
			for _, m := range []msg.Message{k.NewRequest(), k.NewResponse()} {
				if m.Decode(b) != nil {
					continue
				}
				// What was understood is understood the same when it is written again.
				again := reflect.New(reflect.TypeOf(m).Elem()).Interface().(msg.Message)
				if err := again.Decode(m.Append(nil)); err != nil {
					t.Fatalf("%T: %v", m, err)
				}
			}
		}
	})
}
