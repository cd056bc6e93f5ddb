package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/intentlog/intentlog/store"
)

// A read goes in chunks, each its own short read transaction, so that a slow reader
// does not keep the write-ahead log from being emptied. Chunks begin small, for the
// few records behind a bound, and grow; from the second on a goroutine decodes the
// next one while fn works on this one.
const (
	firstChunk = 8 << 10
	lastChunk  = 512 << 10
	idleConns  = 2 // read connections that are kept
)

// readConn is a connection for reading, used by one read at a time.
type readConn struct {
	conn *conn
	rows *stmt
	last *stmt
	row  row    // the row at hand
	text []byte // its text columns, reused
}

// chunk is a run of records whose strings share one buffer, or the error that came
// after them.
type chunk struct {
	records []store.Record
	next    int64 // the offset behind them
	err     error
}

// Read implements [store.Store]. The strings of a record share a buffer of up to
// 512 KiB with their neighbours.
func (s *Store) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	fail := func(at int64, err error) error { return &store.ReadError{Bucket: bucket, Offset: at, Err: err} }
	if err := s.check(ctx, bucket); err != nil {
		return fail(from, err)
	}
	if from < 0 || from > to {
		return fail(from, fmt.Errorf("no such range [%d, %d)", from, to))
	}
	if err := s.within(ctx, bucket, to); err != nil {
		return fail(from, err)
	}
	if from == to {
		return nil
	}
	r, err := s.getReader()
	if err != nil {
		return fail(from, err)
	}
	deliver := func(c *chunk) error {
		if err := s.check(ctx, bucket); err != nil {
			return fail(c.next-int64(len(c.records)), err)
		}
		for i := range c.records {
			if err := ctx.Err(); err != nil {
				return fail(c.records[i].Offset, err)
			}
			if err := fn(&c.records[i]); err != nil {
				return err
			}
		}
		if c.err != nil {
			return fail(c.next, c.err)
		}
		return nil
	}
	c := r.chunk(bucket, from, to, firstChunk)
	if c.err != nil || c.next == to {
		s.putReader(r)
		return deliver(&c)
	}

	chunks, stop := make(chan chunk, 1), make(chan struct{})
	go func() {
		defer close(chunks)
		defer s.putReader(r)
		at, err := c.next, error(nil)
		for size := 4 * firstChunk; at < to && err == nil; size = min(4*size, lastChunk) {
			c := r.chunk(bucket, at, to, size)
			at, err = c.next, c.err
			select {
			case chunks <- c:
			case <-stop:
				return
			}
		}
	}()
	err = deliver(&c)
	for c := range chunks {
		if err != nil {
			break
		}
		err = deliver(&c)
	}
	close(stop)
	for range chunks { // the goroutine ends before Read does
	}
	return err
}

// within refuses a range that ends beyond the log.
func (s *Store) within(ctx context.Context, bucket int, to int64) error {
	s.mu.Lock()
	end := s.ends[bucket]
	s.mu.Unlock()
	if to > end && s.opts.ReadOnly {
		b, err := s.bound(ctx, bucket)
		if err != nil {
			return err
		}
		end = b.End
	}
	if to > end {
		return fmt.Errorf("%w: end %d, asked up to %d", store.ErrBeyondEnd, end, to)
	}
	return nil
}

