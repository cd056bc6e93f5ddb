package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// ApiVersionsRequest asks which APIs a server has. Any server answers it, also before authentication.
type ApiVersionsRequest struct {
	Software, Version string
}

// Key implements Request.
func (*ApiVersionsRequest) Key() Key { return KeyApiVersions }

// Append implements Message.
func (m *ApiVersionsRequest) Append(b []byte) []byte {
	b = wire.AppendString(b, 1, m.Software)
	return wire.AppendString(b, 2, m.Version)
}

// Decode implements Message.
func (m *ApiVersionsRequest) Decode(b []byte) error {
	*m = ApiVersionsRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Software = r.String()
		case 2:
			m.Version = r.String()
		}
	}
	return r.Done(1, 2)
}

// The values of ApiVersionsResponse.ServerType.
const (
	ServerTypeCoordinator = 1
	ServerTypeTablet      = 2
)

// ApiVersionsResponse lists the APIs of a server with the versions it accepts.
type ApiVersionsResponse struct {
	APIs       []ApiVersion
	ServerType int32 // 0 when absent
}

// Append implements Message.
func (m *ApiVersionsResponse) Append(b []byte) []byte {
	for i := range m.APIs {
		b = nested(b, 1, &m.APIs[i])
	}
	return wire.AppendInt32(b, 2, m.ServerType)
}

// Decode implements Message.
func (m *ApiVersionsResponse) Decode(b []byte) error {
	*m = ApiVersionsResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			var v ApiVersion
			r.Check(v.Decode(r.Message()))
			m.APIs = append(m.APIs, v)
		case 2:
			m.ServerType = r.Int32()
		}
	}
	return r.Done()
}

// ApiVersion is the range of versions that a server accepts for one API.
type ApiVersion struct {
	Key      Key
	Min, Max int32
}

// Append implements Message.
func (m *ApiVersion) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, int32(m.Key))
	b = wire.AppendInt32(b, 2, m.Min)
	return wire.AppendInt32(b, 3, m.Max)
}

// Decode implements Message.
func (m *ApiVersion) Decode(b []byte) error {
	*m = ApiVersion{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Key = Key(r.Int32())
		case 2:
			m.Min = r.Int32()
		case 3:
			m.Max = r.Int32()
		}
	}
	return r.Done(1, 2, 3)
}
