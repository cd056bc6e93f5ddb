package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// Appends queue up, and one goroutine at a time commits: it takes all that wait as
// one transaction, and while that syncs the next ones queue up. Nobody waits for
// company, and no timer is needed. The goroutine stays until the store is closed: SQLite
// needs a large stack, which a fresh one would have to grow for each append.
//
// The rejected way is that the first caller commits for the others: it could not
// leave when its context ends.

const (
	groupBytes       = 8 << 20 // of events in one transaction, unless one batch has more
	groupBatches     = 1024
	checkpointFrames = 1000 // pages in the write-ahead log before they are copied back
)

// pending is an append that waits.
type pending struct {
	bucket int
	events []intent.Event // the caller's, until taken
	count  int            // of events, which the caller may change once taken
	size   int            // bytes
	done   chan struct{}  // closed when first and err are set

	taken bool // guarded by Store.mu: it is in the group now, and may be stored
	first int64
	err   error
}

// group is what one transaction holds. It is reused.
type group struct {
	members []*pending
	events  []intent.Event // of all members: copies, since a caller may leave
	now     []int64        // per member: commit time
	ends    map[int]int64  // per bucket of the group: the end after it
}

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	p := &pending{bucket: bucket, events: events, count: len(events), done: make(chan struct{})}
	if err := s.enqueue(ctx, p); err != nil {
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: err}
	}
	select {
	case <-p.done:
		return p.first, p.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome := store.Unknown
	if !p.taken {
		outcome = store.NotStored
		s.queue = slices.DeleteFunc(s.queue, func(q *pending) bool { return q == p })
	}
	return 0, &store.AppendError{Bucket: bucket, Outcome: outcome, Err: ctx.Err()}
}

