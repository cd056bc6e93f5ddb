package flusstest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The probe asks a server for metadata by hand-made bytes. It does not use the client of this module:
// the harness must not depend on the code that is tested with it.

// metadataRequest is GET_METADATA (1012) version 0 with request id 1 and an empty body, which asks
// about the servers and no table.
var metadataRequest = []byte{
	0, 0, 0, 8, // length of what follows
	1012 >> 8, 1012 & 0xff, // api key
	0, 0, // api version
	0, 0, 0, 1, // request id
}

// Field numbers of MetadataResponse and of the ServerNode in it.
const (
	fieldTabletServers = 2
	fieldServerID      = 1
)

// maxProbeAnswer is far above the answer of any cluster started here.
const maxProbeAnswer = 1 << 16

var errProbeAnswer = errors.New("unreadable metadata answer")

// liveTabletServers returns the ids of the tablet servers that the server at addr holds to be alive.
func liveTabletServers(ctx context.Context, addr string) (map[int]bool, error) {
	conn, err := dialProbe(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return askTabletServers(conn)
}

// dialProbe connects to a server and bounds all that happens on the connection.
func dialProbe(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func askTabletServers(conn net.Conn) (map[int]bool, error) {
	answer, err := exchange(conn, metadataRequest)
	if err != nil {
		return nil, err
	}
	ids := map[int]bool{}
	err = fields(answer, func(number int, _ uint64, node []byte) error {
		if number != fieldTabletServers {
			return nil
		}
		return fields(node, func(number int, value uint64, _ []byte) error {
			if number == fieldServerID {
				ids[int(value)] = true
			}
			return nil
		})
	})
	return ids, err
}

// exchange sends a request frame and returns the body of the answer.
func exchange(conn net.Conn, request []byte) ([]byte, error) {
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < 5 || size > maxProbeAnswer { // 5: a byte for the kind of answer, four for the request id
		return nil, fmt.Errorf("%w: length %d", errProbeAnswer, size)
	}
	answer := make([]byte, size)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, err
	}
	if answer[0] != 0 {
		return nil, fmt.Errorf("the server refuses: %q", answer[1:])
	}
	return answer[5:], nil
}

// fields walks over a protobuf message of integers, byte strings and messages, which is all that the
// answer has.
func fields(b []byte, visit func(number int, value uint64, bytes []byte) error) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return errProbeAnswer
		}
		b = b[n:]
		value, n := binary.Uvarint(b)
		if n <= 0 {
			return errProbeAnswer
		}
		b = b[n:]
		var content []byte
		switch tag & 7 {
		case 0:
		case 2:
			if value > uint64(len(b)) {
				return errProbeAnswer
			}
			content, b = b[:value], b[value:]
		default:
			return errProbeAnswer
		}
		if err := visit(int(tag>>3), value, content); err != nil {
			return err
		}
	}
	return nil
}
