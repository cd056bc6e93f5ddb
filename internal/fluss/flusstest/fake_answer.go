package flusstest

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// answerLocked gives a request its effect and answers it. A code means that the request fails as a whole.
func (f *Fake) answerLocked(n *node, req msg.Request) (msg.Message, msg.Code, string) {
	switch m := req.(type) {
	case *msg.ApiVersionsRequest:
		return n.apis(), 0, ""
	case *msg.MetadataRequest:
		return f.metadata(m)
	case *msg.CreateDatabaseRequest:
		if f.dbs[m.Name] && !m.IgnoreIfExists {
			return nil, msg.DatabaseAlreadyExist, m.Name
		}
		f.dbs[m.Name] = true
		return &msg.Empty{}, 0, ""
	case *msg.DropDatabaseRequest:
		return f.dropDatabase(m)
	case *msg.DatabaseExistsRequest:
		return &msg.ExistsResponse{Exists: f.dbs[m.Name]}, 0, ""
	case *msg.CreateTableRequest:
		return f.createTable(m)
	case *msg.DropTableRequest:
		if f.tables[m.Path] == nil && !m.IgnoreIfNotExist {
			return nil, msg.TableNotExist, m.Path.Table
		}
		delete(f.tables, m.Path)
		return &msg.Empty{}, 0, ""
	case *msg.TableExistsRequest:
		return &msg.ExistsResponse{Exists: f.tables[m.Path] != nil}, 0, ""
	case *msg.GetTableInfoRequest:
		t := f.tables[m.Path]
		if t == nil {
			return nil, msg.TableNotExist, m.Path.Table
		}
		return &msg.GetTableInfoResponse{
			TableID: t.id, SchemaID: t.schemaID, JSON: t.describe(), Created: t.created, Modified: t.created,
		}, 0, ""
	case *msg.GetTableSchemaRequest:
		return f.schema(m)
	case *msg.DescribeClusterConfigsRequest:
		return &msg.DescribeClusterConfigsResponse{Configs: []msg.ClusterConfig{
			{Key: "log.replica.min-in-sync-replicas-number", Value: "1", Source: "INITIAL_SERVER_CONFIG"},
		}}, 0, ""
	case *msg.InitWriterRequest:
		f.writer++
		return &msg.InitWriterResponse{WriterID: f.writer - 1}, 0, "" // the first id of a cluster is 0
	case *msg.ProduceLogRequest:
		return f.produce(n, m), 0, ""
	case *msg.PutKvRequest:
		return f.put(n, m), 0, ""
	case *msg.LookupRequest:
		return f.lookup(n, m), 0, ""
	case *msg.LimitScanRequest:
		return f.scan(n, m), 0, ""
	case *msg.ListOffsetsRequest:
		return f.offsets(m), 0, ""
	}
	return nil, msg.UnknownServerError, fmt.Sprintf("the fake has no answer to %T", req)
}

func (n *node) apis() msg.Message {
	out := &msg.ApiVersionsResponse{ServerType: msg.ServerTypeCoordinator}
	if n.tablet {
		out.ServerType = msg.ServerTypeTablet
	}
	msg.Keys(func(k msg.Key) bool {
		if n.serves(k) {
			v, _ := k.MaxVersion()
			out.APIs = append(out.APIs, msg.ApiVersion{Key: k, Max: int32(v)})
		}
		return true
	})
	return out
}

func (n *node) wire() msg.ServerNode {
	host, port, _ := net.SplitHostPort(n.addr)
	p, _ := strconv.Atoi(port)
	return msg.ServerNode{ID: n.id, Host: host, Port: int32(p)}
}

func (f *Fake) metadata(m *msg.MetadataRequest) (msg.Message, msg.Code, string) {
	coordinator := f.nodes[0].wire()
	out := &msg.MetadataResponse{Coordinator: &coordinator}
	for _, n := range f.nodes[1:] {
		if !n.down {
			out.Tablets = append(out.Tablets, n.wire())
		}
	}
	for _, path := range m.Tables {
		t := f.tables[path]
		if t == nil {
			return nil, msg.UnknownServerError, "Failed to get tables " + path.Table
		}
		tm := msg.TableMetadata{Path: path, TableID: t.id, SchemaID: t.schemaID, JSON: t.describe(), Created: t.created, Modified: t.created}
		for i, b := range t.buckets {
			bm := msg.BucketMetadata{Bucket: int32(i), Replicas: []int32{b.leader}}
			if b.leader >= 0 {
				leader := b.leader
				bm.Leader = &leader
			}
			tm.Buckets = append(tm.Buckets, bm)
		}
		out.Tables = append(out.Tables, tm)
	}
	return out, 0, ""
}

