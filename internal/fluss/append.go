package fluss

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// Append appends rows to a bucket of a log table and returns the offset of the first; the others follow it without a gap. The rows stand
// back to back in values, so len(values) is a multiple of the number of columns; values is the caller's again when Append returns, however
// it returns. Append returns when all in-sync replicas have the rows, or with an *AppendError that says whether they
// can be in the log.
//
// The rows of one call always become visible together, in order. Calls that come while a batch of the bucket is in flight share the next
// one, in the order in which they came. A context that ends while the rows wait for their batch leaves them not stored; once their batch
// is on its way the outcome is Unknown, and the batch is seen to its end without the caller, so that later appends come after it.
func (t *Table) Append(ctx context.Context, bucket int, values []row.Value) (base int64, err error) {
	if err := t.check(bucket); err != nil {
		return 0, &AppendError{Table: t.info.Path, Bucket: bucket, Outcome: NotStored, Err: err}
	}
	if len(t.info.PrimaryKey) > 0 {
		return 0, t.appenders[bucket].refuse(errors.New("the table has a primary key: use Put"))
	}
	columns := len(t.info.Schema)
	if len(values) == 0 || len(values)%columns != 0 {
		err := &row.ValueError{Reason: "values are not whole rows"}
		return 0, t.appenders[bucket].refuse(err)
	}
	size := 0
	for i := range values {
		size += 16 + len(values[i].Text())
	}
	return t.appenders[bucket].add(ctx, values, nil, size, int64(len(values)/columns))
}

// appender makes the batches of one bucket, one at a time.
//
// Nobody owns it for long: the goroutine whose call comes first while no batch is in flight leads, which means that it encodes the batch,
// sends it and waits for the answer itself. Calls that come meanwhile queue up. When the answer is there the leader wakes those whose rows
// were in the batch, makes the first of the queue the next leader, and returns. So a lone append is one encoding, one write and one wait
// in its own goroutine, and many at once share batches without a timer.
type appender struct {
	t      *Table
	bucket int32
	api    msg.Key

	mu    sync.Mutex
	led   bool      // somebody leads
	queue []*waiter // in the order of the calls; empty while nobody leads
	free  []*waiter

	// What follows belongs to the leader.
	writerID int64 // -1: ask for one
	sequence int32
	crowd    int // how many calls the last batch had
	f        flight
	values   []row.Value  // the rows of the batch
	puts     []record.Put // the same for a table with a primary key
}

func newAppender(t *Table, bucket int32, api msg.Key) *appender {
	return &appender{t: t, bucket: bucket, api: api, writerID: -1}
}

// add brings rows into the log, as the leader or through another one.
func (a *appender) add(ctx context.Context, values []row.Value, puts []record.Put, size int, count int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, a.refuse(err)
	}
	if size > a.t.c.o.MaxFrame {
		return 0, a.refuse(fmt.Errorf("%w: about %d bytes", ErrBatchTooLarge, size))
	}
	// Rows that cannot be encoded must not spoil the batch of others.
	if err := a.checkRows(values); err != nil {
		return 0, a.refuse(err)
	}
	a.mu.Lock()
	w := a.newWaiterLocked()
	w.values, w.puts, w.size, w.count = values, puts, size, count
	if !a.led {
		a.led = true
		a.mu.Unlock()
		return a.leadWith(ctx, w)
	}
	a.queue = append(a.queue, w)
	a.mu.Unlock()

	select {
	case <-w.wake:
	case <-ctx.Done():
		a.mu.Lock()
		if i := slices.Index(a.queue, w); i >= 0 {
			a.queue = slices.Delete(a.queue, i, i+1)
			a.freeLocked(w)
			a.mu.Unlock()
			return 0, a.refuse(ctx.Err())
		}
		lead := w.lead
		a.mu.Unlock()
		if !lead {
			// In a batch that is being made or on its way; its leader still uses w.
			return 0, a.fail(Unknown, ctx.Err())
		}
		<-w.wake
		a.passOn()
		return 0, a.refuse(ctx.Err())
	}
	if w.lead {
		return a.leadWith(ctx, w)
	}
	base, err := w.base, w.err
	a.mu.Lock()
	a.freeLocked(w)
	a.mu.Unlock()
	return base, err
}

func (a *appender) checkRows(values []row.Value) error {
	schema := a.t.info.Schema
	for ; len(values) > 0; values = values[len(schema):] {
		if err := schema.Check(values[:len(schema)]); err != nil {
			return err
		}
	}
	return nil
}

