package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// The values of ListOffsetsRequest.Type.
const (
	OffsetEarliest  = 0
	OffsetLatest    = 1 // the high watermark of whichever replica answers
	OffsetTimestamp = 2
)

// ListOffsetsRequest goes to a server that holds the buckets. The server does not check that it leads them.
type ListOffsetsRequest struct {
	FollowerID int32 // -1: a client asks
	Type       int32
	TableID    int64
	Buckets    []int32
	Timestamp  *int64 // milliseconds, only with OffsetTimestamp
}

// Key implements Request.
func (*ListOffsetsRequest) Key() Key { return KeyListOffsets }

// Append implements Message.
func (m *ListOffsetsRequest) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, m.FollowerID)
	b = wire.AppendInt32(b, 2, m.Type)
	b = wire.AppendInt64(b, 3, m.TableID)
	b = wire.AppendInt32s(b, 5, m.Buckets)
	return partition(b, 6, m.Timestamp)
}

// Decode implements Message.
func (m *ListOffsetsRequest) Decode(b []byte) error {
	*m = ListOffsetsRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.FollowerID = r.Int32()
		case 2:
			m.Type = r.Int32()
		case 3:
			m.TableID = r.Int64()
		case 5:
			m.Buckets = r.Int32s(m.Buckets)
		case 6:
			m.Timestamp = int64Ptr(r.Int64())
		}
	}
	return r.Done(1, 2, 3)
}

// ListOffsetsResponse answers per bucket, in any order.
type ListOffsetsResponse struct {
	Buckets []ListOffsetsResult
}

// Append implements Message.
func (m *ListOffsetsResponse) Append(b []byte) []byte { return appendAll(b, m.Buckets) }

// Decode implements Message.
func (m *ListOffsetsResponse) Decode(b []byte) (err error) {
	m.Buckets, err = decodeAll(b, m.Buckets[:0])
	return err
}

// ListOffsetsResult is the answer for one bucket; Offset is -1 when absent.
type ListOffsetsResult struct {
	Bucket int32
	Failure
	Offset int64
}

// Append implements Message.
func (m *ListOffsetsResult) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, m.Bucket)
	b = m.append(b, 2, 3)
	return wire.AppendInt64(b, 4, m.Offset)
}

// Decode implements Message.
func (m *ListOffsetsResult) Decode(b []byte) error {
	*m = ListOffsetsResult{Offset: -1}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Bucket = r.Int32()
		case 2:
			m.Code = Code(r.Int32())
		case 3:
			m.Message = r.String()
		case 4:
			m.Offset = r.Int64()
		}
	}
	return r.Done(1)
}
