package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// GetTableInfoRequest may go to any server. Unlike GetMetadata it says TableNotExist when the table does not exist.
type GetTableInfoRequest struct {
	Path TablePath
}

// Key implements Request.
func (*GetTableInfoRequest) Key() Key { return KeyGetTableInfo }

// Append implements Message.
func (m *GetTableInfoRequest) Append(b []byte) []byte { return nested(b, 1, &m.Path) }

// Decode implements Message.
func (m *GetTableInfoRequest) Decode(b []byte) error {
	*m = GetTableInfoRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			r.Check(m.Path.Decode(r.Message()))
		}
	}
	return r.Done(1)
}

// GetTableInfoResponse describes a table. Times are milliseconds of the Unix epoch.
type GetTableInfoResponse struct {
	TableID           int64
	SchemaID          int32
	JSON              []byte // the table descriptor
	Created, Modified int64
}

// Append implements Message.
func (m *GetTableInfoResponse) Append(b []byte) []byte {
	b = wire.AppendInt64(b, 1, m.TableID)
	b = wire.AppendInt32(b, 2, m.SchemaID)
	b = wire.AppendBytes(b, 3, m.JSON)
	b = wire.AppendInt64(b, 4, m.Created)
	return wire.AppendInt64(b, 5, m.Modified)
}

// Decode implements Message.
func (m *GetTableInfoResponse) Decode(b []byte) error {
	*m = GetTableInfoResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.TableID = r.Int64()
		case 2:
			m.SchemaID = r.Int32()
		case 3:
			m.JSON = r.Bytes()
		case 4:
			m.Created = r.Int64()
		case 5:
			m.Modified = r.Int64()
		}
	}
	return r.Done(1, 2, 3, 4, 5)
}