// leadWith makes a batch of w and of what is queued, sees it to its end and hands the leadership on.
func (a *appender) leadWith(ctx context.Context, w *waiter) (int64, error) {
	a.gather()
	f := &a.f
	f.start(a, w)
	a.mu.Lock()
	w.lead = false
	size, n := w.size, 0
	for n < len(a.queue) && size+a.queue[n].size <= a.t.c.o.MaxBatchBytes {
		size += a.queue[n].size
		n++
	}
	f.calls = append(f.calls, a.queue[:n]...)
	a.queue = slices.Delete(a.queue, 0, n)
	// The rows are copied while the lock keeps every call from giving up: a call whose context ends takes its slice back, and the
	// batch may have to be encoded after that, or once more under another writer id. Texts are shared, they never change.
	for _, w := range f.calls {
		a.values, a.puts = append(a.values, w.values...), append(a.puts, w.puts...)
	}
	a.mu.Unlock()
	a.crowd = n + 1

	if a.fly(ctx) {
		base, err := w.base, w.err
		a.land(w)
		return base, err
	}
	// The context ended before the batch did.
	if !f.sent() {
		f.calls = f.calls[1:]
		a.values, a.puts = slices.Delete(a.values, 0, len(w.values)), slices.Delete(a.puts, 0, len(w.puts))
		f.frame = nil
		err := a.refuse(ctx.Err())
		if len(f.calls) == 0 {
			a.forget()
			a.passOn()
		} else {
			a.finishWithout()
		}
		return 0, err
	}
	a.finishWithout()
	return 0, a.fail(Unknown, ctx.Err())
}

// gatherTurns is how often a leader steps aside for a crowd: some microseconds, where a round trip takes a hundred.
const gatherTurns = 20

// gather lets the calls that shared the last batch come back, which they are about to do. Without it the next batch would be the first
// of them alone, and most of the round trip wasted. It waits for nobody: where the crowd has gone, it ends after its turns.
func (a *appender) gather() {
	if a.crowd < 2 {
		return
	}
	want := 0
	for turn := range gatherTurns {
		a.mu.Lock()
		n := len(a.queue)
		a.mu.Unlock()
		if turn == 0 {
			want = n + a.crowd - 1
		}
		if n >= want {
			return
		}
		runtime.Gosched()
	}
}

// finishWithout sees the batch to its end in the client's own time, after its leader's context ended.
func (a *appender) finishWithout() {
	end := func(ctx context.Context) {
		if !a.fly(ctx) {
			a.end(Unknown, ErrClosed)
		}
		a.land(nil)
	}
	if !a.t.c.run(end) {
		a.end(Unknown, ErrClosed)
		a.land(nil)
	}
}

// land wakes the calls of a batch that ended, but for the leader's own, and hands the leadership on.
func (a *appender) land(own *waiter) {
	for _, w := range a.f.calls {
		if w != own {
			w.wake <- struct{}{}
		}
	}
	clear(a.f.calls)
	a.f.calls = a.f.calls[:0]
	a.forget()
	a.mu.Lock()
	if own != nil {
		a.freeLocked(own)
	}
	a.passOnLocked()
	a.mu.Unlock()
}

// forget lets go of the rows, and of memory that an unusually large batch needed.
func (a *appender) forget() {
	clear(a.values)
	clear(a.puts)
	a.values, a.puts = a.values[:0], a.puts[:0]
	if cap(a.f.buf) > 2*a.t.c.o.MaxBatchBytes {
		a.f.buf, a.values, a.puts = nil, nil, nil
	}
}

// passOn makes the first call of the queue the leader.
func (a *appender) passOn() {
	a.mu.Lock()
	a.passOnLocked()
	a.mu.Unlock()
}

func (a *appender) passOnLocked() {
	if len(a.queue) == 0 {
		a.led = false
		return
	}
	w := a.queue[0]
	a.queue = slices.Delete(a.queue, 0, 1)
	w.lead = true
	w.wake <- struct{}{}
}

// refuse is the error of rows that never left.
func (a *appender) refuse(err error) error { return a.fail(NotStored, err) }

func (a *appender) fail(o Outcome, err error) error {
	return &AppendError{Table: a.t.info.Path, Bucket: int(a.bucket), Outcome: o, Code: CodeOf(err), Err: err}
}
