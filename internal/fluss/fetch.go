package fluss

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// fetch is one FetchLog request on its way.
type fetch struct {
	r    *reader
	cn   *conn
	cl   *call
	used *routes
}

// begin sends a fetch from an offset on. bad are routes not to be used.
func (r *reader) begin(ctx context.Context, offset int64, bad *routes) (*fetch, error) {
	cn, used, err := r.t.leader(ctx, msg.KeyFetchLog, r.bucket, bad)
	if err != nil {
		return nil, &failedFetch{used, err}
	}
	o := r.t.c.o
	size := int32(min(o.FetchBytes, math.MaxInt32))
	req := msg.FetchLogRequest{
		FollowerID: -1, MaxBytes: size, MinBytes: 1, MaxWaitMs: int32(min(o.FetchWait, time.Minute).Milliseconds()),
		Tables: []msg.FetchLogTable{{
			TableID: r.t.info.ID,
			Buckets: []msg.FetchLogBucket{{Bucket: int32(r.bucket), Offset: offset, MaxBytes: size}},
		}},
	}
	buf := r.spare
	r.spare = nil
	if full := o.FetchBytes + fetchOverhead; r.bulk && cap(buf) < full && full <= o.MaxFrame {
		buf = make([]byte, 0, full)
	}
	cl, err := cn.start(ctx, &req, buf)
	if err != nil {
		return nil, &failedFetch{used, err}
	}
	return &fetch{r: r, cn: cn, cl: cl, used: used}, nil
}

// fetchOverhead is room in a fetch buffer for what stands around the records, and for a first batch that is a little too large.
const fetchOverhead = 64 << 10

// failedFetch keeps the routes with which a fetch could not be sent.
type failedFetch struct {
	used *routes
	err  error
}

func (e *failedFetch) Error() string { return e.err.Error() }
func (e *failedFetch) Unwrap() error { return e.err }

// wait returns the body of the answer, which is the reader's.
func (f *fetch) wait(ctx context.Context) ([]byte, error) {
	body, err := f.cn.wait(ctx, f.cl, f.r.t.c.o.RequestTimeout+f.r.t.c.o.FetchWait)
	if err != nil && errors.Is(err, errWait) {
		f.cn.abandon(f.cl, err)
	}
	return body, err
}

// drop gives up a fetch whose answer nobody wants any more.
func (f *fetch) drop() { f.cn.abandon(f.cl, errWait) }

// maxOutOfRange is how often in a row an offset must be out of range to be believed.
const maxOutOfRange = 4

// retry decides after a failed fetch: nil means go on at the same offset, after a pause.
func (r *reader) retry(ctx context.Context, used *routes, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *failedFetch
	if errors.As(err, &failed) {
		used = failed.used
	}
	var read *ReadError
	var changed *TableChangedError
	if errors.As(err, &read) || errors.As(err, &changed) {
		return err
	}
	r.failures++
	code := CodeOf(err)
	if code == msg.LogOffsetOutOfRange {
		if r.ranges++; r.ranges >= maxOutOfRange {
			return r.fail(OutOfRange, err)
		}
	} else if !repeatable(err, r.failures-1) {
		if code != msg.None {
			return r.fail(Refused, err)
		}
		return err
	}
	if time.Since(r.progress) > r.t.c.o.ProgressTimeout {
		return r.fail(NoProgress, err)
	}
	if err := sleep(ctx, backoff(r.failures)); err != nil {
		return err
	}
	if used != nil && used == r.t.routes.Load() && (code == msg.None || code.StaleMetadata() || code == msg.LogOffsetOutOfRange) {
		_, err := r.t.refresh(ctx, used)
		var changed *TableChangedError
		if errors.As(err, &changed) {
			return err
		}
	}
	return nil
}
