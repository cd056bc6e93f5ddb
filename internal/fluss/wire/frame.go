package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A request frame, all integers big-endian:
//
//	0   4  length of what follows (8 + body)
//	4   2  API key
//	6   2  API version
//	8   4  correlation id, chosen by the client
//	12     body, a protobuf message
//
// A response frame:
//
//	0   4  length of what follows
//	4   1  kind
//	5   4  correlation id, absent when the kind is KindFailure
//	9      body, a protobuf message (5 when the kind is KindFailure)
const (
	// RequestHeaderLen is the size of a request frame without its body.
	RequestHeaderLen = 12
	// DefaultMaxFrame is the largest frame in bytes that is accepted unless told otherwise.
	DefaultMaxFrame = 64 << 20

	lengthLen        = 4
	responsePrefix   = 5
	bodyChunk        = 1 << 20
	minRequestLength = RequestHeaderLen - lengthLen
)

// Kind says what a response frame carries. The values are fixed by the protocol.
type Kind byte

const (
	KindSuccess Kind = 0 // the message that answers the request
	KindError   Kind = 1 // an ErrorResponse: the request failed as a whole
	KindFailure Kind = 2 // an ErrorResponse that belongs to no request; the server closes the connection after it
)

var (
	// ErrFrameSize is wrapped by every error about a frame whose length is negative, too small or above the limit.
	ErrFrameSize = errors.New("frame length out of bounds")
	// ErrKind means that a response frame has a kind that this client does not know.
	ErrKind = errors.New("unknown kind of response frame")
)

// Header is what comes before the body of a response frame.
type Header struct {
	Kind Kind
	ID   int32 // correlation id; 0 for KindFailure
	Body int   // bytes of body that follow
}

// Request is one request frame as a server sees it.
type Request struct {
	Key, Version int16
	ID           int32
	Body         []byte // owned by the receiver
}

// AppendRequest appends a request header whose length counts body bytes that the caller appends next.
func AppendRequest(b []byte, key, version int16, id int32, body int) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(minRequestLength+body))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	return binary.BigEndian.AppendUint32(b, uint32(id))
}

// SetRequest fills in the length and the correlation id of a request frame that is otherwise complete. A frame that is sent again gets
// only a new id; its body stays as it was.
func SetRequest(frame []byte, id int32) {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-lengthLen))
	binary.BigEndian.PutUint32(frame[8:], uint32(id))
}

// AppendResponse appends a whole response frame. The id is left out of a KindFailure frame.
func AppendResponse(b []byte, kind Kind, id int32, body []byte) []byte {
	if kind == KindFailure {
		b = binary.BigEndian.AppendUint32(b, uint32(1+len(body)))
		b = append(b, byte(kind))
	} else {
		b = binary.BigEndian.AppendUint32(b, uint32(responsePrefix+len(body)))
		b = append(b, byte(kind))
		b = binary.BigEndian.AppendUint32(b, uint32(id))
	}
	return append(b, body...)
}

// ReadHeader reads the header of the next response frame. A frame longer than limit bytes is refused before anything is allocated for
// it. It returns [io.EOF] only when not even one byte of a frame was there.
func ReadHeader(r io.Reader, scratch *[9]byte, limit int) (Header, error) {
	if _, err := io.ReadFull(r, scratch[:lengthLen+1]); err != nil {
		return Header{}, err
	}
	n, err := frameLength(scratch[:lengthLen], 1, limit)
	if err != nil {
		return Header{}, err
	}
	h := Header{Kind: Kind(scratch[lengthLen]), Body: n - 1}
	switch {
	case h.Kind > KindFailure:
		return Header{}, fmt.Errorf("%w: %d", ErrKind, h.Kind)
	case h.Kind == KindFailure:
		return h, nil
	case n < responsePrefix:
		return Header{}, fmt.Errorf("%w: %d bytes hold no correlation id", ErrFrameSize, n)
	}
	if _, err := io.ReadFull(r, scratch[lengthLen+1:]); err != nil {
		return Header{}, noEOF(err)
	}
	h.ID, h.Body = int32(binary.BigEndian.Uint32(scratch[lengthLen+1:])), n-responsePrefix
	return h, nil
}

// ReadRequest reads one request frame, as a server does.
func ReadRequest(r io.Reader, limit int) (Request, error) {
	var h [RequestHeaderLen]byte
	if _, err := io.ReadFull(r, h[:lengthLen]); err != nil {
		return Request{}, err
	}
	n, err := frameLength(h[:lengthLen], minRequestLength, limit)
	if err != nil {
		return Request{}, err
	}
	if _, err := io.ReadFull(r, h[lengthLen:]); err != nil {
		return Request{}, noEOF(err)
	}
	body, err := ReadBody(r, n-minRequestLength, nil)
	return Request{
		Key:     int16(binary.BigEndian.Uint16(h[4:])),
		Version: int16(binary.BigEndian.Uint16(h[6:])),
		ID:      int32(binary.BigEndian.Uint32(h[8:])),
		Body:    body,
	}, err
}

// ReadBody reads the n bytes of a body into buf when it is large enough, else into memory that grows as the bytes arrive: a peer that
// announces much and sends little costs little. The result is buf or a new slice and belongs to the caller.
func ReadBody(r io.Reader, n int, buf []byte) ([]byte, error) {
	if n <= cap(buf) {
		buf = buf[:n]
		_, err := io.ReadFull(r, buf)
		return buf, noEOF(err)
	}
	if n <= bodyChunk {
		buf = make([]byte, n)
		_, err := io.ReadFull(r, buf)
		return buf, noEOF(err)
	}
	buf = buf[:0]
	for len(buf) < n {
		have := len(buf)
		// Each step at most doubles what has really arrived.
		step := min(n-have, max(have, bodyChunk))
		if cap(buf) < have+step {
			grown := make([]byte, have, have+step)
			copy(grown, buf)
			buf = grown
		}
		buf = buf[:have+step]
		if _, err := io.ReadFull(r, buf[have:]); err != nil {
			return nil, noEOF(err)
		}
	}
	return buf, nil
}

// frameLength checks the four bytes of a length. Bytes that are the start of a TLS record or of HTTP text are named in the error:
// a client that talks to the wrong port should not have to guess from a number.
func frameLength(b []byte, least, limit int) (int, error) {
	n := int32(binary.BigEndian.Uint32(b))
	if int64(n) >= int64(least) && int64(n) <= int64(limit) {
		return int(n), nil
	}
	hint := ""
	switch {
	case (b[0] == 0x15 || b[0] == 0x16) && b[1] == 3:
		hint = "; these bytes are a TLS record: the peer speaks TLS and this side does not"
	case string(b) == "HTTP":
		hint = "; these bytes are the start of an HTTP answer: this is a web server"
	case string(b) == "GET " || string(b) == "POST":
		hint = "; these bytes are an HTTP request"
	}
	return 0, fmt.Errorf("%w: %d, allowed are %d to %d%s", ErrFrameSize, n, least, limit, hint)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
