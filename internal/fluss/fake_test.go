package fluss_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

var (
	path   = fluss.Path{Database: "fluss", Table: "events"}
	schema = row.Schema{{Name: "id", Kind: row.STRING}, {Name: "n", Kind: row.BIGINT, Nullable: true}}
)

func wirePath() msg.TablePath { return msg.TablePath{Database: path.Database, Table: path.Table} }

func one(id string, n int64) []row.Value { return []row.Value{row.String(id), row.Bigint(n)} }

// onFake runs f in a synctest bubble, where waiting takes no time, against a fake cluster of two tablet servers.
func onFake(t *testing.T, f func(t *testing.T, fake *flusstest.Fake, c *fluss.Client)) {
	t.Helper()
	onFakeWith(t, flusstest.FakeOptions{Tablets: 2}, fluss.Options{}, f)
}

func onFakeWith(t *testing.T, fo flusstest.FakeOptions, o fluss.Options, f func(t *testing.T, fake *flusstest.Fake, c *fluss.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake, err := flusstest.NewFake(fo)
		require.NoError(t, err)
		defer fake.Close()
		o.Bootstrap = []string{fake.Bootstrap()}
		if o.Dial == nil {
			o.Dial = fake.Dial
		}
		c := fluss.New(o)
		defer c.Close()
		f(t, fake, c)
	})
}

// logTable creates and opens the log table of most tests.
func logTable(t *testing.T, c *fluss.Client, format string) *fluss.Table {
	t.Helper()
	require.NoError(t, c.CreateTable(t.Context(), path, fluss.TableDescriptor{
		Schema: schema, BucketKey: []string{"id"}, Buckets: 2, Properties: map[string]string{"table.log.format": format},
	}))
	table, err := c.Table(t.Context(), path)
	require.NoError(t, err)
	return table
}

// readAll reads a range and shows it as offset:id, one record after the other.
func readAll(t *testing.T, table *fluss.Table, bucket int, from, to int64) ([]string, error) {
	t.Helper()
	var got []string
	err := table.Read(t.Context(), bucket, from, to, func(r *fluss.Records) error {
		for r.Next() {
			got = append(got, fmt.Sprintf("%d:%s", r.Offset(), r.Row()[0].Text()))
		}
		return nil
	})
	return got, err
}

// nth makes a hook that acts on the n-th request of an API, counted from when the hook is made, and on those after it for as long as
// times says.
func nth(key msg.Key, n, times int, act flusstest.Action) func(flusstest.Request) flusstest.Action {
	seen := make(chan int, 1)
	seen <- 0
	return func(r flusstest.Request) flusstest.Action {
		if r.Key != key {
			return flusstest.Action{}
		}
		i := <-seen + 1
		seen <- i
		if i >= n && i < n+times {
			return act
		}
		return flusstest.Action{}
	}
}

const always = 1 << 30

// pipeServer is a server that a test writes by hand: it gets the server's end of each connection.
func pipeServer(serve func(net.Conn)) func(addr string) net.Conn {
	return func(string) net.Conn {
		client, server := net.Pipe()
		go serve(server)
		return client
	}
}

// emptyBatch is a batch without records, as the changelog of a table with a primary key has them. It takes one offset.
func emptyBatch(base int64) []byte {
	b := make([]byte, 48)
	le := binary.LittleEndian
	le.PutUint64(b, uint64(base))
	le.PutUint32(b[8:], 36)
	le.PutUint16(b[25:], 1)
	b[27] = 1
	le.PutUint64(b[32:], math.MaxUint64)
	le.PutUint32(b[40:], math.MaxUint32)
	le.PutUint32(b[21:], crc32.Checksum(b[25:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}
