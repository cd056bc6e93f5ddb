package recovery

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// fold takes one record and advances pos behind it.
func (b *bucketView) fold(r *store.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.foldLocked(r)
}

func (b *bucketView) foldLocked(r *store.Record) error {
	if r.Offset != b.pos {
		return &store.ReadError{Bucket: b.n, Offset: b.pos, Err: fmt.Errorf("%w: folded offset %d", store.ErrGap, r.Offset)}
	}
	b.pos++
	b.heard(r.CommitMS)
	ev := &r.Event
	job, known := b.open[ev.JobID]
	if !known {
		if err := b.admit(r); err != nil {
			b.breakJob(ev.JobID, err)
			return nil
		}
		_, done := b.closed[jobHash(ev.JobID)]
		switch {
		case ev.Type == intent.Barrier || b.broken[ev.JobID] != nil:
			return nil
		case done:
			// Nothing about a finished job can change what is to be done. Recover
			// looks at it again, to see whether its history is still sound.
			b.late[intent.JobID(strings.Clone(string(ev.JobID)))] = struct{}{}
			return nil
		}
		job = &openJob{first: r.Offset}
	}
	if err := job.Fold(ev, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}); err != nil {
		b.breakJob(ev.JobID, err)
		return nil
	}
	if !known {
		b.open[job.Job] = job
	}
	if ev.Type == intent.ActionRequested {
		b.v.Reserve(ev.ActionID, ev.JobID)
	}
	if job.Done {
		b.closed[jobHash(job.Job)] = job.first
		if _, asked := b.ending[job.Job]; asked {
			b.ending[job.Job] = job.Owner
		}
		delete(b.open, job.Job)
	}
	return nil
}

// admit checks the first event of a job, or a barrier.
func (b *bucketView) admit(r *store.Record) error {
	err := r.Event.Check()
	if err == nil && r.Event.Type != intent.Barrier && store.BucketFor(r.Event.JobID, len(b.v.buckets)) != b.n {
		err = fmt.Errorf("%w: a job of another bucket than %d", intent.ErrMalformed, b.n)
	}
	if err != nil {
		return &intent.HistoryError{Job: r.Event.JobID, Event: r.Event.EventID, Offset: r.Offset, Err: err}
	}
	return nil
}

// breakJob sets a job aside whose history breaks the rules: nothing is ever done
// about it, and Recover reports it.
func (b *bucketView) breakJob(job intent.JobID, err error) {
	job = intent.JobID(strings.Clone(string(job)))
	if b.broken[job] == nil {
		b.broken[job] = err
	}
	delete(b.open, job)
}

// jobSeed is random in every process, so that nobody can prepare job IDs of one hash.
var jobSeed = maphash.MakeSeed()

func jobHash(job intent.JobID) uint64 { return maphash.String(jobSeed, string(job)) }
