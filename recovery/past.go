package recovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// errEnough ends a read early.
var errEnough = errors.New("enough")

// refolded is a job that was folded anew.
type refolded struct {
	openJob
	err error // its history breaks the rules
}

// refoldAll folds jobs anew, in one read, from the first event of any of them up
// to pos.
func (b *bucketView) refoldAll(ctx context.Context, jobs map[intent.JobID]struct{}) (map[intent.JobID]*refolded, error) {
	b.mu.Lock()
	from, to := b.pos, b.pos
	for job := range jobs {
		from = min(from, b.closed[jobHash(job)])
	}
	b.mu.Unlock()
	out := map[intent.JobID]*refolded{}
	err := readWhole(ctx, b.v.st, b.n, from, to, func(r *store.Record) error {
		if _, wanted := jobs[r.Event.JobID]; !wanted {
			return nil
		}
		job := out[r.Event.JobID]
		if job == nil {
			job = &refolded{openJob: openJob{first: r.Offset}}
			out[intent.JobID(strings.Clone(string(r.Event.JobID)))] = job
		}
		if job.err == nil {
			job.err = job.Fold(&r.Event, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS})
		}
		return nil
	})
	return out, err
}

// refold folds a finished job anew from offset from on until it is done. It returns
// nil if the log holds no event of the job there.
func (b *bucketView) refold(ctx context.Context, job intent.JobID, from int64) (*intent.History, error) {
	b.mu.Lock()
	to := b.pos
	b.mu.Unlock()
	var h *intent.History
	err := readWhole(ctx, b.v.st, b.n, from, to, func(r *store.Record) error {
		if r.Event.JobID != job {
			return nil
		}
		if h == nil {
			h = &intent.History{}
		}
		if err := h.Fold(&r.Event, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}); err != nil {
			return err
		}
		if h.Done {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return h, nil
}

// Lookup calls fn with the job's history, under the view's lock: fn must be quick
// and must not keep the history. A job without events has the zero History. For a
// finished job its part of the log is read again.
func (v *View) Lookup(ctx context.Context, job intent.JobID, fn func(*intent.History)) error {
	b := v.bucket(job)
	b.mu.Lock()
	if err := b.broken[job]; err != nil {
		b.mu.Unlock()
		return err
	}
	if open := b.open[job]; open != nil {
		fn(&open.History)
		b.mu.Unlock()
		return nil
	}
	first, done := b.closed[jobHash(job)]
	b.mu.Unlock()
	h := &intent.History{}
	if done {
		old, err := b.refold(ctx, job, first)
		if err != nil {
			return fmt.Errorf("read finished job %q: %w", job, err)
		}
		if old != nil {
			h = old
		}
	}
	fn(h)
	return nil
}

// peek calls fn with what is known of an open job, or with nil.
func (b *bucketView) peek(job intent.JobID, fn func(*openJob)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn(b.open[job])
}

// sending notes that a request of the job may leave in attempt.
func (b *bucketView) sending(job intent.JobID, attempt int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if open := b.open[job]; open != nil {
		open.sent = attempt
	}
}

// Unsent reports whether the job's open action was requested by this owner in
// attempt, which is in force, and no request of it can have left.
func (x *Executor) Unsent(job intent.JobID, attempt int32) bool {
	b := x.view.bucket(job)
	unsent := false
	b.peek(job, func(h *openJob) {
		if h == nil || !h.Owned(attempt, x.owner.ID) || h.sent == attempt {
			return
		}
		a := h.Current()
		unsent = a != nil && a.Status == intent.Requested && a.Requested.Offset > h.Claimed.Offset && a.Resolved == intent.Mark{}
	})
	return unsent
}

// now is the log's clock: what it said when it was last read, and the time that
// this process has lived through since. A wall clock decides nothing. It is 0 as
// long as the log has told no time.
func (b *bucketView) now() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nowMS == 0 {
		return 0
	}
	return b.nowMS + time.Since(b.nowAt).Milliseconds()
}

// heard notes what the log's clock says; b.mu is held.
func (b *bucketView) heard(ms int64) {
	if ms > b.nowMS {
		b.nowMS, b.nowAt = ms, time.Now()
	}
}

// commitMS returns the log's time of the record at an offset.
func (b *bucketView) commitMS(ctx context.Context, offset int64) (ms int64, err error) {
	err = readWhole(ctx, b.v.st, b.n, offset, offset+1, func(r *store.Record) error {
		ms = r.CommitMS
		return nil
	})
	return ms, err
}
