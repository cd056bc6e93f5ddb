package fluss

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
)

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
	rec      Records // what f is given
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
			if r.endless {
				r.progress, r.failures, r.ranges = time.Now(), 0, 0 // an answer is all that a tail can ask for
			} else if time.Since(r.progress) > r.t.c.o.ProgressTimeout {
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
			r.rec = Records{Batch: b, dec: dec, to: r.to}
			if err := f(&r.rec); err != nil {
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
