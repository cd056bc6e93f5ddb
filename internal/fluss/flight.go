package fluss

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/wire"
)

// flight is one batch on its way: all that is known of it, so that another goroutine can take over when the leader's context ends.
type flight struct {
	calls []*waiter
	buf   []byte // memory of frame
	frame []byte // the whole request; nil until encoded. Identical on every attempt but for the header

	began    time.Time
	attempts int     // attempts made, sent or not
	copies   int     // copies that may have left
	doubt    bool    // some copy may be in the log
	renewed  bool    // a second writer id was tried
	slow     bool    // the next pause is a long one
	bad      *routes // routes with which the last attempt failed
	used     *routes
	pause    bool  // wait before the next attempt
	last     error // why the last attempt failed

	cn *conn
	cl *call // in flight, else nil
}

func (f *flight) start(a *appender, w *waiter) {
	*f = flight{calls: append(f.calls[:0], w), buf: f.buf}
}

// sent reports whether a copy may have left.
func (f *flight) sent() bool { return f.copies > 0 }

// fly sends the batch until its outcome is known or its time is over, and sets the outcome of every call. It returns false when the
// context ended first; then it may be called again to go on.
func (a *appender) fly(ctx context.Context) bool {
	f := &a.f
	if f.began.IsZero() {
		f.began = time.Now()
	}
	for {
		if f.cl == nil {
			if f.pause && !a.rest(ctx) {
				return false
			}
			if done, ok := a.send(ctx); !ok {
				return false
			} else if done {
				return true
			}
			if f.cl == nil {
				continue // the attempt failed before it left, and is worth another
			}
		}
		body, err := f.cn.wait(ctx, f.cl, a.t.c.o.RequestTimeout)
		if err != nil && errors.Is(err, errWait) {
			if ctx.Err() != nil {
				return false
			}
			f.cn.abandon(f.cl, err)
		}
		f.cl = nil
		if a.answer(body, err) {
			return true
		}
	}
}

// rest waits before another attempt. It returns false when the context ended.
func (a *appender) rest(ctx context.Context) bool {
	f := &a.f
	d := backoff(f.attempts - 1)
	if f.slow {
		d = slowBackoff(f.attempts - 1)
	}
	a.t.c.o.Logger.WarnContext(ctx, "fluss: append again", "table", a.t.info.Path, "bucket", a.bucket, "attempt", f.attempts, "err", f.last)
	if sleep(ctx, d) != nil {
		return false
	}
	f.pause, f.slow = false, false
	return true
}

// send makes one attempt as far as the write. done means that the outcome of the batch is known; ok is false when the context ended
// before anything was written.
func (a *appender) send(ctx context.Context) (done, ok bool) {
	f := &a.f
	f.attempts++
	cn, used, err := a.t.leader(ctx, a.api, int(a.bucket), f.bad)
	f.used = used
	if err == nil && a.writerID < 0 {
		err = a.newWriter(ctx, cn)
	}
	if err == nil && f.frame == nil {
		if err := a.encode(); err != nil {
			a.end(NotStored, err)
			return true, true
		}
	}
	if err == nil {
		f.cn = cn
		f.cl, err = cn.startFrame(ctx, a.api, f.frame)
		var t *TransportError
		if err == nil || errors.As(err, &t) && t.Sent {
			f.copies++
			f.doubt = f.doubt || err != nil
		}
	}
	if err == nil {
		return false, true
	}
	if ctx.Err() != nil {
		f.attempts--
		return false, false
	}
	return a.again(err, verdict{absent: true, again: repeatable(err, f.attempts-1), stale: true}), true
}

// answer reads what became of a copy that was sent. It returns true when the outcome of the batch is known.
func (a *appender) answer(body []byte, err error) bool {
	f := &a.f
	var v verdict
	if err == nil {
		var base int64
		if base, err = a.result(body); err == nil {
			a.stored(base)
			return true
		}
	}
	var refused *ServerError
	if errors.As(err, &refused) {
		v = judge(refused.Code)
		if refused.Code == msg.UnknownServerError && f.attempts > maxUnknownServerErrors {
			v.again = false
		}
	} else if !errors.Is(err, ErrBaseOffset) && !errors.Is(err, ErrProtocol) {
		v = verdict{again: !errors.Is(err, ErrClosed), stale: true} // no answer
	}
	if v.renew && !f.doubt && !f.renewed {
		// Every copy that left was refused: the server does not know this writer (any more). The rows may go under another.
		a.t.c.o.Logger.Warn("fluss: writer replaced", "table", a.t.info.Path, "bucket", a.bucket, "err", err)
		f.renewed, f.frame, a.writerID = true, nil, -1
		return false
	}
	if v.renew {
		v.absent = false
	}
	return a.again(err, v)
}