// enqueue puts an append in the queue. An error means that it never began.
func (s *Store) enqueue(ctx context.Context, p *pending) error {
	if len(p.events) == 0 {
		return errors.New("no events")
	}
	for i := range p.events {
		p.size += 128 // the integers, and what a row costs
		for _, t := range textsOf(&p.events[i]) {
			p.size += len(t)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkLocked(ctx, p.bucket); err != nil {
		return err
	}
	switch {
	case s.opts.ReadOnly:
		return store.ErrReadOnly
	case s.poison != nil:
		return fmt.Errorf("%w: %w", store.ErrPoisoned, s.poison)
	case p.size > s.opts.MaxBatch:
		return fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, p.size, s.opts.MaxBatch)
	}
	s.queue = append(s.queue, p)
	if !s.running {
		s.running = true
		if s.wake == nil {
			s.wake = make(chan struct{}, 1)
			go s.commitLoop()
		}
		s.wake <- struct{}{} // it has room: the loop took the last one before it stopped running
	}
	return nil
}

// commitLoop commits what waits, each time that it is woken.
func (s *Store) commitLoop() {
	for range s.wake {
		for s.take() {
			s.commitTaken()
		}
	}
}

// commitTaken commits the group that was taken.
func (s *Store) commitTaken() {
	outcome, err := s.commitGroup()
	s.finish(outcome, err)
	if err == nil && s.frames >= checkpointFrames {
		s.frames = 0
		if err := s.checkpoint("PASSIVE"); err != nil {
			s.mu.Lock()
			s.poisonLocked(err)
			s.mu.Unlock()
		}
	}
}

// take moves appends from the queue to the group and gives them their places. It
// returns false, and the loop stops running, when none waits.
func (s *Store) take() bool {
	g := &s.group
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.poison != nil {
		for _, p := range s.queue {
			err := fmt.Errorf("%w: %w", store.ErrPoisoned, s.poison)
			p.err = &store.AppendError{Bucket: p.bucket, Outcome: store.NotStored, Err: err}
			close(p.done)
		}
		s.queue = nil
	}
	if len(s.queue) == 0 {
		s.running = false
		s.idle.Broadcast()
		return false
	}
	if g.ends == nil {
		g.ends = make(map[int]int64)
	}
	now, size := time.Now().UnixMilli(), 0
	for n, p := range s.queue {
		if n > 0 && (n >= groupBatches || size+p.size > groupBytes) {
			break
		}
		size += p.size
		b := p.bucket
		if _, ok := g.ends[b]; !ok {
			g.ends[b] = s.ends[b]
			s.clock[b] = max(s.clock[b], now)
		}
		p.taken, p.first = true, g.ends[b]
		g.ends[b] += int64(len(p.events))
		g.members = append(g.members, p)
		g.events = append(g.events, p.events...)
		g.now = append(g.now, s.clock[b])
	}
	s.committing = g.members[0].done
	s.queue = slices.Delete(s.queue, 0, len(g.members))
	s.frames += size/pageSize + 2
	return true
}

// commitGroup writes the group as one transaction. Whatever fails before COMMIT
// leaves nothing behind: without a commit frame the pages in the write-ahead log
// are void, even where the rollback fails too. What fails in COMMIT is unknown.
func (s *Store) commitGroup() (store.Outcome, error) {
	if err := s.begin.run(); err != nil {
		return store.NotStored, err
	}
	next := 0
	for i, p := range s.group.members {
		for k := range int64(p.count) {
			if err := s.insertRow(p.bucket, p.first+k, s.group.now[i], &s.group.events[next]); err != nil {
				return store.NotStored, errors.Join(err, s.writer.exec("ROLLBACK"))
			}
			next++
		}
	}
	if err := s.commit.run(); err != nil {
		return store.Unknown, err
	}
	return store.Stored, nil
}

// finish publishes the end of the group and wakes its callers. After an error
// nothing is written any more, but for a database that another program held locked
// before the transaction began.
func (s *Store) finish(outcome store.Outcome, err error) {
	g := &s.group
	if outcome == store.Stored {
		for b, end := range g.ends {
			if err := s.marks.set(b, end); err != nil {
				s.opts.Logger.Warn("cannot note the acknowledged end", "file", s.files.lock, "error", err)
			}
		}
	}
	s.mu.Lock()
	s.committing = nil
	switch {
	case outcome == store.Stored:
		for b, end := range g.ends {
			s.ends[b] = end
		}
	case !isBusy(err):
		s.poisonLocked(err)
	}
	s.mu.Unlock()
	for _, p := range g.members {
		if err != nil {
			p.first, p.err = 0, &store.AppendError{Bucket: p.bucket, Outcome: outcome, Err: err}
		}
		close(p.done)
	}
	clear(g.members)
	clear(g.events)
	clear(g.ends)
	g.members, g.events, g.now = g.members[:0], g.events[:0], g.now[:0]
}

// poisonLocked ends writing for the life of this store.
func (s *Store) poisonLocked(err error) {
	if s.poison == nil {
		s.poison = err
		s.opts.Logger.Error("log is poisoned, reopen it", "file", s.files.db, "error", err)
	}
}

func isBusy(err error) bool {
	var e *sqliteError
	return errors.As(err, &e) && e.code&0xff == sqlite3.SQLITE_BUSY
}

// insertRow adds one record to the open transaction.
func (s *Store) insertRow(bucket int, offset, now int64, e *intent.Event) error {
	r := &s.row
	r.seq, r.attempt, r.step = seqOf(bucket, offset), int64(e.Attempt), int64(e.Step)
	r.emitted, r.commitMS = e.EmittedAtMS, now
	t, total := textsOf(e), 0
	for i := range t {
		r.lens[i] = len(t[i])
		total += len(t[i])
	}
	text, err := s.buf.bytes(s.writer.tls, total)
	if err != nil {
		return err
	}
	in, at := s.insert, 0
	for i := range t {
		copy(text[at:], t[i])
		in.bindText(ints+1+i, s.buf.p+uintptr(at), len(t[i]))
		at += len(t[i])
	}
	for i, v := range [ints]int64{
		r.seq, int64(bucket), offset, r.attempt, r.step, r.emitted, r.commitMS, int64(r.sum(text)),
	} {
		in.bindInt(1+i, v)
	}
	return in.run()
}

// prepareWriter prepares the statements of commitGroup.
func (s *Store) prepareWriter() (err error) {
	for _, st := range []struct {
		to  **stmt
		sql string
	}{{&s.begin, "BEGIN IMMEDIATE"}, {&s.insert, insertEvent}, {&s.commit, "COMMIT"}} {
		if *st.to, err = s.writer.prepare(st.sql); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint copies the write-ahead log back into the file. SQLite's own automatic
// checkpoint is off, since it hides its errors: after a sync that failed it would
// try again, succeed, and drop the only good copy.
func (s *Store) checkpoint(mode string) error {
	v, err := s.writer.ints("PRAGMA wal_checkpoint("+mode+")", 1)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if v[0] != 0 && mode == "TRUNCATE" {
		return fmt.Errorf("%w: a reader holds on to an old state", store.ErrLocked)
	}
	return nil
}
