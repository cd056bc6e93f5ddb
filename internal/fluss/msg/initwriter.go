package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// InitWriterRequest asks any tablet server for a fresh writer id. With an authorizer at least one table must be named.
type InitWriterRequest struct {
	Tables []TablePath
}

// Key implements Request.
func (*InitWriterRequest) Key() Key { return KeyInitWriter }

// Append implements Message.
func (m *InitWriterRequest) Append(b []byte) []byte {
	for i := range m.Tables {
		b = nested(b, 1, &m.Tables[i])
	}
	return b
}

// Decode implements Message.
func (m *InitWriterRequest) Decode(b []byte) error {
	*m = InitWriterRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			var p TablePath
			r.Check(p.Decode(r.Message()))
			m.Tables = append(m.Tables, p)
		}
	}
	return r.Done()
}

// InitWriterResponse carries the writer id, unique in the cluster.
type InitWriterResponse struct {
	WriterID int64
}

// Append implements Message.
func (m *InitWriterResponse) Append(b []byte) []byte { return wire.AppendInt64(b, 1, m.WriterID) }

// Decode implements Message.
func (m *InitWriterResponse) Decode(b []byte) error {
	*m = InitWriterResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			m.WriterID = r.Int64()
		}
	}
	return r.Done(1)
}
