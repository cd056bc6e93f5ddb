package invariant

import (
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
)

// Tick orders what a trace holds: a later observation has a greater tick. Zero
// stands for "before everything".
type Tick uint64

// Trace is what can be observed of one run.
type Trace struct {
	Log        [][]store.Record // by bucket, from offset 0, as it is at the end
	Acks       []Ack
	Seen       []Seen
	Sends      []Send
	Effects    []Effect
	Recoveries []Recovery
	// KeyBound says that the service deduplicates by the action ID. Without it
	// OneEffect asks nothing.
	KeyBound bool
}

// Ack says that at a tick somebody learnt that the bucket holds every record below
// End: an append was acknowledged, or a bound was returned.
type Ack struct {
	At     Tick
	Bucket int
	End    int64
}

// Seen says that at a tick Who had been given every record of the bucket below End,
// by reads or as its own acknowledged appends.
type Seen struct {
	At     Tick
	Who    string
	Bucket int
	End    int64
}

// Send is one request as it left.
type Send struct {
	At      Tick
	Who     string // the store handle of the sender; empty if that is not known
	Job     intent.JobID
	Action  intent.ActionID
	Attempt int32 // 0 if that is not known
	Body    []byte
}

// Effect is one thing that the service did. An answer from a stored receipt is none.
type Effect struct {
	At     Tick
	Action intent.ActionID
	Body   []byte
}

// Recovery is one call of recovery.Recover, with its Apply if there was one.
type Recovery struct {
	From, To  Tick // just before the call, and just after it or its Apply
	Who       string
	DryRun    bool
	Err       error               // of Recover
	Bounds    []int64             // of the plan
	Decisions []recovery.Decision // of the plan
}

// records calls fn for every record of the log.
func (t *Trace) records(fn func(bucket int, r *store.Record)) {
	for b := range t.Log {
		for i := range t.Log[b] {
			fn(b, &t.Log[b][i])
		}
	}
}

// acked returns the end of the bucket that somebody knew of before the tick.
func (t *Trace) acked(bucket int, before Tick) (end int64) {
	for _, a := range t.Acks {
		if a.Bucket == bucket && a.At < before {
			end = max(end, a.End)
		}
	}
	return end
}

// seen returns how far who had seen the bucket before the tick.
func (t *Trace) seen(who string, bucket int, before Tick) (end int64) {
	for _, s := range t.Seen {
		if s.Who == who && s.Bucket == bucket && s.At < before {
			end = max(end, s.End)
		}
	}
	return end
}

// fold folds the records of a job that keep says yes to. Events that break the
// rules end it: what a broken history means is not this package's question.
func (t *Trace) fold(job intent.JobID, keep func(r *store.Record) bool) *intent.History {
	h := &intent.History{}
	if len(t.Log) == 0 {
		return h
	}
	for i := range t.Log[store.BucketFor(job, len(t.Log))] {
		r := &t.Log[store.BucketFor(job, len(t.Log))][i]
		if r.Event.JobID != job || !keep(r) {
			continue
		}
		if h.Fold(&r.Event, intent.Mark{Offset: r.Offset, CommitMS: r.CommitMS}) != nil {
			break
		}
	}
	return h
}

// jobs lists the jobs of the log in order of appearance.
func (t *Trace) jobs() (jobs []intent.JobID) {
	known := map[intent.JobID]bool{"": true} // barriers belong to no job
	t.records(func(_ int, r *store.Record) {
		if !known[r.Event.JobID] {
			known[r.Event.JobID] = true
			jobs = append(jobs, r.Event.JobID)
		}
	})
	return jobs
}