func (f *Fake) dropDatabase(m *msg.DropDatabaseRequest) (msg.Message, msg.Code, string) {
	if !f.dbs[m.Name] && !m.IgnoreIfNotExist {
		return nil, msg.DatabaseNotExist, m.Name
	}
	for path := range f.tables {
		if path.Database != m.Name {
			continue
		}
		if !m.Cascade {
			return nil, msg.DatabaseNotEmpty, m.Name
		}
		delete(f.tables, path)
	}
	delete(f.dbs, m.Name)
	return &msg.Empty{}, 0, ""
}

func (f *Fake) createTable(m *msg.CreateTableRequest) (msg.Message, msg.Code, string) {
	if !f.dbs[m.Path.Database] {
		return nil, msg.DatabaseNotExist, m.Path.Database
	}
	if f.tables[m.Path] != nil {
		if m.IgnoreIfExists {
			return &msg.Empty{}, 0, ""
		}
		return nil, msg.TableAlreadyExist, m.Path.Table
	}
	t := &fakeTable{schemas: map[int32]json.RawMessage{}, created: time.Now().UnixMilli()}
	if err := t.parse(m.JSON); err != nil {
		return nil, msg.InvalidTable, err.Error()
	}
	t.id = f.tableID
	f.tableID++
	for i := range t.buckets {
		t.buckets[i] = newFakeBucket(int32(i % f.o.Tablets))
	}
	f.tables[m.Path] = t
	return &msg.Empty{}, 0, ""
}

func (f *Fake) schema(m *msg.GetTableSchemaRequest) (msg.Message, msg.Code, string) {
	t := f.tables[m.Path]
	if t == nil {
		return nil, msg.TableNotExist, m.Path.Table
	}
	id := m.SchemaID
	if id == 0 {
		id = t.schemaID
	}
	doc, ok := t.schemas[id]
	if !ok {
		return nil, msg.SchemaNotExist, strconv.Itoa(int(id))
	}
	return &msg.GetTableSchemaResponse{SchemaID: id, JSON: doc}, 0, ""
}

// bucket finds a bucket that the node leads, or says why it does not.
func (f *Fake) bucket(n *node, table int64, bucket int32) (*fakeTable, *fakeBucket, msg.Failure) {
	for _, t := range f.tables {
		if t.id != table || bucket < 0 || int(bucket) >= len(t.buckets) {
			continue
		}
		b := t.buckets[bucket]
		if b.leader != n.id {
			return nil, nil, msg.Failure{Code: msg.NotLeaderOrFollower, Message: "not the leader"}
		}
		return t, b, msg.Failure{}
	}
	return nil, nil, msg.Failure{Code: msg.UnknownTableOrBucket, Message: "this server does not know this table ID"}
}

func (f *Fake) produce(n *node, m *msg.ProduceLogRequest) msg.Message {
	out := &msg.ProduceLogResponse{}
	for _, req := range m.Buckets {
		res := msg.ProduceLogResult{Bucket: req.Bucket, BaseOffset: -1}
		_, b, fail := f.bucket(n, m.TableID, req.Bucket)
		if res.Failure = fail; b != nil {
			res.BaseOffset, res.Code = b.produce(req.Records)
		}
		out.Buckets = append(out.Buckets, res)
	}
	return out
}

// fetchLocked answers a fetch as things stand. some is false when there is nothing to say yet; changed is then closed when there may be.
func (f *Fake) fetchLocked(n *node, m *msg.FetchLogRequest) (out *msg.FetchLogResponse, changed <-chan struct{}, some bool) {
	out = &msg.FetchLogResponse{}
	for _, t := range m.Tables {
		tr := msg.FetchLogTableResult{TableID: t.TableID}
		for _, req := range t.Buckets {
			res := msg.FetchLogResult{Bucket: req.Bucket, HighWatermark: -1}
			_, b, fail := f.bucket(n, t.TableID, req.Bucket)
			if res.Failure = fail; b != nil {
				res.Records, res.Code = b.fetch(req.Offset, int(min(req.MaxBytes, m.MaxBytes)))
				res.HighWatermark, changed = b.next, b.changed
			}
			some = some || res.Code != msg.None || len(res.Records) > 0
			tr.Buckets = append(tr.Buckets, res)
		}
		out.Tables = append(out.Tables, tr)
	}
	return out, changed, some
}

// offsets does not ask who leads, as a real server does not.
func (f *Fake) offsets(m *msg.ListOffsetsRequest) msg.Message {
	out := &msg.ListOffsetsResponse{}
	for _, id := range m.Buckets {
		res := msg.ListOffsetsResult{Bucket: id, Offset: -1, Failure: msg.Failure{Code: msg.UnknownTableOrBucket}}
		for _, t := range f.tables {
			if t.id == m.TableID && id >= 0 && int(id) < len(t.buckets) {
				res.Failure, res.Offset = msg.Failure{}, t.buckets[id].next
				if m.Type == msg.OffsetEarliest {
					res.Offset = t.buckets[id].start
				}
			}
		}
		out.Buckets = append(out.Buckets, res)
	}
	slices.Reverse(out.Buckets) // the order is not kept
	return out
}
