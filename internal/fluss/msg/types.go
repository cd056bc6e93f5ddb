package msg

import (
	"strconv"

	"github.com/intentlog/intentlog/internal/fluss/wire"
)

func newReader(b []byte) wire.Reader { return wire.NewReader(b) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// TablePath names a table.
type TablePath struct {
	Database, Table string
}

// Append implements Message.
func (p *TablePath) Append(b []byte) []byte {
	b = wire.AppendString(b, 1, p.Database)
	return wire.AppendString(b, 2, p.Table)
}

// Decode implements Message.
func (p *TablePath) Decode(b []byte) error {
	*p = TablePath{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			p.Database = r.String()
		case 2:
			p.Table = r.String()
		}
	}
	return r.Done(1, 2)
}

// ServerNode is a server's number and address. The numbers of coordinators and tablet servers overlap.
type ServerNode struct {
	ID   int32
	Host string
	Port int32
	Rack string // empty when absent
}

// Append implements Message.
func (n *ServerNode) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, n.ID)
	b = wire.AppendString(b, 2, n.Host)
	b = wire.AppendInt32(b, 3, n.Port)
	if n.Rack != "" {
		b = wire.AppendString(b, 5, n.Rack)
	}
	return b
}

// Decode implements Message.
func (n *ServerNode) Decode(b []byte) error {
	*n = ServerNode{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			n.ID = r.Int32()
		case 2:
			n.Host = r.String()
		case 3:
			n.Port = r.Int32()
		case 5:
			n.Rack = r.String()
		}
	}
	return r.Done(1, 2, 3)
}

// Failure is the pair of an error code and its text that most answers carry per bucket; the zero Failure is success.
type Failure struct {
	Code    Code
	Message string
}

func (e *Failure) append(b []byte, code, message int) []byte {
	if e.Code == None {
		return b
	}
	b = wire.AppendInt32(b, code, int32(e.Code))
	if e.Message != "" {
		b = wire.AppendString(b, message, e.Message)
	}
	return b
}

// nested appends m as the message field.
func nested(b []byte, field int, m Message) []byte {
	b, at := wire.Begin(b, field)
	return wire.End(m.Append(b), at)
}

// partition appends an optional partition id.
func partition(b []byte, field int, id *int64) []byte {
	if id == nil {
		return b
	}
	return wire.AppendInt64(b, field, *id)
}

func int64Ptr(v int64) *int64 { return &v }
