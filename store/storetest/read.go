package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/store"
)

var readCases = []testCase{
	{
		"read/delivers_every_record_of_any_range",
		"Read calls fn for every record of [from, to) in offset order, and returns nil only after the last of them.",
		func(ctx context.Context, l *log) error {
			if err := l.putMany(ctx); err != nil {
				return err
			}
			for bucket := range l.st.Buckets() {
				b, err := l.st.Bound(ctx, bucket)
				if err != nil {
					return err
				}
				all, err := l.read(ctx, bucket, 0, b.End)
				if err != nil {
					return err
				}
				for from := int64(0); from <= b.End; from += 7 {
					for to := from; to <= b.End; to += 11 {
						part, err := l.read(ctx, bucket, from, to)
						if err != nil {
							return err
						}
						for i, r := range part {
							if r != all[from+int64(i)] {
								return fmt.Errorf("offset %d reads as %v and as %v", r.Offset, r.Event, all[from+int64(i)].Event)
							}
						}
					}
				}
			}
			return nil
		},
	},
	{
		"read/while_others_append",
		"A read delivers every record of its range or an error, whoever appends meanwhile.",
		func(ctx context.Context, l *log) error {
			return each(6, func(i int) error {
				for range 20 {
					if i%2 == 0 {
						if _, err := l.put(ctx, 0, 3); err != nil {
							return err
						}
						continue
					}
					b, err := l.st.Bound(ctx, 0)
					if err != nil {
						return err
					}
					if _, err := l.read(ctx, 0, 0, b.End); err != nil {
						return err
					}
				}
				return nil
			})
		},
	},
	{
		"read/beyond_the_end_is_an_error",
		"Beyond the end is an error, not a wait, and never a short read that looks complete.",
		func(ctx context.Context, l *log) error {
			if _, err := l.put(ctx, 0, 3); err != nil {
				return err
			}
			b, err := l.st.Bound(ctx, 0)
			if err != nil {
				return err
			}
			for _, from := range []int64{0, b.End, b.End + 1000} {
				err := l.st.Read(ctx, 0, from, b.End+2000, func(*store.Record) error { return nil })
				if err == nil {
					return fmt.Errorf("read of [%d, %d) in a log that ends at %d is no error", from, b.End+2000, b.End)
				}
				if ctx.Err() != nil {
					return fmt.Errorf("read beyond the end waited: %w", err)
				}
			}
			return nil
		},
	},
	{
		"read/ends_with_the_error_of_fn",
		"An error of fn ends the read and is returned as it is.",
		func(ctx context.Context, l *log) error {
			if _, err := l.put(ctx, 0, 9); err != nil {
				return err
			}
			b, err := l.st.Bound(ctx, 0)
			if err != nil {
				return err
			}
			for stopAt := range b.End {
				calls := int64(0)
				err := l.st.Read(ctx, 0, 0, b.End, func(*store.Record) error {
					if calls++; calls > stopAt {
						return errStop
					}
					return nil
				})
				if err != errStop || calls != stopAt+1 {
					return fmt.Errorf("fn failed at call %d: %d calls, and Read returned %v", stopAt+1, calls, err)
				}
			}
			return nil
		},
	},
	{
		"read/ends_when_cancelled",
		"A read that does not deliver its whole range is an error.",
		func(ctx context.Context, l *log) error {
			if err := l.putMany(ctx); err != nil {
				return err
			}
			b, err := l.st.Bound(ctx, 0)
			if err != nil {
				return err
			}
			for stopAt := int64(0); stopAt <= b.End; stopAt += 5 {
				c, cancel := context.WithCancel(ctx)
				if stopAt == 0 {
					cancel()
				}
				seen := int64(0)
				err := l.st.Read(c, 0, 0, b.End, func(r *store.Record) error {
					if r.Offset != seen {
						return fmt.Errorf("offset %d at place %d", r.Offset, seen)
					}
					if seen++; seen == stopAt {
						cancel()
					}
					return nil
				})
				cancel()
				if err == nil && seen != b.End {
					return fmt.Errorf("a read cancelled at %d delivered %d of %d records and no error", stopAt, seen, b.End)
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					return fmt.Errorf("a cancelled read returned %w", err)
				}
			}
			return nil
		},
	},
	{
		"read/kept_strings_stay",
		"The strings of a record may be kept.",
		func(ctx context.Context, l *log) error {
			if err := l.putMany(ctx); err != nil {
				return err
			}
			b, err := l.st.Bound(ctx, 0)
			if err != nil {
				return err
			}
			kept, err := l.read(ctx, 0, 0, b.End)
			if err != nil {
				return err
			}
			for range 3 {
				if err := l.putMany(ctx); err != nil {
					return err
				}
				again, err := l.read(ctx, 0, 0, b.End)
				if err != nil {
					return err
				}
				for i := range again {
					if again[i] != kept[i] {
						return fmt.Errorf("offset %d was kept as %v and reads as %v", i, kept[i].Event, again[i].Event)
					}
				}
			}
			return nil
		},
	},
}
