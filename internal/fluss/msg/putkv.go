package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// PutKvRequest writes all columns of rows of a primary-key table; it goes to the leader of the buckets. The aggregation mode is never
// sent: it lets a writer get round the table's merge engine.
type PutKvRequest struct {
	Acks      int32
	TableID   int64
	TimeoutMs int32
	Buckets   []PutKvBucket
}

// Key implements Request.
func (*PutKvRequest) Key() Key { return KeyPutKv }

// Append implements Message.
func (m *PutKvRequest) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, m.Acks)
	b = wire.AppendInt64(b, 2, m.TableID)
	b = wire.AppendInt32(b, 3, m.TimeoutMs)
	for i := range m.Buckets {
		b = nested(b, 5, &m.Buckets[i])
	}
	return b
}

// Decode implements Message.
func (m *PutKvRequest) Decode(b []byte) error {
	*m = PutKvRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Acks = r.Int32()
		case 2:
			m.TableID = r.Int64()
		case 3:
			m.TimeoutMs = r.Int32()
		case 5:
			var k PutKvBucket
			r.Check(k.Decode(r.Message()))
			m.Buckets = append(m.Buckets, k)
		}
	}
	return r.Done(1, 2, 3)
}

// PutKvBucket is one batch for one bucket; it has the fields of ProduceLogBucket.
type PutKvBucket = ProduceLogBucket

// PutKvResponse says what became of each batch.
type PutKvResponse struct {
	Buckets []PutKvResult
}

// Append implements Message.
func (m *PutKvResponse) Append(b []byte) []byte { return appendAll(b, m.Buckets) }

// Decode implements Message.
func (m *PutKvResponse) Decode(b []byte) (err error) {
	m.Buckets, err = decodeAll(b, m.Buckets[:0])
	return err
}

// PutKvResult is the answer for one bucket. It has the fields of ProduceLogResult, but BaseOffset is the end of the changelog after the
// write, -1 when absent.
type PutKvResult = ProduceLogResult
