package flussstore_test

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/row"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

// nine are the columns of a fit table.
func nine() row.Schema {
	var s row.Schema
	for _, name := range []string{
		"job_id", "event_id", "attempt", "step", "event_type", "action_id", "payload_digest", "emitted_at_ms", "detail",
	} {
		kind := row.STRING
		switch name {
		case "attempt", "step":
			kind = row.INT
		case "emitted_at_ms":
			kind = row.BIGINT
		}
		s = append(s, row.Column{Name: name, Kind: kind, Nullable: true})
	}
	return s
}

func wideRow() []row.Value {
	s := row.String("x")
	return []row.Value{s, s, row.Int(1), row.Int(1), s, s, s, row.Bigint(1), s, s}
}

// schemaOf takes the schema out of a table's JSON.
func schemaOf(t *testing.T, doc []byte) string {
	t.Helper()
	var table struct {
		Schema json.RawMessage `json:"schema"`
	}
	require.NoError(t, json.Unmarshal(doc, &table))
	return string(table.Schema)
}

func TestOpenRefusesATableThatCouldLoseOrHideHistory(t *testing.T) {
	fit := map[string]string{
		"table.log.ttl": "0 ms", "table.log.tiered.local-segments": "2147483647", "table.datalake.enabled": "false",
	}
	with := func(key, value string) func(*fluss.TableDescriptor) {
		return func(d *fluss.TableDescriptor) { d.Properties[key] = value }
	}
	for name, tt := range map[string]struct {
		what   string // the part that is refused; empty where the table is fit
		change func(d *fluss.TableDescriptor)
	}{
		"fit":                    {"", func(d *fluss.TableDescriptor) {}},
		"fit, ttl 0ms":           {"", with("table.log.ttl", "0ms")},
		"fit, ttl 0 d":           {"", with("table.log.ttl", "0 d")},
		"fit, local ttl 0s":      {"", with("table.log.local-ttl", "0s")},
		"fit, indexed":           {"", with("table.log.format", "INDEXED")},
		"fit, custom properties": {"", func(d *fluss.TableDescriptor) { d.Custom = map[string]string{"team": "billing"} }},
		"ttl missing":            {"table.log.ttl", func(d *fluss.TableDescriptor) { delete(d.Properties, "table.log.ttl") }},
		"ttl 7d":                 {"table.log.ttl", with("table.log.ttl", "7d")},
		"ttl 1ms":                {"table.log.ttl", with("table.log.ttl", "1ms")},
		"ttl without a number":   {"table.log.ttl", with("table.log.ttl", "ms")},
		"local ttl of 1.0":       {"table.log.local-ttl", with("table.log.local-ttl", "1 h")},
		"lake":                   {"table.datalake.enabled", with("table.datalake.enabled", "true")},
		"local segments missing": {"table.log.tiered.local-segments", func(d *fluss.TableDescriptor) { delete(d.Properties, "table.log.tiered.local-segments") }},
		"few local segments":     {"table.log.tiered.local-segments", with("table.log.tiered.local-segments", "1000")},
		"a column less":          {"columns", func(d *fluss.TableDescriptor) { d.Schema = d.Schema[:8] }},
		"a column more": {"columns", func(d *fluss.TableDescriptor) {
			d.Schema = append(d.Schema, row.Column{Name: "more", Kind: row.INT, Nullable: true})
		}},
		"other order":      {"columns", func(d *fluss.TableDescriptor) { d.Schema[2], d.Schema[3] = d.Schema[3], d.Schema[2] }},
		"other type":       {"columns", func(d *fluss.TableDescriptor) { d.Schema[2].Kind = row.BIGINT }},
		"other name":       {"columns", func(d *fluss.TableDescriptor) { d.Schema[8].Name = "payload" }},
		"primary key":      {"primary key", func(d *fluss.TableDescriptor) { d.PrimaryKey = []string{"job_id"}; d.Schema[0].Nullable = false }},
		"other bucket key": {"bucket.key", func(d *fluss.TableDescriptor) { d.BucketKey = []string{"event_id"} }},
		"unknown format":   {"description", with("table.log.format", "PARQUET")},
	} {
		t.Run(name, func(t *testing.T) {
			withFake(t, flusstest.FakeOptions{}, func(t *testing.T, fake *flusstest.Fake) {
				d := fluss.TableDescriptor{Schema: nine(), BucketKey: []string{"job_id"}, Buckets: 2, Properties: maps.Clone(fit)}
				tt.change(&d)
				c := fluss.New(fluss.Options{Bootstrap: []string{fake.Bootstrap()}, Dial: fake.Dial})
				defer c.Close()
				require.NoError(t, c.CreateDatabase(t.Context(), logPath.Database, true))
				require.NoError(t, c.CreateTable(t.Context(), fluss.Path(logPath), d))
				refused(t, fake, tt.what)
			})
		})
	}
	for name, edit := range map[string]func(doc map[string]any){
		"partitioned": func(doc map[string]any) { doc["partition_key"] = []string{"job_id"} },
		"a column of a type that no event has": func(doc map[string]any) {
			columns := doc["schema"].(map[string]any)["columns"].([]any)
			columns[7].(map[string]any)["data_type"] = map[string]any{"type": "TIMESTAMP_WITH_LOCAL_TIME_ZONE", "precision": 3}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFake(t, flusstest.FakeOptions{}, func(t *testing.T, fake *flusstest.Fake) {
				st, err := flussstore.Open(t.Context(), fake.Bootstrap(), &flussstore.Options{Create: true, Dial: fake.Dial})
				require.NoError(t, err)
				require.NoError(t, st.Close())
				fake.SetHook(on(msg.KeyGetTableInfo, flusstest.Action{Edit: func(m msg.Message) {
					answer := m.(*msg.GetTableInfoResponse)
					var doc map[string]any
					require.NoError(t, json.Unmarshal(answer.JSON, &doc))
					edit(doc)
					answer.JSON, err = json.Marshal(doc)
					require.NoError(t, err)
				}}))
				refused(t, fake, "description")
			})
		})
	}
}

