package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// MetadataRequest asks any server for the servers of the cluster and the leaders of tables. One unknown table makes the whole request
// fail with UnknownServerError; a table that the user may not see is left out of the answer.
type MetadataRequest struct {
	Tables []TablePath
}

// Key implements Request.
func (*MetadataRequest) Key() Key { return KeyGetMetadata }

// Append implements Message.
func (m *MetadataRequest) Append(b []byte) []byte {
	for i := range m.Tables {
		b = nested(b, 1, &m.Tables[i])
	}
	return b
}

// Decode implements Message.
func (m *MetadataRequest) Decode(b []byte) error {
	*m = MetadataRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			var p TablePath
			r.Check(p.Decode(r.Message()))
			m.Tables = append(m.Tables, p)
		}
	}
	return r.Done()
}

// MetadataResponse names the servers by the addresses of the listener that was asked.
type MetadataResponse struct {
	Coordinator *ServerNode // nil while there is none
	Tablets     []ServerNode
	Tables      []TableMetadata
}

// Append implements Message.
func (m *MetadataResponse) Append(b []byte) []byte {
	if m.Coordinator != nil {
		b = nested(b, 1, m.Coordinator)
	}
	for i := range m.Tablets {
		b = nested(b, 2, &m.Tablets[i])
	}
	for i := range m.Tables {
		b = nested(b, 3, &m.Tables[i])
	}
	return b
}

// Decode implements Message.
func (m *MetadataResponse) Decode(b []byte) error {
	*m = MetadataResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Coordinator = new(ServerNode)
			r.Check(m.Coordinator.Decode(r.Message()))
		case 2:
			var n ServerNode
			r.Check(n.Decode(r.Message()))
			m.Tablets = append(m.Tablets, n)
		case 3:
			var t TableMetadata
			r.Check(t.Decode(r.Message()))
			m.Tables = append(m.Tables, t)
		}
	}
	return r.Done()
}

// TableMetadata is where a table's buckets are.
type TableMetadata struct {
	Path              TablePath
	TableID           int64
	SchemaID          int32
	JSON              []byte
	Buckets           []BucketMetadata
	Created, Modified int64
}

// Append implements Message.
func (m *TableMetadata) Append(b []byte) []byte {
	b = nested(b, 1, &m.Path)
	b = wire.AppendInt64(b, 2, m.TableID)
	b = wire.AppendInt32(b, 3, m.SchemaID)
	b = wire.AppendBytes(b, 4, m.JSON)
	for i := range m.Buckets {
		b = nested(b, 5, &m.Buckets[i])
	}
	b = wire.AppendInt64(b, 6, m.Created)
	return wire.AppendInt64(b, 7, m.Modified)
}

// Decode implements Message.
func (m *TableMetadata) Decode(b []byte) error {
	*m = TableMetadata{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			r.Check(m.Path.Decode(r.Message()))
		case 2:
			m.TableID = r.Int64()
		case 3:
			m.SchemaID = r.Int32()
		case 4:
			m.JSON = r.Bytes()
		case 5:
			var k BucketMetadata
			r.Check(k.Decode(r.Message()))
			m.Buckets = append(m.Buckets, k)
		case 6:
			m.Created = r.Int64()
		case 7:
			m.Modified = r.Int64()
		}
	}
	return r.Done(1, 2, 3)
}

// BucketMetadata is where one bucket is.
type BucketMetadata struct {
	Bucket   int32
	Leader   *int32 // nil while one is elected
	Replicas []int32
	Epoch    int32 // of the leader; informative, no request carries it
}

// Append implements Message.
func (m *BucketMetadata) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 1, m.Bucket)
	if m.Leader != nil {
		b = wire.AppendInt32(b, 2, *m.Leader)
	}
	b = wire.AppendInt32s(b, 3, m.Replicas)
	return wire.AppendInt32(b, 4, m.Epoch)
}

// Decode implements Message.
func (m *BucketMetadata) Decode(b []byte) error {
	*m = BucketMetadata{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Bucket = r.Int32()
		case 2:
			id := r.Int32()
			m.Leader = &id
		case 3:
			m.Replicas = r.Int32s(m.Replicas)
		case 4:
			m.Epoch = r.Int32()
		}
	}
	return r.Done(1)
}
