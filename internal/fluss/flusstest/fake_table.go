package flusstest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
)

// fakeTable is a table. Like everything below it, it is guarded by Fake.mu.
type fakeTable struct {
	id       int64
	schemaID int32
	schemas  map[int32]json.RawMessage
	doc      map[string]json.RawMessage // the table JSON
	buckets  []*fakeBucket
	created  int64 // Unix milliseconds
}

// parse reads the JSON that a table is created with.
func (t *fakeTable) parse(doc []byte) error {
	if err := json.Unmarshal(doc, &t.doc); err != nil {
		return err
	}
	for _, key := range []string{"schema", "partition_key", "properties", "custom_properties"} {
		if t.doc[key] == nil {
			return fmt.Errorf("%s is missing", key)
		}
	}
	n := 1
	if count, ok := t.doc["bucket_count"]; ok {
		if err := json.Unmarshal(count, &n); err != nil || n < 1 || n > 1<<12 {
			return fmt.Errorf("bucket_count %s", count)
		}
	}
	t.doc["bucket_count"] = json.RawMessage(fmt.Sprint(n))
	t.buckets = make([]*fakeBucket, n)
	t.schemaID = 1
	t.schemas[1] = t.doc["schema"]
	return nil
}

func (t *fakeTable) setSchema(id int32, doc string) {
	t.schemaID, t.schemas[id] = id, json.RawMessage(doc)
	t.doc["schema"] = json.RawMessage(doc)
}

func (t *fakeTable) describe() []byte {
	doc, err := json.Marshal(t.doc)
	if err != nil {
		panic(err) // it came out of the same package
	}
	return doc
}

// window is how many batches of a writer a bucket remembers.
const window = 5

// fakeBucket is the log of a bucket, and the rows of one of a table with a primary key.
type fakeBucket struct {
	leader  int32
	log     []logBatch
	start   int64 // first offset that is kept
	next    int64 // end of the log, and the high watermark
	writers map[int64][]sequence
	rows    map[string][]byte // by encoded key: schema id and row
	changed chan struct{}     // closed and replaced when next moves
}

type logBatch struct {
	base, end int64
	bytes     []byte
}

type sequence struct {
	number int32
	base   int64
}

func newFakeBucket(leader int32) *fakeBucket {
	return &fakeBucket{leader: leader, writers: map[int64][]sequence{}, rows: map[string][]byte{}, changed: make(chan struct{})}
}

// produce appends one batch and returns its base offset. Bytes that are no batch at all are acknowledged with -1, as they really are.
func (b *fakeBucket) produce(records []byte) (int64, msg.Code) {
	if len(records) == 0 {
		return -1, msg.None
	}
	batch, err := record.NewScanner(records).Next()
	if err == record.ErrCut {
		return -1, msg.None
	}
	if err != nil {
		return -1, msg.CorruptRecord
	}
	if base, code, known := b.admit(batch.WriterID, batch.Sequence); known || code != msg.None {
		return base, code
	}
	stored := append([]byte(nil), records...)
	record.Stamp(stored, b.next, time.Now().UnixMilli())
	base := b.next
	b.push(base, int64(batch.LastOffsetDelta)+1, stored)
	return base, msg.None
}

// admit applies the rules of an idempotent writer: the next sequence is new, one of the last five is known, any other is refused.
func (b *fakeBucket) admit(writer int64, number int32) (base int64, code msg.Code, known bool) {
	if writer < 0 {
		return 0, msg.None, false
	}
	past := b.writers[writer]
	want := int32(0)
	for _, s := range past {
		if s.number == number {
			return s.base, msg.None, true
		}
		want = s.number + 1
	}
	if number != want {
		return -1, msg.OutOfOrderSequence, false
	}
	past = append(past, sequence{number, b.next})
	b.writers[writer] = past[max(0, len(past)-window):]
	return 0, msg.None, false
}

func (b *fakeBucket) push(base, n int64, bytes []byte) {
	b.log = append(b.log, logBatch{base, base + n, bytes})
	b.next = base + n
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *fakeBucket) truncate(to int64) {
	for len(b.log) > 0 && b.log[len(b.log)-1].end > to {
		b.next = b.log[len(b.log)-1].base
		b.log = b.log[:len(b.log)-1]
	}
}

// fetch returns the log from the batch that holds an offset on. The first batch comes whole, the last is cut where the limit falls.
func (b *fakeBucket) fetch(offset int64, limit int) ([]byte, msg.Code) {
	if offset == -2 {
		offset = b.start
	}
	if offset < b.start || offset > b.next {
		return nil, msg.LogOffsetOutOfRange
	}
	var out []byte
	for _, l := range b.log {
		if l.end <= offset {
			continue
		}
		if len(out) > 0 && len(out)+len(l.bytes) > limit {
			return append(out, l.bytes[:max(0, min(limit-len(out), len(l.bytes)-1))]...), msg.None
		}
		out = append(out, l.bytes...)
	}
	return out, msg.None
}