// refused opens the log and expects it to be unfit for what, or fit where that is empty.
func refused(t *testing.T, fake *flusstest.Fake, what string) {
	t.Helper()
	st, err := flussstore.Open(t.Context(), fake.Bootstrap(), &flussstore.Options{Create: true, Dial: fake.Dial})
	if what == "" {
		require.NoError(t, err)
		put(t, st, 0, 0, 1)
		require.NoError(t, st.Close())
		return
	}
	var unfit *flussstore.UnfitError
	require.ErrorAs(t, err, &unfit)
	require.ErrorIs(t, err, flussstore.ErrUnfit)
	require.Equal(t, what, unfit.What)
}

func TestOpenNeverCreatesSilently(t *testing.T) {
	withFake(t, flusstest.FakeOptions{}, func(t *testing.T, fake *flusstest.Fake) {
		_, err := flussstore.Open(t.Context(), fake.Bootstrap(), &flussstore.Options{Dial: fake.Dial})
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Zero(t, fake.Count(msg.KeyCreateTable))
	})
}

func TestOpenRefusesALogWithoutItsBeginning(t *testing.T) {
	onFake(t, func(t *testing.T, fake *flusstest.Fake, st *flussstore.Store) {
		put(t, st, 1, 0, 5)
		fake.Trim(logPath, 1, 3)
		_, err := flussstore.Open(t.Context(), fake.Bootstrap(), &flussstore.Options{Dial: fake.Dial})
		require.ErrorIs(t, err, store.ErrPrefixMissing)
	})
}

func TestOpenFindsTheLeadingCoordinatorOfOneDotZero(t *testing.T) {
	withFake(t, flusstest.FakeOptions{}, func(t *testing.T, fake *flusstest.Fake) {
		fake.SetHook(once(msg.KeyCreateTable, flusstest.Action{Skip: true, Code: msg.NotCoordinatorLeader}))
		st, err := flussstore.Open(t.Context(), fake.Bootstrap(), &flussstore.Options{Create: true, Dial: fake.Dial})
		require.NoError(t, err)
		require.NoError(t, st.Close())
		require.Equal(t, 2, fake.Count(msg.KeyCreateTable))
	})
}

func TestAClusterThatDoesNotAnswerIsNotAMissingLog(t *testing.T) {
	withFake(t, flusstest.FakeOptions{}, func(t *testing.T, fake *flusstest.Fake) {
		fake.SetHook(on(msg.KeyGetTableInfo, flusstest.Action{DropRequest: true}))
		began := time.Now()
		_, err := flussstore.Open(t.Context(), fake.Bootstrap(), &flussstore.Options{Dial: fake.Dial})
		require.Error(t, err)
		require.NotErrorIs(t, err, store.ErrNotFound)
		require.NotErrorIs(t, err, flussstore.ErrUnfit)
		require.LessOrEqual(t, time.Since(began), 2*time.Minute)
	})
}