// chunk reads records from offset at on, but not beyond to, until their text fills
// size bytes. There is at least one record, or an error.
func (r *readConn) chunk(bucket int, at, to int64, size int) chunk {
	c := chunk{next: at}
	r.rows.bindInt(1, seqOf(bucket, at))
	r.rows.bindInt(2, seqOf(bucket, to))
	defer r.rows.reset()
	var text strings.Builder
	for c.next < to {
		found, err := r.rows.step()
		if err != nil {
			c.err = err
			return c
		}
		if !found {
			c.err = missing(c.next, -1)
			return c
		}
		w := &r.row
		if r.text, c.err = w.scan(r.rows, r.text[:0]); c.err != nil {
			return c
		}
		if w.seq != seqOf(bucket, c.next) {
			c.err = missing(c.next, w.seq-seqOf(bucket, 0))
			return c
		}
		if text.Cap() == 0 {
			text.Grow(max(size, len(r.text)))
			c.records = make([]store.Record, 0, min(to-at, int64(size/512+1)))
		}
		if text.Len()+len(r.text) > text.Cap() {
			return c // this row begins the next chunk
		}
		start := text.Len()
		text.Write(r.text)
		c.records = append(c.records, w.record(text.String()[start:]))
		c.next++
	}
	return c
}

// missing names the kind of hole: the record at offset want is not there, and got,
// if not negative, is the next that is.
func missing(want, got int64) error {
	switch {
	case got < 0:
		return fmt.Errorf("%w: it ends at %d", store.ErrLogRegressed, want)
	case want == 0:
		return fmt.Errorf("%w: it begins at %d", store.ErrPrefixMissing, got)
	}
	return fmt.Errorf("%w: from %d to %d", store.ErrGap, want, got)
}

// fileEnd asks the file for the end of a bucket. An end below one that this store
// returned before is an error.
func (s *Store) fileEnd(bucket int) (end, clock int64, err error) {
	s.mu.Lock()
	before := s.ends[bucket]
	s.mu.Unlock()
	r, err := s.getReader()
	if err != nil {
		return 0, 0, err
	}
	defer s.putReader(r)
	if end, clock, err = readEnd(r.last, bucket); err != nil {
		return 0, 0, err
	}
	if end < before {
		return 0, 0, fmt.Errorf("%w: it ends at %d, and ended at %d", store.ErrLogRegressed, end, before)
	}
	return end, clock, nil
}

// getReader returns a connection that nobody uses.
func (s *Store) getReader() (*readConn, error) {
	s.mu.Lock()
	if n := len(s.readers); n > 0 {
		r := s.readers[n-1]
		s.readers = s.readers[:n-1]
		s.mu.Unlock()
		return r, nil
	}
	s.mu.Unlock()
	return s.openReadConn()
}

// putReader gives a connection back.
func (s *Store) putReader(r *readConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.readers) >= idleConns {
		r.close()
		return
	}
	s.readers = append(s.readers, r)
}

func (s *Store) openReadConn() (*readConn, error) {
	c, err := s.connectReader()
	if err != nil {
		return nil, err
	}
	r := &readConn{conn: c}
	if err := r.prepare(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// connectReader opens the file for reading, and reads it.
func (s *Store) connectReader() (*conn, error) {
	c, err := connect(s.files.db, sqlite3.SQLITE_OPEN_READONLY)
	var e *sqliteError
	if !errors.As(err, &e) || (e.code&0xff != sqlite3.SQLITE_CANTOPEN && e.code&0xff != sqlite3.SQLITE_READONLY) {
		return c, err
	}
	// Where the directory cannot be written, SQLite cannot share a write-ahead log.
	// Without one the file alone is the log.
	if info, statErr := os.Lstat(s.files.wal); statErr == nil && info.Size() > 0 || !s.opts.ReadOnly {
		return nil, err
	}
	return connect(uriImmutable(s.files.db), sqlite3.SQLITE_OPEN_READONLY|sqlite3.SQLITE_OPEN_URI)
}

// connect opens a file and reads its schema, since opening alone reads nothing.
func connect(name string, flags int32) (*conn, error) {
	c, err := openConn(name, flags)
	if err != nil {
		return nil, err
	}
	if err := c.exec("PRAGMA cache_size=-1024; SELECT count(*) FROM sqlite_schema"); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (r *readConn) prepare() (err error) {
	if r.rows, err = r.conn.prepare(selectRange); err != nil {
		return err
	}
	r.last, err = r.conn.prepare(selectLast)
	return err
}

func (r *readConn) close() { r.conn.close() }
