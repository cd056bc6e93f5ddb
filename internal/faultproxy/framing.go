package faultproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Framing cuts the two streams of a connection into frames.
type Framing struct {
	// Request and Response read one whole frame.
	Request, Response func(*bufio.Reader) ([]byte, error)
	// RequestID and ResponseID tell which response belongs to which request. Where
	// they are nil the n-th response answers the n-th request of its connection.
	RequestID, ResponseID func(frame []byte) uint32
}

// maxFrame bounds what the proxy holds of one frame.
const maxFrame = 128 << 20

// ErrFrame is wrapped by errors about bytes that are no frame. The connection ends.
var ErrFrame = errors.New("not a frame")

// Fluss frames have four bytes of length in front. A request has its id behind the
// API's key and version, a response behind one byte that tells its kind.
var Fluss = Framing{
	Request: lengthPrefixed, Response: lengthPrefixed,
	RequestID: idAt(8), ResponseID: idAt(5),
}

func lengthPrefixed(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n > maxFrame {
		return nil, fmt.Errorf("%w: length %d", ErrFrame, n)
	}
	// Grows with what arrives, not with what the length claims.
	var frame bytes.Buffer
	_, err = io.CopyN(&frame, r, int64(n)+4)
	return frame.Bytes(), err
}

func idAt(offset int) func([]byte) uint32 {
	return func(frame []byte) uint32 {
		if len(frame) < offset+4 {
			return 0
		}
		return binary.BigEndian.Uint32(frame[offset:])
	}
}

// HTTP frames are whole messages of HTTP/1.1, written anew with their meaning
// unchanged. There is no HEAD, no upgrade and no pipelining.
var HTTP = Framing{
	Request: func(r *bufio.Reader) ([]byte, error) {
		m, err := http.ReadRequest(r)
		if err != nil {
			return nil, err
		}
		if _, ok := m.Header["User-Agent"]; !ok {
			m.Header["User-Agent"] = []string{""} // so that none is added
		}
		return written(m.Body, m.Write)
	},
	Response: func(r *bufio.Reader) ([]byte, error) {
		m, err := http.ReadResponse(r, nil)
		if err != nil {
			return nil, err
		}
		return written(m.Body, m.Write)
	},
}

func written(body io.Closer, write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b)
	return b.Bytes(), errors.Join(err, body.Close())
}
