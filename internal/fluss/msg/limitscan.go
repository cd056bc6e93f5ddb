package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// LimitScanRequest asks the leader of a bucket for up to Limit rows, in no order. It has no field 1.
type LimitScanRequest struct {
	TableID int64
	Bucket  int32
	Limit   int32
}

// Key implements Request.
func (*LimitScanRequest) Key() Key { return KeyLimitScan }

// Append implements Message.
func (m *LimitScanRequest) Append(b []byte) []byte {
	b = wire.AppendInt64(b, 2, m.TableID)
	b = wire.AppendInt32(b, 4, m.Bucket)
	return wire.AppendInt32(b, 5, m.Limit)
}

// Decode implements Message.
func (m *LimitScanRequest) Decode(b []byte) error {
	*m = LimitScanRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 2:
			m.TableID = r.Int64()
		case 4:
			m.Bucket = r.Int32()
		case 5:
			m.Limit = r.Int32()
		}
	}
	return r.Done(2, 4, 5)
}

// LimitScanResponse carries a batch of values for a primary-key table and batches of the log for a log table.
type LimitScanResponse struct {
	Failure
	IsLog   bool
	Records []byte
}

// Append implements Message.
func (m *LimitScanResponse) Append(b []byte) []byte {
	b = m.append(b, 1, 2)
	b = wire.AppendBool(b, 3, m.IsLog)
	if m.Records != nil {
		b = wire.AppendBytes(b, 4, m.Records)
	}
	return b
}

// Decode implements Message.
func (m *LimitScanResponse) Decode(b []byte) error {
	*m = LimitScanResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Code = Code(r.Int32())
		case 2:
			m.Message = r.String()
		case 3:
			m.IsLog = r.Bool()
		case 4:
			m.Records = r.Bytes()
		}
	}
	return r.Done()
}