// again decides after a failed attempt whether there is another one. It returns true when there is none and the outcome is set.
func (a *appender) again(err error, v verdict) bool {
	f := &a.f
	f.last = err
	f.doubt = f.doubt || !v.absent
	if v.again && time.Since(f.began) < a.t.c.o.RetryTimeout {
		f.pause, f.slow = true, v.slow
		if !v.stale {
			f.bad = nil
		} else if f.used != nil {
			f.bad = f.used
		}
		return false
	}
	o := NotStored
	if f.doubt {
		o = Unknown
	}
	a.end(o, err)
	return true
}

// end sets the failure of every call. The writer id goes with it: nobody may use its next sequence for other rows while a copy of these
// may be on its way.
func (a *appender) end(o Outcome, err error) {
	for _, w := range a.f.calls {
		w.err = a.fail(o, err)
	}
	a.writerID = -1
}

// stored gives each call its place in the batch.
func (a *appender) stored(base int64) {
	if a.sequence == math.MaxInt32 {
		a.sequence = 0
	} else {
		a.sequence++
	}
	for _, w := range a.f.calls {
		w.base, w.err = base, nil
		base += w.count
	}
}

// newWriter asks for a writer id. Any tablet server gives one; the leader's connection is there anyway.
func (a *appender) newWriter(ctx context.Context, cn *conn) error {
	var m msg.InitWriterResponse
	if err := cn.roundTrip(ctx, &msg.InitWriterRequest{Tables: []msg.TablePath{a.t.info.Path.wire()}}, &m); err != nil {
		// Nothing of the batch has left, whatever became of this request.
		return &notSent{err}
	}
	if m.WriterID < 0 {
		return fmt.Errorf("%w: writer id %d", ErrProtocol, m.WriterID)
	}
	a.writerID, a.sequence = m.WriterID, 0
	return nil
}

// encode builds the request: the batch behind room for what stands before it, then the rest right in front of the batch.
func (a *appender) encode() error {
	const room = wire.RequestHeaderLen + msg.MaxBatchPrefix
	f := &a.f
	meta := record.Meta{SchemaID: int16(a.t.info.SchemaID), WriterID: a.writerID, Sequence: a.sequence}
	buf := append(f.buf[:0], make([]byte, room)...)
	var err error
	if a.api == msg.KeyPutKv {
		buf, err = record.AppendPuts(buf, meta, a.puts)
	} else {
		buf, err = a.t.enc.Append(buf, meta, a.values)
	}
	f.buf = buf
	if err != nil {
		return err
	}
	if len(buf) > a.t.c.o.MaxFrame {
		return fmt.Errorf("%w: %d bytes", ErrBatchTooLarge, len(buf))
	}
	size := len(buf) - room
	var front [room]byte
	head := wire.AppendRequest(front[:0], int16(a.api), 0, 0, 0)
	head = msg.AppendBatchPrefix(head, a.api, a.t.info.ID, a.t.c.o.serverWait(), a.bucket, size)
	f.frame = buf[room-len(head):]
	copy(f.frame, head)
	return nil
}

// result decodes the answer for the bucket: the base offset, or why there is none.
func (a *appender) result(body []byte) (int64, error) {
	var m msg.ProduceLogResponse // PutKvResponse has the same fields
	if err := m.Decode(body); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	i := slices.IndexFunc(m.Buckets, func(r msg.ProduceLogResult) bool { return r.Bucket == a.bucket })
	if i < 0 {
		return 0, fmt.Errorf("%w: %s named no bucket %d", ErrProtocol, a.api, a.bucket)
	}
	r := &m.Buckets[i]
	switch {
	case r.Code == msg.DuplicateSequence && r.BaseOffset >= 0:
	case r.Code != msg.None:
		return 0, serverError(a.api, a.f.cn.addr, r.Code, r.Message)
	case r.BaseOffset < 0 && a.api == msg.KeyProduceLog:
		return 0, ErrBaseOffset
	}
	return r.BaseOffset, nil
}

// notSent marks the failure of a request that prepares a batch.
type notSent struct{ err error }

func (e *notSent) Error() string { return "get a writer id: " + e.err.Error() }
func (e *notSent) Unwrap() error { return e.err }
