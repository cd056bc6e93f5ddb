package fluss_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// onCluster returns a client of the shared real cluster and a database of the test's own.
func onCluster(t *testing.T, o fluss.Options) (*fluss.Client, string) {
	t.Helper()
	o.Bootstrap = []string{flusstest.SharedCluster(t).Bootstrap()}
	c := fluss.New(o)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	db := "db" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "_"))
	require.NoError(t, c.CreateDatabase(t.Context(), db, false))
	return c, db
}

func newTable(t *testing.T, c *fluss.Client, p fluss.Path, d fluss.TableDescriptor) *fluss.Table {
	t.Helper()
	require.NoError(t, c.CreateTable(t.Context(), p, d))
	table, err := c.Table(t.Context(), p)
	require.NoError(t, err)
	return table
}

func TestClusterKeepsWhatWasAppended(t *testing.T) {
	c, db := onCluster(t, fluss.Options{FetchBytes: 4000})
	for _, properties := range []map[string]string{
		{"table.log.format": "ARROW", "table.log.arrow.compression.type": "NONE", "table.log.ttl": "0 ms"},
		{"table.log.format": "INDEXED", "table.log.ttl": "0 ms"},
	} {
		format := properties["table.log.format"]
		table := newTable(t, c, fluss.Path{Database: db, Table: "log_" + format}, fluss.TableDescriptor{
			Schema: schema, BucketKey: []string{"id"}, Buckets: 2, Properties: properties,
		})
		require.Equal(t, schema, table.Info().Schema)
		require.Equal(t, 1, table.Info().Replicas())
		var want []string
		for i := range 300 {
			rows := one(fmt.Sprint("r", len(want)), int64(i))
			want = append(want, fmt.Sprintf("%d:r%d", len(want), len(want)))
			if i%7 == 0 {
				rows = append(rows, row.String(fmt.Sprint("r", len(want))), row.Value{})
				want = append(want, fmt.Sprintf("%d:r%d", len(want), len(want)))
			}
			base, err := table.Append(t.Context(), 1, rows)
			require.NoError(t, err)
			require.EqualValues(t, len(want)-len(rows)/2, base)
		}
		got, err := readAll(t, table, 1, 0, int64(len(want)))
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = readAll(t, table, 1, 33, 77)
		require.NoError(t, err)
		require.Equal(t, want[33:77], got)
		first, err := table.Offset(t.Context(), 1, fluss.Earliest)
		require.NoError(t, err)
		require.Zero(t, first)
		last, err := table.Offset(t.Context(), 1, fluss.Latest)
		require.NoError(t, err)
		require.EqualValues(t, len(want), last)
		_, err = readAll(t, table, 1, int64(len(want))+5, int64(len(want))+6)
		var failed *fluss.ReadError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, fluss.OutOfRange, failed.Reason)
		configs, err := table.ClusterConfigs(t.Context(), 1)
		require.NoError(t, err)
		require.NotEmpty(t, configs)
	}
}

// cutting is a dialler whose connections end every now and then, after a write and before the answer.
type cutting struct{ writes, cuts atomic.Int64 }

func (d *cutting) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	return &cutConn{nc, d}, err
}

type cutConn struct {
	net.Conn
	d *cutting
}

func (c *cutConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.d.writes.Add(1)%9 == 0 {
		c.d.cuts.Add(1)
		_ = c.Conn.(*net.TCPConn).CloseWrite() // the request arrives; the connection ends
		_ = c.Conn.Close()
	}
	return n, err
}