func TestDurabilityCanBeRequired(t *testing.T) {
	withFake(t, flusstest.FakeOptions{}, func(t *testing.T, fake *flusstest.Fake) {
		answer := []msg.ClusterConfig{
			{Key: "log.replica.min-in-sync-replicas-number", Value: "2"}, {Key: "log.flush.interval-messages", Value: "1"},
		}
		fake.SetHook(on(msg.KeyDescribeClusterConfigs, flusstest.Action{Edit: func(m msg.Message) {
			m.(*msg.DescribeClusterConfigsResponse).Configs = answer
		}}))
		open := func(d flussstore.Durability) (*flussstore.Store, error) {
			return flussstore.Open(t.Context(), fake.Bootstrap(), &flussstore.Options{Create: true, Replicas: 3, Dial: fake.Dial, Require: d})
		}
		st, err := open(flussstore.Durability{Replicas: 3, MinISR: 2, FlushEvery: 1, Verified: true})
		require.NoError(t, err)
		require.Equal(t, flussstore.Durability{Replicas: 3, MinISR: 2, FlushEvery: 1, Verified: true}, st.Durability())
		require.Equal(t, "3 replicas, at least 2 in sync, flushed every 1 records, verified: true", st.Durability().String())
		require.NoError(t, st.Close())

		_, err = open(flussstore.Durability{Replicas: 4})
		require.ErrorIs(t, err, store.ErrNotDurableEnough)
		answer = answer[:1]
		_, err = open(flussstore.Durability{FlushEvery: 1})
		require.ErrorIs(t, err, store.ErrNotDurableEnough)
		fake.SetHook(on(msg.KeyDescribeClusterConfigs, flusstest.Action{Skip: true, Code: msg.Authorization}))
		_, err = open(flussstore.Durability{MinISR: 2})
		require.ErrorIs(t, err, store.ErrNotDurableEnough, "what cannot be verified counts as not met")
		st, err = open(flussstore.Durability{})
		require.NoError(t, err)
		require.False(t, st.Durability().Verified)
		require.NoError(t, st.Close())
	})
}

func TestDurabilityIsThatOfTheWeakestLeader(t *testing.T) {
	withFake(t, flusstest.FakeOptions{Tablets: 3}, func(t *testing.T, fake *flusstest.Fake) {
		settings := map[string][2]string{fake.Tablet(0): {"2", "1"}, fake.Tablet(1): {"3", "10"}, fake.Tablet(2): {"2", "5"}}
		fake.SetHook(func(r flusstest.Request) flusstest.Action {
			if r.Key != msg.KeyDescribeClusterConfigs {
				return flusstest.Action{}
			}
			return flusstest.Action{Edit: func(m msg.Message) {
				m.(*msg.DescribeClusterConfigsResponse).Configs = []msg.ClusterConfig{
					{Key: "log.replica.min-in-sync-replicas-number", Value: settings[r.Addr][0]},
					{Key: "log.flush.interval-messages", Value: settings[r.Addr][1]},
				}
			}}
		})
		open := func() flussstore.Durability {
			o := flussstore.Options{Create: true, Buckets: 3, Replicas: 3, Dial: fake.Dial}
			st, err := flussstore.Open(t.Context(), fake.Bootstrap(), &o)
			require.NoError(t, err)
			defer st.Close()
			return st.Durability()
		}
		require.Equal(t, flussstore.Durability{Replicas: 3, MinISR: 2, FlushEvery: 10, Verified: true}, open())
		settings[fake.Tablet(1)] = [2]string{"1", "9223372036854775807"}
		require.Equal(t, flussstore.Durability{Replicas: 3, MinISR: 1, Verified: true}, open())
	})
}

func TestAPasswordDoesNotCrossANetworkInClear(t *testing.T) {
	withFake(t, flusstest.FakeOptions{Users: map[string]string{"worker": "secret"}}, func(t *testing.T, fake *flusstest.Fake) {
		o := flussstore.Options{Create: true, User: "worker", Password: "secret"}
		// The fake stands at an address that is no loopback.
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return fake.Dial(ctx, network, fake.Bootstrap())
		}
		_, err := flussstore.Open(t.Context(), "fluss.example:9123", &o)
		require.ErrorIs(t, err, fluss.ErrPlaintextCredentials)
		require.Zero(t, fake.Count(msg.KeyAuthenticate), "the password stays here")
		require.NotContains(t, err.Error(), "secret")

		o.Dial = fake.Dial
		st, err := flussstore.Open(t.Context(), fake.Bootstrap(), &o)
		require.NoError(t, err)
		put(t, st, 0, 0, 1)
		require.NoError(t, st.Close())
		o.Password = "guess"
		_, err = flussstore.Open(t.Context(), fake.Bootstrap(), &o)
		require.Equal(t, msg.Authenticate, fluss.CodeOf(err))
	})
}
