package sqlitestore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// The format. Every value here is frozen.
const (
	applicationID = 0x694C6F67 // "iLog", in the file's header
	formatVersion = 1          // user_version, in the file's header

	// The key of a row is its place: bucket << 48 | log_offset. A plain integer key
	// costs less to append to and to scan than a key of two columns, and rows of one
	// bucket lie together. bucket and log_offset are columns too, for people. There is
	// no index on job_id: it made appends 10 to 30 % slower, and recovery reads a whole
	// bucket anyway. Who asks for single jobs often may create one.
	offsetBits = 48
	maxBuckets = 1 << 14

	createEvents = `CREATE TABLE job_events (
  seq INTEGER PRIMARY KEY,
  bucket INTEGER NOT NULL,
  log_offset INTEGER NOT NULL,
  job_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  event_type TEXT NOT NULL,
  action_id TEXT NOT NULL,
  payload_digest TEXT NOT NULL,
  emitted_at_ms INTEGER NOT NULL,
  detail TEXT NOT NULL,
  commit_ms INTEGER NOT NULL,
  crc32c INTEGER NOT NULL
)`
	createLog = `CREATE TABLE log (log_id TEXT NOT NULL, buckets INTEGER NOT NULL, crc32c INTEGER NOT NULL)`

	columns = `seq, bucket, log_offset, attempt, step, emitted_at_ms, commit_ms, crc32c,
  job_id, event_id, event_type, action_id, payload_digest, detail`

	insertEvent = `INSERT INTO job_events (` + columns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)`
	selectRange = `SELECT ` + columns + ` FROM job_events WHERE seq >= ?1 AND seq < ?2 ORDER BY seq`
	selectLast  = `SELECT ` + columns + ` FROM job_events WHERE seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT 1`
)

const (
	ints  = 8 // integer columns at the front of columns, the checksum being the last
	texts = 6 // text columns behind them
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seqOf returns the key of a row.
func seqOf(bucket int, offset int64) int64 { return int64(bucket)<<offsetBits | offset }

// row is a record as its columns.
type row struct {
	seq      int64
	attempt  int64
	step     int64
	emitted  int64
	commitMS int64
	lens     [texts]int // bytes of each text column

	head [5*8 + texts*4]byte // what sum makes of the fields above; here, since it would escape
}

// sum is the checksum of a record. It covers, little-endian: seq, attempt, step,
// emitted_at_ms and commit_ms as 8 bytes each, the lengths of the six text columns
// as 4 bytes each, then the text columns themselves, one after the other, in the
// order of the table.
func (r *row) sum(text []byte) uint32 {
	b := r.head[:0]
	for _, v := range [...]int64{r.seq, r.attempt, r.step, r.emitted, r.commitMS} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	for _, n := range r.lens {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return crc32.Update(crc32.Update(0, castagnoli, b), castagnoli, text)
}

// sumLog is the checksum of the row of table log.
func sumLog(id string, buckets int64) uint32 {
	b := binary.LittleEndian.AppendUint64(nil, uint64(buckets))
	return crc32.Update(crc32.Update(0, castagnoli, b), castagnoli, []byte(id))
}

// textsOf lists the text columns of an event in the order of the table.
func textsOf(e *intent.Event) [texts]string {
	return [texts]string{
		string(e.JobID), string(e.EventID), string(e.Type), string(e.ActionID), string(e.PayloadDigest), e.Detail,
	}
}

// scan reads the row on which s stands and checks it against its checksum. It
// appends the text columns to text.
func (r *row) scan(s *stmt, text []byte) ([]byte, error) {
	r.seq, r.attempt, r.step, r.emitted, r.commitMS = s.int(0), s.int(3), s.int(4), s.int(5), s.int(6)
	start := len(text)
	for i := range r.lens {
		b := s.bytes(ints + i)
		r.lens[i] = len(b)
		text = append(text, b...)
	}
	switch {
	case uint32(s.int(7)) != r.sum(text[start:]):
		return text, fmt.Errorf("%w: checksum", store.ErrCorrupt)
	case r.seq != seqOf(int(s.int(1)), s.int(2)):
		return text, fmt.Errorf("%w: bucket and log_offset do not fit the key", store.ErrCorrupt)
	case r.attempt != int64(int32(r.attempt)) || r.step != int64(int32(r.step)):
		return text, fmt.Errorf("%w: attempt or step out of range", store.ErrCorrupt)
	}
	return text, nil
}

// record builds the record; text holds its text columns.
func (r *row) record(text string) store.Record {
	var t [texts]string
	for i, n := range r.lens {
		t[i], text = text[:n], text[n:]
	}
	return store.Record{
		Offset:   r.seq & (1<<offsetBits - 1),
		CommitMS: r.commitMS,
		Event: intent.Event{
			JobID: intent.JobID(t[0]), EventID: intent.EventID(t[1]), Attempt: int32(r.attempt), Step: int32(r.step),
			Type: intent.Type(t[2]), ActionID: intent.ActionID(t[3]), PayloadDigest: intent.Digest(t[4]),
			EmittedAtMS: r.emitted, Detail: t[5],
		},
	}
}
