package fluss

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// Reason says why a read could not deliver its range.
type Reason uint8

const (
	// NoProgress means that nothing new came for the whole of Options.ProgressTimeout.
	NoProgress Reason = 1
	// OutOfRange means that the log does not hold the offset: it was deleted, or the log became shorter. It was asked for several
	// times, since a server may say so for a moment while it moves segments.
	OutOfRange Reason = 2
	// Remote means that the offset is in tiered storage only, which this client does not read.
	Remote Reason = 3
	// Gap means that batches do not follow each other, or hold other than one record per offset.
	Gap Reason = 4
	// Corrupt means that a batch fails its checksum or breaks the format.
	Corrupt Reason = 5
	// UnknownSchema means that a batch was written with a schema that cannot be had or read.
	UnknownSchema Reason = 6
	// Refused means that the server refused the fetch with an error code that another attempt cannot cure.
	Refused Reason = 7
)

var reasons = [...]string{"", "no progress", "offset out of range", "offset in remote storage", "gap", "corrupt batch", "unknown schema", "refused"}

func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// ReadError is the error of a read that could not deliver its range. Everything below Offset was delivered.
type ReadError struct {
	Table         Path
	Bucket        int
	Reason        Reason
	Offset        int64 // the next offset that was wanted
	HighWatermark int64 // as the leader last said, -1 when it never did
	Err           error // may be nil
}

