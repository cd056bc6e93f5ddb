package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/store"
)

// aheadBatch is how many records the reader hands over at once, and aheadBatches how
// many such batches there are.
const (
	aheadBatch   = 256
	aheadBatches = 4
)

// errFolder ends a read whose records nobody takes any more.
var errFolder = errors.New("the fold ended")

// readAhead is st.Read, but for long ranges the store reads on in this goroutine
// while fn works in another: to fold a record costs more than to read it, and a
// recovery that reads a whole log has nothing else to wait for. When it returns, fn
// has seen every record that the store delivered, up to fn's own error.
func readAhead(ctx context.Context, st store.Store, bucket int, from, to int64, fn func(*store.Record) error) error {
	if to-from < 4*aheadBatch {
		return st.Read(ctx, bucket, from, to, fn)
	}
	full, empty := make(chan []store.Record, aheadBatches), make(chan []store.Record, aheadBatches)
	for range aheadBatches {
		empty <- make([]store.Record, 0, aheadBatch)
	}
	var folded error // the folder's until ended is closed
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for batch := range full {
			for i := range batch {
				if folded = fn(&batch[i]); folded != nil {
					return
				}
			}
			empty <- batch[:0]
		}
	}()
	batch := <-empty
	err := st.Read(ctx, bucket, from, to, func(r *store.Record) error {
		batch = append(batch, *r)
		if len(batch) < aheadBatch {
			return nil
		}
		full <- batch // never blocks: there are no more batches than it has room for
		select {
		case batch = <-empty:
			return nil
		case <-ended:
			batch = nil
			return errFolder
		}
	})
	full <- batch
	close(full)
	<-ended
	if folded != nil {
		return folded
	}
	return err
}

// readWhole is readAhead that believes the store's nil only if every offset of
// [from, to) came, in order: a short read is never an absence.
func readWhole(ctx context.Context, st store.Store, bucket int, from, to int64, fn func(*store.Record) error) error {
	next := from
	err := readAhead(ctx, st, bucket, from, to, func(r *store.Record) error {
		if r.Offset != next {
			return &store.ReadError{Bucket: bucket, Offset: next, Err: fmt.Errorf("%w: got offset %d", store.ErrGap, r.Offset)}
		}
		next++
		return fn(r)
	})
	if err == nil && next != to {
		err = &store.ReadError{Bucket: bucket, Offset: next, Err: fmt.Errorf("%w: read ended before %d", store.ErrGap, to)}
	}
	return err
}
