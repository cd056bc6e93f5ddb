package simworld

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

var errRefused = errors.New("the log is busy")

// log is one life's way to the log. The wrapped store is honest.
type log struct {
	store.Store
	l *Life
}

func (g log) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	l, unknown := g.l, func(why error) error {
		return &store.AppendError{Bucket: bucket, Outcome: store.Unknown, Err: why}
	}
	l.tell("appends %s", names(events))
	if why := l.at(AppendUnsent, nil); why != nil {
		if !errors.Is(why, store.ErrClosed) {
			return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: errRefused}
		}
		return 0, unknown(why)
	}
	batch := append([]intent.Event(nil), events...)
	late := &message{what: "append of " + l.Name, land: func() {
		// The log is memory, and its context is never cancelled.
		_, _ = g.Store.Append(context.Background(), bucket, batch)
	}}
	if why := l.at(AppendSent, late); why != nil {
		return 0, unknown(why)
	}
	l.w.landing(Before, false)
	if l.w.Forgets != nil && l.w.Forgets(events) {
		b, err := g.Store.Bound(ctx, bucket) // the lie: an acknowledgement of nothing
		return b.End, err
	}
	first, err := g.Store.Append(context.WithoutCancel(ctx), bucket, batch)
	l.w.landing(After, false)
	if err != nil {
		return 0, err
	}
	for _, p := range []Point{AppendStored, AppendAcked} {
		if why := l.at(p, nil); why != nil {
			return 0, unknown(why)
		}
	}
	return first, nil
}

func (g log) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	if g.l.dead {
		return store.Bound{}, store.ErrClosed
	}
	b, err := g.Store.Bound(ctx, bucket)
	if err == nil && g.l.w.Terms.Barriers {
		barrier := intent.NewBarrier(uuid.NewString(), 0)
		var at int64
		at, err = g.Store.Append(ctx, bucket, []intent.Event{barrier})
		b = store.Bound{End: at + 1}
	}
	if cut := g.l.w.StaleBounds; cut > 0 && err == nil {
		b.End = max(0, b.End-int64(cut))
	}
	return b, err
}

func (g log) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	if g.l.dead {
		return fmt.Errorf("read: %w", store.ErrClosed)
	}
	return g.Store.Read(ctx, bucket, from, to, fn)
}

func names(events []intent.Event) string {
	var parts []string
	for i := range events {
		e := &events[i]
		text := string(e.Type)
		if e.Type == intent.Started {
			text = fmt.Sprintf("%s (claim to attempt %d)", e.Type, e.Attempt)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
