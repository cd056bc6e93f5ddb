package sqlitestore

import (
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/intentlog/intentlog/store"
)

// judgeFile looks at the file without opening it: see [marks] for the reason.
func judgeFile(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%w: %s is a symbolic link", store.ErrForeign, path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a file", store.ErrForeign, path)
	case info.Size() == 0:
		return fmt.Errorf("%w: %s is empty", store.ErrForeign, path)
	}
	return nil
}

// verify checks that the file is a log of this format, the one that was asked for,
// and whole as far as its ends tell. It learns the number of buckets and the ends.
func (s *Store) verify(c *conn) error {
	if err := c.exec("PRAGMA trusted_schema=OFF"); err != nil {
		return err
	}
	head, err := c.ints("SELECT a.application_id, v.user_version FROM pragma_application_id a, pragma_user_version v", 2)
	if err != nil {
		return err
	}
	if head[0] != applicationID {
		return fmt.Errorf("%w: application id %#x", store.ErrForeign, head[0])
	}
	if head[1] != formatVersion {
		return fmt.Errorf("%w: the file has version %d, this library knows %d", store.ErrVersion, head[1], formatVersion)
	}
	if err := verifySchema(c); err != nil {
		return err
	}
	id, buckets, err := readLog(c)
	if err != nil {
		return err
	}
	if s.opts.LogID != "" && s.opts.LogID != id {
		return fmt.Errorf("%w: log id %q, want %q", store.ErrForeign, id, s.opts.LogID)
	}
	if s.opts.Buckets != 0 && s.opts.Buckets != buckets {
		return fmt.Errorf("%w: it has %d buckets, want %d", store.ErrForeign, buckets, s.opts.Buckets)
	}
	s.logID = id
	s.ends, s.clock = make([]int64, buckets), make([]int64, buckets)
	last, err := c.prepare(selectLast)
	if err != nil {
		return err
	}
	defer last.finalize()
	for b := range s.ends {
		if s.ends[b], s.clock[b], err = readEnd(last, b); err != nil {
			return err
		}
	}
	if s.marks == nil {
		return nil
	}
	if err := s.marks.check(id, s.ends); err != nil || s.writer == nil {
		return err
	}
	return s.marks.adopt(id, s.ends)
}

// verifySchema refuses tables that are not ours, and triggers and views, which
// could change what an insert does. An index that somebody added is none of our
// business.
func verifySchema(c *conn) error {
	st, err := c.prepare("SELECT type, sql FROM sqlite_schema WHERE type <> 'index' ORDER BY name")
	if err != nil {
		return err
	}
	defer st.finalize()
	want := []string{createEvents, createLog}
	for {
		row, err := st.step()
		if err != nil {
			return err
		}
		if !row {
			break
		}
		if len(want) == 0 || string(st.bytes(1)) != want[0] {
			return fmt.Errorf("%w: schema holds %.40q", store.ErrForeign, st.bytes(1))
		}
		want = want[1:]
	}
	if len(want) > 0 {
		return fmt.Errorf("%w: a table is missing", store.ErrForeign)
	}
	return nil
}

// readLog reads the only row of table log.
func readLog(c *conn) (id string, buckets int, err error) {
	st, err := c.prepare("SELECT buckets, crc32c, log_id FROM log")
	if err != nil {
		return "", 0, err
	}
	defer st.finalize()
	row, err := st.step()
	if err != nil {
		return "", 0, err
	}
	if !row {
		return "", 0, fmt.Errorf("%w: table log is empty", store.ErrCorrupt)
	}
	n := st.int(0)
	id = strings.Clone(string(st.bytes(2)))
	if st.int(1) != int64(sumLog(id, n)) || n < 1 || n > maxBuckets {
		return "", 0, fmt.Errorf("%w: table log", store.ErrCorrupt)
	}
	return id, int(n), nil
}

// readEnd finds the end of a bucket and the commit time of its last record.
func readEnd(last *stmt, bucket int) (end, commitMS int64, err error) {
	last.bindInt(1, seqOf(bucket, 0))
	last.bindInt(2, seqOf(bucket+1, 0))
	defer last.reset()
	found, err := last.step()
	if err != nil || !found {
		return 0, 0, err
	}
	var r row
	if _, err := r.scan(last, nil); err != nil {
		return 0, 0, fmt.Errorf("last record of bucket %d: %w", bucket, err)
	}
	return r.seq - seqOf(bucket, 0) + 1, r.commitMS, nil
}

// validLogID tells whether id may stand in the file.
func validLogID(id string) bool { return len(id) == idLength && uuid.Validate(id) == nil }
