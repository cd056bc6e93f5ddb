package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// GetTableSchemaRequest asks for one schema of a table; a zero SchemaID asks for the current one.
type GetTableSchemaRequest struct {
	Path     TablePath
	SchemaID int32
}

// Key implements Request.
func (*GetTableSchemaRequest) Key() Key { return KeyGetTableSchema }

// Append implements Message.
func (m *GetTableSchemaRequest) Append(b []byte) []byte {
	b = nested(b, 1, &m.Path)
	if m.SchemaID != 0 {
		b = wire.AppendInt32(b, 2, m.SchemaID)
	}
	return b
}

// Decode implements Message.
func (m *GetTableSchemaRequest) Decode(b []byte) error {
	*m = GetTableSchemaRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			r.Check(m.Path.Decode(r.Message()))
		case 2:
			m.SchemaID = r.Int32()
		}
	}
	return r.Done(1)
}

// GetTableSchemaResponse is a schema as JSON.
type GetTableSchemaResponse struct {
	SchemaID int32
	JSON     []byte
}

// Append implements Message.
func (m *GetTableSchemaResponse) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, m.SchemaID)
	return wire.AppendBytes(b, 2, m.JSON)
}

// Decode implements Message.
func (m *GetTableSchemaResponse) Decode(b []byte) error {
	*m = GetTableSchemaResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.SchemaID = r.Int32()
		case 2:
			m.JSON = r.Bytes()
		}
	}
	return r.Done(1, 2)
}
