package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// AuthenticateRequest is one round of authentication. Protocol is the SASL mechanism, in upper case.
type AuthenticateRequest struct {
	Protocol string
	Token    []byte
}

// Key implements Request.
func (*AuthenticateRequest) Key() Key { return KeyAuthenticate }

// Append implements Message.
func (m *AuthenticateRequest) Append(b []byte) []byte {
	b = wire.AppendString(b, 1, m.Protocol)
	return wire.AppendBytes(b, 2, m.Token)
}

// Decode implements Message.
func (m *AuthenticateRequest) Decode(b []byte) error {
	*m = AuthenticateRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Protocol = r.String()
		case 2:
			m.Token = r.Bytes()
		}
	}
	return r.Done(1, 2)
}

// AuthenticateResponse ends a round. For PLAIN an empty challenge is success and must not be answered.
type AuthenticateResponse struct {
	Challenge []byte
}

// Append implements Message.
func (m *AuthenticateResponse) Append(b []byte) []byte {
	if m.Challenge == nil {
		return b
	}
	return wire.AppendBytes(b, 1, m.Challenge)
}

// Decode implements Message.
func (m *AuthenticateResponse) Decode(b []byte) error {
	*m = AuthenticateResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			m.Challenge = r.Bytes()
		}
	}
	return r.Done()
}
