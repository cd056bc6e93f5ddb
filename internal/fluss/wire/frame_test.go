package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/wire"
)

func TestResponseFramesSurviveTheWayThere(t *testing.T) {
	for _, kind := range []wire.Kind{wire.KindSuccess, wire.KindError, wire.KindFailure} {
		frame := wire.AppendResponse(nil, kind, -7, []byte("body"))
		r := iotest.OneByteReader(bytes.NewReader(frame)) // as from the slowest of servers
		var scratch [9]byte
		h, err := wire.ReadHeader(r, &scratch, 100)
		require.NoError(t, err)
		require.Equal(t, kind, h.Kind)
		if kind != wire.KindFailure {
			require.EqualValues(t, -7, h.ID)
		}
		body, err := wire.ReadBody(r, h.Body, nil)
		require.NoError(t, err)
		require.Equal(t, "body", string(body))
		_, err = wire.ReadHeader(r, &scratch, 100)
		require.Equal(t, io.EOF, err)
	}
}

func TestRequestFramesSurviveTheWayThere(t *testing.T) {
	frame := append(wire.AppendRequest(nil, 1014, 1, 0, 4), "body"...)
	wire.SetRequest(frame, math.MinInt32)
	require.EqualValues(t, len(frame)-4, binary.BigEndian.Uint32(frame))
	req, err := wire.ReadRequest(bytes.NewReader(frame), 100)
	require.NoError(t, err)
	require.Equal(t, wire.Request{Key: 1014, Version: 1, ID: math.MinInt32, Body: []byte("body")}, req)
}

func TestFrameLengthsAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name, frame, says string
	}{
		{"2 GiB", "\x7f\xff\xff\xff\x00", "2147483647"},
		{"negative", "\xff\xff\xff\xff\x00", "-1"},
		{"zero", "\x00\x00\x00\x00\x00", "0"},
		{"one above the limit", "\x00\x00\x00\x65\x00", "101"},
		{"no room for an id", "\x00\x00\x00\x04\x00", "correlation id"},
		{"TLS alert", "\x15\x03\x01\x00\x02", "TLS"},
		{"TLS handshake", "\x16\x03\x01\x00\x02", "TLS"},
		{"HTTP answer", "HTTP/1.1 400", "web server"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var scratch [9]byte
			_, err := wire.ReadHeader(bytes.NewReader([]byte(tt.frame)), &scratch, 100)
			require.ErrorIs(t, err, wire.ErrFrameSize)
			require.ErrorContains(t, err, tt.says)
		})
	}
	var scratch [9]byte
	_, err := wire.ReadHeader(bytes.NewReader([]byte("\x00\x00\x00\x09\x07\x00\x00\x00\x01")), &scratch, 100)
	require.ErrorIs(t, err, wire.ErrKind)
	_, err = wire.ReadRequest(bytes.NewReader([]byte("GET / HTTP/1.1\r\n")), 100)
	require.ErrorContains(t, err, "HTTP request")
	_, err = wire.ReadRequest(bytes.NewReader([]byte{0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7}), 100)
	require.ErrorIs(t, err, wire.ErrFrameSize)
}

func TestCutFramesAreNotCleanEnds(t *testing.T) {
	frame := wire.AppendResponse(nil, wire.KindSuccess, 1, []byte("body"))
	for n := 1; n < len(frame); n++ {
		var scratch [9]byte
		r := bytes.NewReader(frame[:n])
		h, err := wire.ReadHeader(r, &scratch, 100)
		if err == nil {
			_, err = wire.ReadBody(r, h.Body, nil)
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
	}
}

func TestABodyThatIsAnnouncedButDoesNotComeCostsLittle(t *testing.T) {
	allocs := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := wire.ReadBody(io.LimitReader(zeros{}, 10), 1<<30, nil)
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				b.Fatal(err)
			}
		}
	})
	require.Less(t, allocs.AllocedBytesPerOp(), int64(2<<20))
	body, err := wire.ReadBody(zeros{}, 5<<20+1, nil)
	require.NoError(t, err)
	require.Len(t, body, 5<<20+1)
}

func TestABodyGoesIntoTheBufferThatIsOffered(t *testing.T) {
	buf := make([]byte, 0, 16)
	body, err := wire.ReadBody(bytes.NewReader([]byte("0123456789")), 10, buf)
	require.NoError(t, err)
	require.Same(t, &buf[:1][0], &body[0])
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func FuzzFrames(f *testing.F) {
	f.Add(wire.AppendResponse(nil, wire.KindSuccess, 1, []byte("body")))
	f.Add(wire.AppendResponse(nil, wire.KindFailure, 1, []byte("body")))
	f.Add([]byte("HTTP/1.1 200 OK"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var scratch [9]byte
		r := bytes.NewReader(b)
		for {
			h, err := wire.ReadHeader(r, &scratch, 1<<16)
			if err != nil {
				return
			}
			if h.Body < 0 || h.Body > 1<<16 {
				t.Fatalf("body of %d bytes", h.Body)
			}
			if _, err := wire.ReadBody(r, h.Body, nil); err != nil {
				return
			}
		}
	})
}
