package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// LookupRequest asks the leaders of buckets for rows by their encoded primary key.
type LookupRequest struct {
	TableID int64
	Buckets []LookupBucket
}

// Key implements Request.
func (*LookupRequest) Key() Key { return KeyLookup }

// Append implements Message.
func (m *LookupRequest) Append(b []byte) []byte {
	b = wire.AppendInt64(b, 1, m.TableID)
	for i := range m.Buckets {
		b = nested(b, 2, &m.Buckets[i])
	}
	return b
}

// Decode implements Message.
func (m *LookupRequest) Decode(b []byte) error {
	*m = LookupRequest{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.TableID = r.Int64()
		case 2:
			var k LookupBucket
			r.Check(k.Decode(r.Message()))
			m.Buckets = append(m.Buckets, k)
		}
	}
	return r.Done(1)
}

// LookupBucket is the keys of one bucket.
type LookupBucket struct {
	Bucket int32
	Keys   [][]byte
}

// Append implements Message.
func (m *LookupBucket) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 2, m.Bucket)
	for _, k := range m.Keys {
		b = wire.AppendBytes(b, 3, k)
	}
	return b
}

// Decode implements Message.
func (m *LookupBucket) Decode(b []byte) error {
	*m = LookupBucket{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 2:
			m.Bucket = r.Int32()
		case 3:
			m.Keys = append(m.Keys, r.Bytes())
		}
	}
	return r.Done(2)
}

// LookupResponse answers per bucket.
type LookupResponse struct {
	Buckets []LookupResult
}

// Append implements Message.
func (m *LookupResponse) Append(b []byte) []byte { return appendAll(b, m.Buckets) }

// Decode implements Message.
func (m *LookupResponse) Decode(b []byte) (err error) {
	m.Buckets, err = decodeAll(b, m.Buckets[:0])
	return err
}

// LookupResult holds a value per key in the order of the keys, nil where there is no row.
type LookupResult struct {
	Bucket int32
	Failure
	Values []Value
}

// Append implements Message.
func (m *LookupResult) Append(b []byte) []byte {
	b = wire.AppendInt32(b, 2, m.Bucket)
	b = m.append(b, 3, 4)
	for i := range m.Values {
		b = nested(b, 5, &m.Values[i])
	}
	return b
}

// Decode implements Message.
func (m *LookupResult) Decode(b []byte) error {
	*m = LookupResult{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 2:
			m.Bucket = r.Int32()
		case 3:
			m.Code = Code(r.Int32())
		case 4:
			m.Message = r.String()
		case 5:
			var v Value
			r.Check(v.Decode(r.Message()))
			m.Values = append(m.Values, v)
		}
	}
	return r.Done(2)
}

// Value is a schema id (int16, little-endian) and a compacted row, or nil.
type Value struct {
	Bytes []byte
}

// Append implements Message.
func (m *Value) Append(b []byte) []byte {
	if m.Bytes == nil {
		return b
	}
	return wire.AppendBytes(b, 1, m.Bytes)
}

// Decode implements Message.
func (m *Value) Decode(b []byte) error {
	*m = Value{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			m.Bytes = r.Bytes()
		}
	}
	return r.Done()
}