func (e *ReadError) Error() string {
	s := fmt.Sprintf("read table %s bucket %d at offset %d (high watermark %d): %s", e.Table, e.Bucket, e.Offset, e.HighWatermark, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *ReadError) Unwrap() error { return e.Err }

// Records are the records of one batch that lie in the range of a read.
type Records struct {
	// Batch is the header of the batch. It may begin before the range and end after it.
	Batch record.Batch

	dec  *record.Decoder
	to   int64
	last bool
}

// Next moves to the next record of the range. It returns false at the end and at a record that cannot be decoded; the read then returns
// that error, so a caller need not ask for it.
func (r *Records) Next() bool {
	if r.last || !r.dec.Next() {
		return false
	}
	if r.dec.Offset() >= r.to {
		r.last = true
		return false
	}
	return true
}

// Offset is the log offset of the current record.
func (r *Records) Offset() int64 { return r.dec.Offset() }

// Change is what the current record does to its row.
func (r *Records) Change() record.Change { return r.dec.Change() }

// Row is the current record's values in column order of the batch's schema. The slice is overwritten by Next, its values are not.
func (r *Records) Row() []row.Value { return r.dec.Row() }

// Err is the error that ended the batch early, or nil.
func (r *Records) Err() error { return r.dec.Err() }

// Read calls f for every batch of a bucket that has records in [from, to), in order. It returns nil when the range was delivered whole,
// by position and not by count; the error of f, which ends the read; or an error that says why the rest could not be had, mostly a
// *ReadError. f must not keep the Records. While f runs the next fetch is on its way.
//
// A leader that changes in mid-read is followed; the read goes on at the same offset.
func (t *Table) Read(ctx context.Context, bucket int, from, to int64, f func(*Records) error) error {
	if from < 0 || to < from {
		return fmt.Errorf("read table %s bucket %d: no range [%d, %d)", t.info.Path, bucket, from, to)
	}
	if err := t.check(bucket); err != nil {
		return err
	}
	if from == to {
		return nil
	}
	r := t.newReader(bucket, from, to)
	return r.run(ctx, f)
}

// Tail calls f for every batch of a bucket from an offset on, as they arrive, until the context ends or f returns an error. It never
// returns nil.
func (t *Table) Tail(ctx context.Context, bucket int, from int64, f func(*Records) error) error {
	if from < 0 {
		return fmt.Errorf("read table %s bucket %d: no offset %d", t.info.Path, bucket, from)
	}
	if err := t.check(bucket); err != nil {
		return err
	}
	r := t.newReader(bucket, from, math.MaxInt64)
	r.endless = true
	return r.run(ctx, f)
}

// reader is one read. It holds two fetch buffers: the answer that is decoded, and the one that is on its way.
type reader struct {
	t        *Table
	bucket   int
	next, to int64
	endless  bool
	high     int64

	progress time.Time // when next last moved
	failures int       // attempts since then that failed
	ranges   int       // of them, how often the offset was out of range
	empty    int       // answers since then without anything new
	bulk     bool      // answers are large: give the next ones a buffer of full size at once

	spare    []byte // buffer for the next fetch
	batches  []record.Batch
	decoders map[int16]*record.Decoder
}

func (t *Table) newReader(bucket int, from, to int64) *reader {
	return &reader{t: t, bucket: bucket, next: from, to: to, high: -1, progress: time.Now(), decoders: map[int16]*record.Decoder{}}
}

// run reads until the range is delivered.
func (r *reader) run(ctx context.Context, f func(*Records) error) error {
	var fl *fetch
	defer func() {
		if fl != nil {
			fl.drop()
		}
	}()
	for r.next < r.to {
		if fl == nil {
			var err error
			if fl, err = r.begin(ctx, r.next, nil); err != nil {
				if err := r.retry(ctx, nil, err); err != nil {
					return err
				}
				continue
			}
		}
		asked := time.Now()
		body, err := fl.wait(ctx)
		used := fl.used
		fl = nil
		if err == nil {
			err = r.scan(body)
		}
		if err != nil {
			if err := r.retry(ctx, used, err); err != nil {
				return err
			}
			continue
		}
		if len(r.batches) == 0 {
			// Caught up, or a server that cannot say so: only time tells.
			r.spare = body
			if !r.endless && time.Since(r.progress) > r.t.c.o.ProgressTimeout {
				return r.fail(NoProgress, nil)
			}
			if time.Since(asked) < r.t.c.o.FetchWait/2 {
				// The server did not hold the answer back as it was asked to: do not spin.
				if err := sleep(ctx, backoff(r.empty)); err != nil {
					return err
				}
			}
			r.empty++
			if err := ctx.Err(); err != nil {
				return err
			}
			continue
		}
		end := r.batches[len(r.batches)-1].NextOffset()
		if end < r.to {
			// An error here shows up again, or not, when the loop asks once more.
			fl, _ = r.begin(ctx, end, nil)
		}
		if err := r.deliver(ctx, f); err != nil {
			return err
		}
		r.spare = body
		r.progress, r.failures, r.ranges, r.empty = time.Now(), 0, 0, 0
		r.bulk = r.bulk || len(body) > r.t.c.o.FetchBytes/4
	}
	return nil
}

// scan takes the answer of a fetch apart into whole, checked, contiguous batches from r.next on.
func (r *reader) scan(body []byte) error {
	res, err := r.result(body)
	if err != nil {
		return err
	}
	if res.HighWatermark >= 0 {
		r.high = res.HighWatermark
	}
	r.batches = r.batches[:0]
	switch {
	case res.Code != msg.None:
		return serverError(msg.KeyFetchLog, "", res.Code, res.Message)
	case res.Remote != nil:
		return r.fail(Remote, fmt.Errorf("segments in %.200q", res.Remote.Dir))
	}
	s, next := record.NewScanner(res.Records), r.next
	for seen := 0; next < r.to; seen++ {
		b, err := s.Next()
		if err == io.EOF || (err == record.ErrCut && seen > 0) {
			break
		}
		if err != nil {
			return r.fail(Corrupt, err)
		}
		if b.NextOffset() <= next {
			continue // wholly before what was asked for
		}
		if b.BaseOffset > next || (b.Count > 0 && !b.Dense()) || (b.Count == 0 && b.LastOffsetDelta != 0) {
			r.next = next
			return r.fail(Gap, fmt.Errorf("batch [%d, %d) with %d records where %d was due", b.BaseOffset, b.NextOffset(), b.Count, next))
		}
		next = b.NextOffset()
		r.batches = append(r.batches, b)
	}
	return nil
}

// result finds the one bucket that was asked for.
func (r *reader) result(body []byte) (*msg.FetchLogResult, error) {
	var m msg.FetchLogResponse
	if err := m.Decode(body); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	for i := range m.Tables {
		if m.Tables[i].TableID != r.t.info.ID {
			return nil, &TableChangedError{Path: r.t.info.Path, Was: r.t.info.ID, Now: m.Tables[i].TableID}
		}
		for j := range m.Tables[i].Buckets {
			if m.Tables[i].Buckets[j].Bucket == int32(r.bucket) {
				return &m.Tables[i].Buckets[j], nil
			}
		}
	}
	return nil, fmt.Errorf("%w: %s named no bucket %d of table %d", ErrProtocol, msg.KeyFetchLog, r.bucket, r.t.info.ID)
}

// deliver hands the scanned batches to f and moves on.
func (r *reader) deliver(ctx context.Context, f func(*Records) error) error {
	for _, b := range r.batches {
		if b.Count > 0 {
			dec, err := r.decoder(ctx, b.SchemaID)
			if err != nil {
				return err
			}
			if err := dec.Reset(b, r.next); err != nil {
				return r.fail(Corrupt, err)
			}
			rec := Records{Batch: b, dec: dec, to: r.to}
			if err := f(&rec); err != nil {
				return err
			}
			if err := dec.Err(); err != nil {
				return r.fail(Corrupt, err)
			}
		}
		r.next = min(b.NextOffset(), r.to)
	}
	return nil
}

// decoder returns the decoder of a schema id. A batch is decoded by the schema it was written with, which is not always today's.
func (r *reader) decoder(ctx context.Context, id int16) (*record.Decoder, error) {
	if d := r.decoders[id]; d != nil {
		return d, nil
	}
	schema, err := r.t.schema(ctx, id)
	if err != nil {
		return nil, r.fail(UnknownSchema, err)
	}
	d, err := record.NewDecoder(schema, r.t.format, &record.DecoderOptions{DecompressLimit: r.t.c.o.MaxFrame})
	if err != nil {
		return nil, r.fail(UnknownSchema, err)
	}
	r.decoders[id] = d
	return d, nil
}

func (r *reader) fail(why Reason, err error) error {
	return &ReadError{Table: r.t.info.Path, Bucket: r.bucket, Reason: why, Offset: r.next, HighWatermark: r.high, Err: err}
}
