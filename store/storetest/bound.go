package storetest

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/intentlog/intentlog/intent"
)

var boundCases = []testCase{
	{
		"bound/covers_what_was_acknowledged_before",
		"A bound is greater than the offset of every append that was acknowledged before Bound was called.",
		func(ctx context.Context, l *log) error {
			for i := range 30 {
				b, err := l.put(ctx, i%l.st.Buckets(), 1+i%3)
				if err != nil {
					return err
				}
				bound, err := l.st.Bound(ctx, b.bucket)
				if err != nil {
					return err
				}
				if bound.End < b.end() {
					return fmt.Errorf("bound %d after an append up to %d", bound.End, b.end())
				}
			}
			return nil
		},
	},
	{
		"bound/is_linearizable_among_many_writers",
		"A bound covers every append, by anyone, that was acknowledged before it was asked for.",
		func(ctx context.Context, l *log) error {
			const writers, watchers = 6, 3
			var acked atomic.Int64 // the highest end of bucket 0 that a writer was told
			var puts atomic.Int64
			var left atomic.Int32 // watchers that have not seen enough
			left.Store(watchers)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			turns := make(chan struct{}) // the watchers let the writers go on
			write := func() error {
				for range turns {
					b, err := l.put(ctx, 0, 3)
					if err != nil {
						cancel()
						return err
					}
					for old := acked.Load(); old < b.end() && !acked.CompareAndSwap(old, b.end()); old = acked.Load() {
					}
					puts.Add(1)
				}
				return nil
			}
			watch := func() error {
				defer func() {
					if left.Add(-1) == 0 {
						close(turns)
					}
				}()
				for range 60 {
					select {
					case turns <- struct{}{}:
					case <-ctx.Done():
						return ctx.Err()
					}
					for first, polls := puts.Load(), 0; polls < 20; polls++ {
						before := acked.Load()
						bound, err := l.st.Bound(ctx, 0)
						if err != nil {
							return err
						}
						if bound.End < before {
							return fmt.Errorf("bound %d, asked for after an acknowledgement up to %d", bound.End, before)
						}
						if puts.Load() > first {
							break // somebody wrote meanwhile
						}
						runtime.Gosched()
					}
				}
				return nil
			}
			return each(writers+watchers, func(i int) error {
				if i < writers {
					return write()
				}
				return watch()
			})
		},
	},
	{
		"bound/never_moves_back",
		"A bound is linearizable, so a later one is not smaller.",
		func(ctx context.Context, l *log) error {
			last := make([]int64, l.st.Buckets())
			for i := range 60 {
				bucket := i % len(last)
				if i%3 == 0 {
					if _, err := l.put(ctx, bucket, 2); err != nil {
						return err
					}
				}
				b, err := l.st.Bound(ctx, bucket)
				if err != nil {
					return err
				}
				if b.End < last[bucket] {
					return fmt.Errorf("bound of bucket %d is %d and was %d", bucket, b.End, last[bucket])
				}
				last[bucket] = b.End
			}
			return nil
		},
	},
	{
		"bound/of_an_empty_bucket_can_be_read",
		"Offsets are dense from 0 in each bucket, and a range within a bound can be read.",
		func(ctx context.Context, l *log) error {
			for bucket := range l.st.Buckets() {
				b, err := l.st.Bound(ctx, bucket)
				if err != nil {
					return err
				}
				records, err := l.read(ctx, bucket, 0, b.End)
				if err != nil {
					return err
				}
				for _, r := range records {
					if r.Event.Type != intent.Barrier {
						return fmt.Errorf("an empty log holds %v", r.Event)
					}
				}
			}
			return nil
		},
	},
	{
		"bound/time_is_not_before_any_record",
		"CommitMS never falls within a bucket; NowMS is not less than that of any record below End, or 0 where a barrier at End-1 carries it.",
		func(ctx context.Context, l *log) error {
			if err := each(8, func(i int) error {
				for range 10 {
					if _, err := l.put(ctx, i%l.st.Buckets(), 2); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
			for bucket := range l.st.Buckets() {
				b, err := l.st.Bound(ctx, bucket)
				if err != nil {
					return err
				}
				records, err := l.read(ctx, bucket, 0, b.End)
				if err != nil {
					return err
				}
				for i, r := range records {
					if r.CommitMS <= 0 || i > 0 && r.CommitMS < records[i-1].CommitMS {
						return fmt.Errorf("offset %d has commit time %d", r.Offset, r.CommitMS)
					}
				}
				if len(records) == 0 {
					continue
				}
				last := records[len(records)-1]
				if b.NowMS < last.CommitMS && !(b.NowMS == 0 && last.Event.Type == intent.Barrier) {
					return fmt.Errorf("time %d at a bound, %d at its last record", b.NowMS, last.CommitMS)
				}
			}
			return nil
		},
	},
}
