package sqlitestore

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/intentlog/intentlog/store"
)

// files are the names of a log.
type files struct{ dir, db, wal, lock, fresh string }

// locate resolves the directory of a log and judges it. The log itself may not be a
// symbolic link, nor may others be able to put one in its place.
func locate(path string) (files, error) {
	if path == "" || strings.HasPrefix(path, ":") || strings.HasPrefix(path, "file:") {
		return files{}, fmt.Errorf("%q is no path of a file", path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return files{}, fmt.Errorf("%w: %s is a directory", store.ErrForeign, path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return files{}, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return files{}, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return files{}, err
	}
	if openNoFollow != 0 && info.Mode().Perm()&0o002 != 0 && info.Mode()&os.ModeSticky == 0 {
		return files{}, fmt.Errorf("directory %s can be written by everybody", dir)
	}
	db := filepath.Join(dir, filepath.Base(abs))
	return files{dir: dir, db: db, wal: db + "-wal", lock: db + "-lock", fresh: db + "-new"}, nil
}

// openWriter locks, opens or creates, and judges the log.
func (s *Store) openWriter(mustExist bool) error {
	found, err := exists(s.files.db)
	if err != nil {
		return err
	}
	if !found && mustExist {
		return store.ErrNotFound
	}
	if s.marks, err = openMarks(s.files.lock, true); err != nil {
		return err
	}
	// Only now nobody else creates it.
	if found, err = exists(s.files.db); err != nil {
		return err
	}
	if !found {
		if err := s.create(); err != nil {
			return err
		}
	}
	if err := judgeFile(s.files.db); err != nil {
		return err
	}
	if s.writer, err = openConn(s.files.db, sqlite3.SQLITE_OPEN_READWRITE); err != nil {
		return err
	}
	if sqlite3.Xsqlite3_db_readonly(s.writer.tls, s.writer.db, 0) != 0 {
		return &os.PathError{Op: "open for writing", Path: s.files.db, Err: os.ErrPermission}
	}
	if err := s.verify(s.writer); err != nil {
		return err
	}
	// Copy what the write-ahead log holds into the file and sync it. After a sync
	// that failed in an earlier life, those pages may be in the kernel's memory but
	// not on the disk, and no later sync of the same pages would tell.
	for _, sql := range []string{
		"PRAGMA synchronous=FULL", "PRAGMA wal_autocheckpoint=0", "PRAGMA cache_size=-8192",
	} {
		if err := s.writer.exec(sql); err != nil {
			return err
		}
	}
	if err := s.checkpoint("TRUNCATE"); err != nil {
		return err
	}
	return s.prepareWriter()
}

// openReader opens an existing log beside a writer, or without one.
func (s *Store) openReader() error {
	if found, err := exists(s.files.db); err != nil || !found {
		return errors.Join(err, store.ErrNotFound)
	}
	if err := judgeFile(s.files.db); err != nil {
		return err
	}
	// The marks first: the log is then at least as long.
	m, err := openMarks(s.files.lock, false)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err == nil {
		s.marks = m
	}
	c, err := s.connectReader()
	if err != nil {
		return err
	}
	r := &readConn{conn: c}
	s.readers = append(s.readers, r)
	if err := s.verify(c); err != nil {
		return err
	}
	return r.prepare()
}

// create builds a log under another name and gives it its own only when it is
// whole and durable, so that no crash leaves half a log behind.
func (s *Store) create() error {
	if s.marks.logID != "" {
		return fmt.Errorf("%w: %s tells of a log that is gone", store.ErrNotFound, s.files.lock)
	}
	for _, ext := range []string{"-wal", "-journal"} {
		if found, err := exists(s.files.db + ext); err != nil || found {
			return errors.Join(err, fmt.Errorf("%w: but its %s is there", store.ErrNotFound, s.files.db+ext))
		}
		if err := os.Remove(s.files.fresh + ext); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.Remove(s.files.fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	id := s.opts.LogID
	if id == "" {
		fresh, err := uuid.NewRandom()
		if err != nil {
			return err
		}
		id = fresh.String()
	}
	buckets := int64(max(s.opts.Buckets, 1))

	f, err := os.OpenFile(s.files.fresh, os.O_RDWR|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	c, err := openConn(s.files.fresh, sqlite3.SQLITE_OPEN_READWRITE)
	if err != nil {
		return err
	}
	for _, sql := range []string{
		fmt.Sprintf("PRAGMA page_size=%d", pageSize),
		"PRAGMA synchronous=EXTRA",
		"BEGIN",
		fmt.Sprintf("PRAGMA application_id=%d", applicationID),
		fmt.Sprintf("PRAGMA user_version=%d", formatVersion),
		createEvents, createLog,
		fmt.Sprintf("INSERT INTO log VALUES ('%s', %d, %d)", id, buckets, sumLog(id, buckets)),
		"COMMIT",
		"PRAGMA journal_mode=WAL", // the file remembers it
	} {
		if err := c.exec(sql); err != nil {
			c.close()
			return err
		}
	}
	if err := c.close(); err != nil {
		return err
	}
	if err := os.Rename(s.files.fresh, s.files.db); err != nil {
		return err
	}
	return syncDir(s.files.dir)
}

// pageSize balances a lone append, which writes a page or two, against reading.
const pageSize = 8192

// uriImmutable names a file that nobody can write, on a read-only file system.
func uriImmutable(path string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "immutable=1"}
	return u.String()
}