func TestClusterStoresOnceThoughConnectionsEnd(t *testing.T) {
	d := &cutting{}
	c := fluss.New(fluss.Options{Bootstrap: []string{flusstest.SharedCluster(t).Bootstrap()}, Dial: d.dial})
	defer c.Close()
	table := newTable(t, c, fluss.Path{Database: "fluss", Table: "cut"}, fluss.TableDescriptor{Schema: schema, BucketKey: []string{"id"}, Buckets: 1})
	var wg sync.WaitGroup
	const callers, each = 8, 20
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				if _, err := table.Append(t.Context(), 0, one(fmt.Sprint(i, "/", j), 0)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := readAll(t, table, 0, 0, callers*each)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, r := range got {
		_, id, _ := strings.Cut(r, ":")
		require.False(t, seen[id], "%s is stored twice", id)
		seen[id] = true
	}
	require.Len(t, seen, callers*each)
	require.GreaterOrEqual(t, d.cuts.Load(), int64(3))
	last, err := table.Offset(t.Context(), 0, fluss.Latest)
	require.NoError(t, err)
	require.EqualValues(t, callers*each, last)
}

func TestClusterTable(t *testing.T) {
	c, db := onCluster(t, fluss.Options{})
	p := fluss.Path{Database: db, Table: "t"}
	d := fluss.TableDescriptor{Schema: schema, BucketKey: []string{"id"}, Buckets: 1}
	_, err := c.Table(t.Context(), p)
	require.Equal(t, msg.TableNotExist, fluss.CodeOf(err))
	table := newTable(t, c, p, d)
	require.Equal(t, msg.TableAlreadyExist, fluss.CodeOf(c.CreateTable(t.Context(), p, d)))
	require.Equal(t, msg.DatabaseAlreadyExist, fluss.CodeOf(c.CreateDatabase(t.Context(), db, false)))
	bad := d
	bad.Properties = map[string]string{"table.no.such": "1"}
	require.Equal(t, msg.InvalidConfig, fluss.CodeOf(c.CreateTable(t.Context(), fluss.Path{Database: db, Table: "bad"}, bad)))
	_, err = table.Append(t.Context(), 0, one("a", 1))
	require.NoError(t, err)
	require.NoError(t, c.DropTable(t.Context(), p))
	newTable(t, c, p, d)
	require.Eventually(t, func() bool { // the tablet server learns of the drop a little later
		_, err = table.Append(t.Context(), 0, one("b", 2))
		return err != nil
	}, time.Minute, 10*time.Millisecond)
	var changed *fluss.TableChangedError
	require.ErrorAs(t, err, &changed)
	_, err = readAll(t, table, 0, 0, 1)
	require.ErrorAs(t, err, &changed)
	require.NoError(t, c.DropDatabase(t.Context(), db, true))
	ok, err := c.DatabaseExists(t.Context(), db)
	require.NoError(t, err)
	require.False(t, ok)
}

func TestClusterPrimaryKeyTable(t *testing.T) {
	c, db := onCluster(t, fluss.Options{})
	table := newTable(t, c, fluss.Path{Database: db, Table: "pk"}, fluss.TableDescriptor{Schema: schema, PrimaryKey: []string{"id"}, Buckets: 3})
	var rows []row.Value
	for i := range 30 {
		rows = append(rows, one(fmt.Sprint("k", i), int64(i))...)
	}
	require.NoError(t, table.Put(t.Context(), rows))
	require.NoError(t, table.Put(t.Context(), one("k7", 700)))
	require.NoError(t, table.Delete(t.Context(), []row.Value{row.String("k8"), {}}))
	for i := range 30 {
		got, err := table.Lookup(t.Context(), []row.Value{row.String(fmt.Sprint("k", i)), {}})
		require.NoError(t, err)
		switch i {
		case 7:
			require.Equal(t, one("k7", 700), got)
		case 8:
			require.Nil(t, got)
		default:
			require.Equal(t, one(fmt.Sprint("k", i), int64(i)), got)
		}
	}
	all := 0
	for b := range 3 {
		rows, err := table.LimitScan(t.Context(), b, math.MaxInt32)
		require.NoError(t, err)
		all += len(rows)
	}
	require.Equal(t, 29, all)
}

func TestClusterAuthenticates(t *testing.T) {
	cluster := flusstest.NewCluster(t, flusstest.ClusterOptions{Users: map[string]string{"worker": "s3cret"}, QuickStart: true})
	for _, password := range []fluss.Password{"s3cret", "guess"} {
		c := fluss.New(fluss.Options{
			Bootstrap: []string{cluster.SASLBootstrap()}, Credentials: &fluss.Credentials{User: "worker", Password: password},
		})
		p := fluss.Path{Database: "fluss", Table: "auth"}
		err := c.CreateTable(t.Context(), p, fluss.TableDescriptor{Schema: schema, BucketKey: []string{"id"}, Buckets: 1})
		if password == "guess" {
			require.Equal(t, msg.Authenticate, fluss.CodeOf(err))
		} else {
			require.NoError(t, err)
			table, err := c.Table(t.Context(), p)
			require.NoError(t, err)
			_, err = table.Append(t.Context(), 0, one("a", 1))
			require.NoError(t, err)
		}
		require.NoError(t, c.Close())
	}
}
