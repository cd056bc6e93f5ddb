package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// CreateTableRequest goes to the coordinator; the answer is Empty.
type CreateTableRequest struct {
	Path           TablePath
	JSON           []byte // the table descriptor
	IgnoreIfExists bool
}

// Key implements Request.
func (*CreateTableRequest) Key() Key { return KeyCreateTable }

// Append implements Message.
func (m *CreateTableRequest) Append(b []byte) []byte {
	b = nested(b, 1, &m.Path)
	b = wire.AppendBytes(b, 2, m.JSON)
	return wire.AppendBool(b, 3, m.IgnoreIfExists)
}

// Decode implements Message.
func (m *CreateTableRequest) Decode(b []byte) error {
	*m = CreateTableRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			r.Check(m.Path.Decode(r.Message()))
		case 2:
			m.JSON = r.Bytes()
		case 3:
			m.IgnoreIfExists = r.Bool()
		}
	}
	return r.Done(1, 2, 3)
}

// DropTableRequest goes to the coordinator; the answer is Empty.
type DropTableRequest struct {
	Path             TablePath
	IgnoreIfNotExist bool
}

// Key implements Request.
func (*DropTableRequest) Key() Key { return KeyDropTable }

// Append implements Message.
func (m *DropTableRequest) Append(b []byte) []byte {
	b = nested(b, 1, &m.Path)
	return wire.AppendBool(b, 2, m.IgnoreIfNotExist)
}

// Decode implements Message.
func (m *DropTableRequest) Decode(b []byte) error {
	*m = DropTableRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			r.Check(m.Path.Decode(r.Message()))
		case 2:
			m.IgnoreIfNotExist = r.Bool()
		}
	}
	return r.Done(1, 2)
}

// TableExistsRequest may go to any server; ExistsResponse answers it.
type TableExistsRequest struct {
	Path TablePath
}

// Key implements Request.
func (*TableExistsRequest) Key() Key { return KeyTableExists }

// Append implements Message.
func (m *TableExistsRequest) Append(b []byte) []byte { return nested(b, 1, &m.Path) }

// Decode implements Message.
func (m *TableExistsRequest) Decode(b []byte) error {
	*m = TableExistsRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			r.Check(m.Path.Decode(r.Message()))
		}
	}
	return r.Done(1)
}
