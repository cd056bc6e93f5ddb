package httpoutcome_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/intentlog/intentlog/receipt/httpoutcome"
)

// FuzzResponse answers a request with foreign bytes over a pipe. Nothing may panic, NotSent may never be said of a request that was
// read, and Answered never of a body that is shorter than its declared length. With declare, the bytes become the body of a
// response that declares one byte more than there is.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nid=1", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nid=1",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nid=1\r\n0\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nid=1",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99\r\n\r\n" + gzipped("id=1"), "HTTP/1.1 000 \r\nContent-Length: 0\r\n\r\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, answer []byte, declare bool) {
		if declare {
			answer = append([]byte("HTTP/1.1 200 OK\r\nContent-Length: "+strconv.Itoa(len(answer)+1)+"\r\n\r\n"), answer...)
		}
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				if req, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = server.Write(answer)
				}
			}()
			return client, nil
		}}
		defer tr.CloseIdleConnections()
		req, err := http.NewRequest(http.MethodPost, "http://pay.invalid/effect", strings.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		res, err := httpoutcome.Do(tr, req, 1<<16)
		if (err == nil) != (res.Outcome == httpoutcome.Answered) || res.Outcome == httpoutcome.NotSent || res.WireAttempts != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		if res.Outcome != httpoutcome.Answered {
			return
		}
		if n := res.Response.ContentLength; declare || n >= 0 && n != int64(len(res.Body)) || !bytes.Contains(answer, []byte("\r\n\r\n")) && !bytes.Contains(answer, []byte("\n\n")) && !bytes.Contains(answer, []byte("\n\r\n")) {
			t.Fatalf("answered %d with %d bytes, declared %d", res.Response.StatusCode, len(res.Body), n)
		}
	})
}
