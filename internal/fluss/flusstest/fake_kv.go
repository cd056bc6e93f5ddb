package flusstest

import (
	"encoding/binary"
	"errors"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

func (f *Fake) put(n *node, m *msg.PutKvRequest) msg.Message {
	out := &msg.PutKvResponse{}
	for _, req := range m.Buckets {
		res := msg.PutKvResult{Bucket: req.Bucket, BaseOffset: -1}
		_, b, fail := f.bucket(n, m.TableID, req.Bucket)
		if res.Failure = fail; b != nil {
			res.Code = b.put(req.Records)
			res.BaseOffset = b.next
		}
		out.Buckets = append(out.Buckets, res)
	}
	return out
}

// put applies a key-value batch. Its changelog is only counted.
func (b *fakeBucket) put(batch []byte) msg.Code {
	changes, schema, err := parsePuts(batch)
	if err != nil {
		return msg.CorruptRecord
	}
	le := binary.LittleEndian
	if _, code, known := b.admit(int64(le.Uint64(batch[12:])), int32(le.Uint32(batch[20:]))); known || code != msg.None {
		return code
	}
	for _, c := range changes {
		if len(c.row) == 0 {
			delete(b.rows, string(c.key))
		} else {
			b.rows[string(c.key)] = append(schema[:2:2], c.row...)
		}
	}
	b.next += int64(len(changes))
	return msg.None
}

type keyValue struct{ key, row []byte }

var errPuts = errors.New("malformed key-value batch")

// parsePuts takes a key-value batch apart; schema is its schema id, two bytes.
func parsePuts(batch []byte) (changes []keyValue, schema []byte, err error) {
	const header = 28
	le := binary.LittleEndian
	if len(batch) < header || int(le.Uint32(batch)) != len(batch)-4 {
		return nil, nil, errPuts
	}
	rest := batch[header:]
	for range le.Uint32(batch[24:]) {
		if len(rest) < 4 || uint64(le.Uint32(rest)) > uint64(len(rest)-4) {
			return nil, nil, errPuts
		}
		one := rest[4 : 4+le.Uint32(rest)]
		rest = rest[4+len(one):]
		n, size := binary.Uvarint(one)
		if size <= 0 || n > uint64(len(one)-size) {
			return nil, nil, errPuts
		}
		changes = append(changes, keyValue{one[size : size+int(n)], one[size+int(n):]})
	}
	if len(rest) > 0 {
		return nil, nil, errPuts
	}
	return changes, append([]byte(nil), batch[9:11]...), nil
}

func (f *Fake) lookup(n *node, m *msg.LookupRequest) msg.Message {
	out := &msg.LookupResponse{}
	for _, req := range m.Buckets {
		res := msg.LookupResult{Bucket: req.Bucket}
		_, b, fail := f.bucket(n, m.TableID, req.Bucket)
		if res.Failure = fail; b != nil {
			for _, k := range req.Keys {
				res.Values = append(res.Values, msg.Value{Bytes: b.rows[string(k)]})
			}
		}
		out.Buckets = append(out.Buckets, res)
	}
	return out
}

func (f *Fake) scan(n *node, m *msg.LimitScanRequest) msg.Message {
	_, b, fail := f.bucket(n, m.TableID, m.Bucket)
	if b == nil {
		return &msg.LimitScanResponse{Failure: fail}
	}
	le := binary.LittleEndian
	count, body := uint32(0), []byte(nil)
	for _, v := range b.rows {
		if count == uint32(m.Limit) {
			break
		}
		count++
		body = le.AppendUint32(body, uint32(len(v)))
		body = append(body, v...)
	}
	out := le.AppendUint32(nil, uint32(5+len(body)))
	out = append(out, 0)
	out = le.AppendUint32(out, count)
	return &msg.LimitScanResponse{Records: append(out, body...)}
}
