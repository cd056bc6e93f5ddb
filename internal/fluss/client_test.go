package fluss_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

func TestDatabasesAndTables(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		ctx := t.Context()
		require.NoError(t, c.CreateDatabase(ctx, "db", false))
		require.Equal(t, msg.DatabaseAlreadyExist, fluss.CodeOf(c.CreateDatabase(ctx, "db", false)))
		require.NoError(t, c.CreateDatabase(ctx, "db", true))
		ok, err := c.DatabaseExists(ctx, "db")
		require.NoError(t, err)
		require.True(t, ok)
		p := fluss.Path{Database: "db", Table: "t"}
		_, err = c.Table(ctx, p)
		require.ErrorIs(t, err, &fluss.ServerError{Code: msg.TableNotExist})
		var all row.Schema
		for k := row.BOOLEAN; k <= row.BYTES; k++ {
			all = append(all, row.Column{Name: k.String(), Kind: k, Nullable: k%2 == 0})
		}
		d := fluss.TableDescriptor{
			Schema: all, PrimaryKey: []string{"BIGINT", "INT"}, BucketKey: []string{"INT"}, Buckets: 3, Comment: "c",
			Properties: map[string]string{"table.log.ttl": "0 ms", "table.replication.factor": "3"}, Custom: map[string]string{"owner": "me"},
		}
		require.NoError(t, c.CreateTable(ctx, p, d))
		require.Equal(t, msg.TableAlreadyExist, fluss.CodeOf(c.CreateTable(ctx, p, d)))
		ok, err = c.TableExists(ctx, p)
		require.NoError(t, err)
		require.True(t, ok)
		info, err := c.TableInfo(ctx, p)
		require.NoError(t, err)
		require.Equal(t, all, info.Schema)
		require.Equal(t, d.PrimaryKey, info.PrimaryKey)
		require.Equal(t, d.BucketKey, info.BucketKey)
		require.Equal(t, d.Properties, info.Properties)
		require.Equal(t, d.Custom, info.Custom)
		require.Equal(t, 3, info.Buckets)
		require.Equal(t, 3, info.Replicas())
		format, err := info.Format()
		require.NoError(t, err)
		require.Equal(t, record.Arrow, format)
		current, err := c.TableSchema(ctx, p, 0)
		require.NoError(t, err)
		require.Equal(t, all, current)
		table, err := c.Table(ctx, p)
		require.NoError(t, err)
		configs, err := table.ClusterConfigs(ctx, 2)
		require.NoError(t, err)
		require.Contains(t, configs, fluss.ClusterConfig{Key: "log.replica.min-in-sync-replicas-number", Value: "1", Source: "INITIAL_SERVER_CONFIG"})
		require.Equal(t, msg.DatabaseNotEmpty, fluss.CodeOf(c.DropDatabase(ctx, "db", false)))
		require.NoError(t, c.DropTable(ctx, p))
		require.Equal(t, msg.TableNotExist, fluss.CodeOf(c.DropTable(ctx, p)))
		require.NoError(t, c.DropDatabase(ctx, "db", false))
		require.Equal(t, msg.DatabaseNotExist, fluss.CodeOf(c.DropDatabase(ctx, "db", false)))
	})
}

func TestTheFakeAlsoListensOnTCP(t *testing.T) {
	fake, err := flusstest.NewFake(flusstest.FakeOptions{TCP: true})
	require.NoError(t, err)
	defer fake.Close()
	c := fluss.New(fluss.Options{Bootstrap: []string{fake.Bootstrap()}})
	defer c.Close()
	table, want := filled(t, c, 9)
	got, err := readAll(t, table, 0, 0, 9)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestACoordinatorThatDoesNotLeadIsPassedOver(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		// Right after its start a coordinator refuses everything but ApiVersions until its election is over.
		refused := 0
		fake.SetHook(func(r flusstest.Request) flusstest.Action {
			if r.Addr == fake.Bootstrap() && r.Key == msg.KeyCreateDatabase && refused < 3 {
				refused++
				return flusstest.Action{Skip: true, Code: msg.NotCoordinatorLeader}
			}
			return flusstest.Action{}
		})
		require.NoError(t, c.CreateDatabase(t.Context(), "db", false))
		require.Equal(t, 3, refused)
	})
}

func TestCreatingIsNotRepeatedWhenItMayHaveHappened(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		fake.SetHook(nth(msg.KeyCreateDatabase, 1, 1, flusstest.Action{Close: true}))
		err := c.CreateDatabase(t.Context(), "db", false)
		var transport *fluss.TransportError
		require.ErrorAs(t, err, &transport)
		require.True(t, transport.Sent)
		require.Equal(t, 1, fake.Count(msg.KeyCreateDatabase))
	})
}

