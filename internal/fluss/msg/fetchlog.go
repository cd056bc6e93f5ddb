package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// FetchLogRequest reads the log of buckets; it goes to their leader. MaxWaitMs is heeded only because MinBytes is always sent.
type FetchLogRequest struct {
	FollowerID int32 // -1: a client asks
	MaxBytes   int32
	Tables     []FetchLogTable
	MaxWaitMs  int32
	MinBytes   int32
}

// Key implements Request.
func (*FetchLogRequest) Key() Key { return KeyFetchLog }

// Append implements Message.
func (m *FetchLogRequest) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, m.FollowerID)
	b = wire.AppendInt32(b, 2, m.MaxBytes)
	for i := range m.Tables {
		b = nested(b, 3, &m.Tables[i])
	}
	b = wire.AppendInt32(b, 4, m.MaxWaitMs)
	return wire.AppendInt32(b, 5, m.MinBytes)
}

// Decode implements Message.
func (m *FetchLogRequest) Decode(b []byte) error {
	*m = FetchLogRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.FollowerID = r.Int32()
		case 2:
			m.MaxBytes = r.Int32()
		case 3:
			var t FetchLogTable
			r.Check(t.Decode(r.Message()))
			m.Tables = append(m.Tables, t)
		case 4:
			m.MaxWaitMs = r.Int32()
		case 5:
			m.MinBytes = r.Int32()
		}
	}
	return r.Done(1, 2)
}

// FetchLogTable asks for buckets of one table. A projection is never asked for; its flag is required all the same.
type FetchLogTable struct {
	TableID int64
	Buckets []FetchLogBucket
}

// Append implements Message.
func (m *FetchLogTable) Append(b []byte) []byte {
	b = wire.AppendInt64(b, 1, m.TableID)
	b = wire.AppendBool(b, 2, false)
	for i := range m.Buckets {
		b = nested(b, 4, &m.Buckets[i])
	}
	return b
}

// Decode implements Message.
func (m *FetchLogTable) Decode(b []byte) error {
	*m = FetchLogTable{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.TableID = r.Int64()
		case 4:
			var k FetchLogBucket
			r.Check(k.Decode(r.Message()))
			m.Buckets = append(m.Buckets, k)
		}
	}
	return r.Done(1, 2)
}

// FetchLogBucket asks for one bucket from Offset on.
type FetchLogBucket struct {
	Bucket   int32
	Offset   int64
	MaxBytes int32 // the first batch comes whole, even when it is larger
}

// Append implements Message.
func (m *FetchLogBucket) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 2, m.Bucket)
	b = wire.AppendInt64(b, 3, m.Offset)
	return wire.AppendInt32(b, 4, m.MaxBytes)
}

// Decode implements Message.
func (m *FetchLogBucket) Decode(b []byte) error {
	*m = FetchLogBucket{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 2:
			m.Bucket = r.Int32()
		case 3:
			m.Offset = r.Int64()
		case 4:
			m.MaxBytes = r.Int32()
		}
	}
	return r.Done(2, 3, 4)
}

// FetchLogResponse carries a slice of the log per bucket.
type FetchLogResponse struct {
	Tables []FetchLogTableResult
}

// Append implements Message.
func (m *FetchLogResponse) Append(b []byte) []byte { return appendAll(b, m.Tables) }

// Decode implements Message.
func (m *FetchLogResponse) Decode(b []byte) (err error) {
	m.Tables, err = decodeAll(b, m.Tables[:0])
	return err
}

// FetchLogTableResult is the answer for one table.
type FetchLogTableResult struct {
	TableID int64
	Buckets []FetchLogResult
}

// Append implements Message.
func (m *FetchLogTableResult) Append(b []byte) []byte {
	b = wire.AppendInt64(b, 1, m.TableID)
	for i := range m.Buckets {
		b = nested(b, 2, &m.Buckets[i])
	}
	return b
}

// Decode implements Message.
func (m *FetchLogTableResult) Decode(b []byte) error {
	*m = FetchLogTableResult{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.TableID = r.Int64()
		case 2:
			var k FetchLogResult
			r.Check(k.Decode(r.Message()))
			m.Buckets = append(m.Buckets, k)
		}
	}
	return r.Done(1)
}

// FetchLogResult is the answer for one bucket. Records is a raw slice of the log: its first batch may begin before the offset asked for
// and its last may be cut off.
type FetchLogResult struct {
	Bucket int32
	Failure
	HighWatermark int64             // exclusive end of what is committed; -1 when absent
	Remote        *RemoteLogSegment // set when the offset must be read from remote storage
	Records       []byte
}

// Append implements Message.
func (m *FetchLogResult) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 2, m.Bucket)
	b = m.append(b, 3, 4)
	b = wire.AppendInt64(b, 5, m.HighWatermark)
	b = wire.AppendInt64(b, 6, 0) // log_start_offset, never filled by a server
	if m.Remote != nil {
		b = nested(b, 7, m.Remote)
	}
	if m.Records != nil {
		b = wire.AppendBytes(b, 8, m.Records)
	}
	return b
}

// Decode implements Message.
func (m *FetchLogResult) Decode(b []byte) error {
	*m = FetchLogResult{HighWatermark: -1}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 2:
			m.Bucket = r.Int32()
		case 3:
			m.Code = Code(r.Int32())
		case 4:
			m.Message = r.String()
		case 5:
			m.HighWatermark = r.Int64()
		case 7:
			m.Remote = new(RemoteLogSegment)
			r.Check(m.Remote.Decode(r.Message()))
		case 8:
			m.Records = r.Bytes()
		}
	}
	return r.Done(2)
}

// RemoteLogSegment is the part of PbRemoteLogFetchInfo that an error message needs: this client does not read remote segments.
type RemoteLogSegment struct {
	Dir string
}

// Append implements Message.
func (m *RemoteLogSegment) Append(b []byte) []byte { return wire.AppendString(b, 1, m.Dir) }

// Decode implements Message.
func (m *RemoteLogSegment) Decode(b []byte) error {
	*m = RemoteLogSegment{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			m.Dir = r.String()
		}
	}
	return r.Done(1)
}
