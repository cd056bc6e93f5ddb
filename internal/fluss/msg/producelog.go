package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// AcksAll makes an append or a put wait for all in-sync replicas. This client never uses another value.
const AcksAll = -1

// ProduceLogRequest appends to the log of buckets; it goes to their leader. One batch per bucket and request: a duplicate beside a new
// batch makes the server drop both.
type ProduceLogRequest struct {
	Acks      int32
	TableID   int64
	TimeoutMs int32 // how long the server waits for the replicas
	Buckets   []ProduceLogBucket
}

// Key implements Request.
func (*ProduceLogRequest) Key() Key { return KeyProduceLog }

// Append implements Message.
func (m *ProduceLogRequest) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, m.Acks)
	b = wire.AppendInt64(b, 2, m.TableID)
	b = wire.AppendInt32(b, 3, m.TimeoutMs)
	for i := range m.Buckets {
		b = nested(b, 4, &m.Buckets[i])
	}
	return b
}

// Decode implements Message.
func (m *ProduceLogRequest) Decode(b []byte) error {
	*m = ProduceLogRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Acks = r.Int32()
		case 2:
			m.TableID = r.Int64()
		case 3:
			m.TimeoutMs = r.Int32()
		case 4:
			var k ProduceLogBucket
			r.Check(k.Decode(r.Message()))
			m.Buckets = append(m.Buckets, k)
		}
	}
	return r.Done(1, 2, 3)
}

// MaxBatchPrefix is an upper bound of what AppendBatchPrefix appends.
const MaxBatchPrefix = 64

// AppendBatchPrefix appends all of a ProduceLog or PutKv request for one bucket that stands before the bytes of its one batch, which is
// size bytes long: prefix and batch together are the message. It lets a batch be encoded once, in place, into the frame that is sent.
func AppendBatchPrefix(b []byte, key Key, tableID int64, timeoutMs, bucket int32, size int) []byte {
	field := 4
	if key == KeyPutKv {
		field = 5
	}
	b = wire.AppendInt32(b, 1, AcksAll)
	b = wire.AppendInt64(b, 2, tableID)
	b = wire.AppendInt32(b, 3, timeoutMs)
	inner := 1 + wire.UvarintLen(uint64(int64(bucket))) + 1 + wire.UvarintLen(uint64(size)) + size
	b = wire.AppendBytesPrefix(b, field, inner)
	b = wire.AppendInt32(b, 2, bucket)
	return wire.AppendBytesPrefix(b, 3, size)
}

// ProduceLogBucket is one batch for one bucket.
type ProduceLogBucket struct {
	Partition *int64
	Bucket    int32
	Records   []byte
}

// Append implements Message.
func (m *ProduceLogBucket) Append(b []byte) []byte {
	b = partition(b, 1, m.Partition)
	b = wire.AppendInt32(b, 2, m.Bucket)
	return wire.AppendBytes(b, 3, m.Records)
}

// Decode implements Message.
func (m *ProduceLogBucket) Decode(b []byte) error {
	*m = ProduceLogBucket{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Partition = int64Ptr(r.Int64())
		case 2:
			m.Bucket = r.Int32()
		case 3:
			m.Records = r.Bytes()
		}
	}
	return r.Done(2, 3)
}

// ProduceLogResponse says what became of each batch.
type ProduceLogResponse struct {
	Buckets []ProduceLogResult
}

// Append implements Message.
func (m *ProduceLogResponse) Append(b []byte) []byte { return appendAll(b, m.Buckets) }

// Decode implements Message.
func (m *ProduceLogResponse) Decode(b []byte) (err error) {
	m.Buckets, err = decodeAll(b, m.Buckets[:0])
	return err
}

// ProduceLogResult is the answer for one bucket. BaseOffset is -1 when the server named none: then nothing was appended, even without an
// error code.
type ProduceLogResult struct {
	Partition *int64
	Bucket    int32
	Failure
	BaseOffset int64
}

// Append implements Message.
func (m *ProduceLogResult) Append(b []byte) []byte {
	b = partition(b, 1, m.Partition)
	b = wire.AppendInt32(b, 2, m.Bucket)
	b = m.append(b, 3, 4)
	return wire.AppendInt64(b, 5, m.BaseOffset)
}

// Decode implements Message.
func (m *ProduceLogResult) Decode(b []byte) error {
	*m = ProduceLogResult{BaseOffset: -1}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Partition = int64Ptr(r.Int64())
		case 2:
			m.Bucket = r.Int32()
		case 3:
			m.Code = Code(r.Int32())
		case 4:
			m.Message = r.String()
		case 5:
			m.BaseOffset = r.Int64()
		}
	}
	return r.Done(2)
}