func TestAWarmClientDoesNotNeedTheCoordinator(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table, want := filled(t, c, 3)
		fake.Stop(-1) // the coordinator
		_, err := table.Append(t.Context(), 0, one("a", 1))
		require.NoError(t, err)
		got, err := readAll(t, table, 0, 0, 3)
		require.NoError(t, err)
		require.Equal(t, want, got)
		fake.Move(wirePath(), 0, 1)
		_, err = table.Append(t.Context(), 0, one("a", 1))
		require.NoError(t, err, "tablet servers know the leaders too")
	})
}

func TestATableWithoutLeaderForAMomentIsWaitedFor(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		fake.SetHook(nth(msg.KeyGetMetadata, 1, 3, flusstest.Action{Edit: func(m msg.Message) {
			for i := range m.(*msg.MetadataResponse).Tables {
				m.(*msg.MetadataResponse).Tables[i].Buckets[0].Leader = nil
			}
		}}))
		base, err := table.Append(t.Context(), 0, one("a", 1))
		require.NoError(t, err)
		require.Zero(t, base)
	})
}

func TestAServerThatNeverHearsOfALeaderIsNotTheOnlyOneAsked(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		stale := "" // whichever is asked first
		fake.SetHook(func(r flusstest.Request) flusstest.Action {
			if r.Key != msg.KeyGetMetadata {
				return flusstest.Action{}
			}
			if stale == "" {
				stale = r.Addr
			}
			if r.Addr != stale {
				return flusstest.Action{}
			}
			return flusstest.Action{Edit: func(m msg.Message) {
				for i := range m.(*msg.MetadataResponse).Tables {
					m.(*msg.MetadataResponse).Tables[i].Buckets[0].Leader = nil
				}
			}}
		})
		_, err := table.Append(t.Context(), 0, one("a", 1))
		require.NoError(t, err)
	})
}

func TestATableThatMayNotBeSeenIsNotTakenForGone(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
		table := logTable(t, c, "ARROW")
		fake.SetHook(func(r flusstest.Request) flusstest.Action {
			switch r.Key {
			case msg.KeyGetMetadata:
				return flusstest.Action{Edit: func(m msg.Message) { m.(*msg.MetadataResponse).Tables = nil }}
			case msg.KeyGetTableInfo:
				return flusstest.Action{Skip: true, Code: msg.Authorization}
			}
			return flusstest.Action{}
		})
		_, err := table.Append(t.Context(), 0, one("a", 1))
		require.Equal(t, msg.Authorization, fluss.CodeOf(err))
		var changed *fluss.TableChangedError
		require.False(t, errors.As(err, &changed))
	})
}

func TestTablesThatThisClientCannotSpeakAreRefused(t *testing.T) {
	for why, doc := range map[string]string{
		"unknown type":      `{"schema":{"columns":[{"name":"a","data_type":{"type":"MAP"}}]},"partition_key":[],"bucket_count":1,"properties":{}}`,
		"unknown format":    `{"schema":{"columns":[{"name":"a","data_type":{"type":"STRING"}}]},"partition_key":[],"bucket_count":1,"properties":{"table.log.format":"COMPACTED"}}`,
		"partitions":        `{"schema":{"columns":[{"name":"a","data_type":{"type":"STRING"}}]},"partition_key":["a"],"bucket_count":1,"properties":{}}`,
		"no buckets":        `{"schema":{"columns":[{"name":"a","data_type":{"type":"STRING"}}]},"partition_key":[],"properties":{}}`,
		"buckets to no end": `{"schema":{"columns":[{"name":"a","data_type":{"type":"STRING"}}]},"partition_key":[],"bucket_count":2000000000,"properties":{}}`,
		"no columns":        `{"schema":{"columns":[]},"partition_key":[],"bucket_count":1,"properties":{}}`,
		"a key of no column": `{"schema":{"columns":[{"name":"a","data_type":{"type":"STRING"}}],"primary_key":["b"]},"partition_key":[],"bucket_count":1,` +
			`"properties":{}}`,
		"no JSON": `nothing`,
	} {
		t.Run(why, func(t *testing.T) {
			onFake(t, func(t *testing.T, fake *flusstest.Fake, c *fluss.Client) {
				logTable(t, c, "ARROW")
				fake.SetHook(nth(msg.KeyGetTableInfo, 1, always, flusstest.Action{Edit: func(m msg.Message) { m.(*msg.GetTableInfoResponse).JSON = []byte(doc) }}))
				_, err := c.Table(t.Context(), path)
				require.Error(t, err)
			})
		})
	}
}
