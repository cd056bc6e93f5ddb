package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// ErrorResponse is the body of an error frame.
type ErrorResponse struct {
	Code    Code
	Message string // may be empty; a Java stack trace for UnknownServerError
}

// Append implements Message.
func (m *ErrorResponse) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, int32(m.Code))
	if m.Message != "" {
		b = wire.AppendString(b, 2, m.Message)
	}
	return b
}

// Decode implements Message.
func (m *ErrorResponse) Decode(b []byte) error {
	*m = ErrorResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Code = Code(r.Int32())
		case 2:
			m.Message = r.String()
		}
	}
	return r.Done(1)
}
