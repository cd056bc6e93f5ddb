package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/store"
)

var lifeCases = []testCase{
	{
		"close/ends_every_call",
		"Every call after Close, but Close, returns an error; an append after it is NotStored.",
		func(ctx context.Context, l *log) error {
			if _, err := l.put(ctx, 0, 3); err != nil {
				return err
			}
			if err := l.close(); err != nil {
				return err
			}
			if _, err := l.try(ctx, 0, l.events(1)); store.OutcomeOf(err) != store.NotStored {
				return fmt.Errorf("append after close is %v: %v", store.OutcomeOf(err), err)
			}
			if _, err := l.st.Bound(ctx, 0); err == nil {
				return errors.New("bound after close is no error")
			}
			if err := l.st.Read(ctx, 0, 0, 0, func(*store.Record) error { return nil }); err == nil {
				return errors.New("read after close is no error")
			}
			return l.nextLife(ctx)
		},
	},
	{
		"close/lets_appends_in_flight_end",
		"Appends in flight at Close end first, or are Unknown.",
		func(ctx context.Context, l *log) error {
			const writers = 8
			begun := make(chan struct{}, writers)
			err := each(writers+1, func(i int) error {
				if i == writers {
					for range writers {
						<-begun
					}
					return l.close()
				}
				for k := range 1000 {
					_, err := l.try(ctx, i%l.st.Buckets(), l.events(2))
					if k == 3 {
						begun <- struct{}{}
					}
					if k > 3 && err != nil {
						break
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			return l.nextLife(ctx)
		},
	},
	{
		"reopen/what_was_stored_is_still_there",
		"An append that was acknowledged is durable, and a log goes on where it ended.",
		func(ctx context.Context, l *log) error {
			for range 3 {
				if err := l.putMany(ctx); err != nil {
					return err
				}
				if err := l.close(); err != nil {
					return err
				}
				if err := l.nextLife(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	},
}

func (l *log) close() error {
	l.closed = true
	return l.st.Close()
}

// nextLife opens the closed log again, if it can be, and audits it.
func (l *log) nextLife(ctx context.Context) error {
	if l.reopen == nil {
		return nil
	}
	buckets := l.st.Buckets()
	st, err := l.reopen()
	if err != nil {
		return fmt.Errorf("reopen: %w", err)
	}
	l.st, l.closed = st, false
	if st.Buckets() != buckets {
		return fmt.Errorf("reopened with %d buckets, had %d", st.Buckets(), buckets)
	}
	return l.audit(ctx)
}
