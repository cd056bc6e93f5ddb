package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// CreateDatabaseRequest goes to the coordinator; the answer is Empty.
type CreateDatabaseRequest struct {
	Name           string
	IgnoreIfExists bool
}

// Key implements Request.
func (*CreateDatabaseRequest) Key() Key { return KeyCreateDatabase }

// Append implements Message.
func (m *CreateDatabaseRequest) Append(b []byte) []byte {
	b = wire.AppendString(b, 1, m.Name)
	return wire.AppendBool(b, 2, m.IgnoreIfExists)
}

// Decode implements Message.
func (m *CreateDatabaseRequest) Decode(b []byte) error {
	*m = CreateDatabaseRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Name = r.String()
		case 2:
			m.IgnoreIfExists = r.Bool()
		}
	}
	return r.Done(1, 2)
}

// DropDatabaseRequest goes to the coordinator; the answer is Empty. Cascade drops the tables too.
type DropDatabaseRequest struct {
	Name             string
	IgnoreIfNotExist bool
	Cascade          bool
}

// Key implements Request.
func (*DropDatabaseRequest) Key() Key { return KeyDropDatabase }

// Append implements Message.
func (m *DropDatabaseRequest) Append(b []byte) []byte {
	b = wire.AppendString(b, 1, m.Name)
	b = wire.AppendBool(b, 2, m.IgnoreIfNotExist)
	return wire.AppendBool(b, 3, m.Cascade)
}

// Decode implements Message.
func (m *DropDatabaseRequest) Decode(b []byte) error {
	*m = DropDatabaseRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Name = r.String()
		case 2:
			m.IgnoreIfNotExist = r.Bool()
		case 3:
			m.Cascade = r.Bool()
		}
	}
	return r.Done(1, 2, 3)
}

// DatabaseExistsRequest may go to any server; ExistsResponse answers it.
type DatabaseExistsRequest struct {
	Name string
}

// Key implements Request.
func (*DatabaseExistsRequest) Key() Key { return KeyDatabaseExists }

// Append implements Message.
func (m *DatabaseExistsRequest) Append(b []byte) []byte { return wire.AppendString(b, 1, m.Name) }

// Decode implements Message.
func (m *DatabaseExistsRequest) Decode(b []byte) error {
	*m = DatabaseExistsRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			m.Name = r.String()
		}
	}
	return r.Done(1)
}

// ExistsResponse answers DatabaseExistsRequest and TableExistsRequest.
type ExistsResponse struct {
	Exists bool
}

// Append implements Message.
func (m *ExistsResponse) Append(b []byte) []byte { return wire.AppendBool(b, 1, m.Exists) }

// Decode implements Message.
func (m *ExistsResponse) Decode(b []byte) error {
	*m = ExistsResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			m.Exists = r.Bool()
		}
	}
	return r.Done(1)
}
