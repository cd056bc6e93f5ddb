package sqlitestore

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	_ "modernc.org/sqlite" // sets the library up for this process
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/intentlog/intentlog/store"
)

// This file is the little of SQLite's C interface that a log needs. database/sql
// would do, at a third of the reading speed: it copies, boxes and converts each
// column, and here a column is a slice of SQLite's own memory.

// conn is a connection. It is used by one goroutine at a time.
type conn struct {
	tls *libc.TLS
	db  uintptr
}

// stmt is a prepared statement of a connection, and dies with it.
type stmt struct {
	c *conn
	p uintptr
}

// sqliteError is what SQLite said.
type sqliteError struct {
	code int32 // extended result code
	msg  string
}

func (e *sqliteError) Error() string { return fmt.Sprintf("sqlite: %s (%d)", e.msg, e.code) }

// Is relates SQLite's codes to the errors of a store.
func (e *sqliteError) Is(target error) bool {
	switch e.code & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR:
		// Our statements are fixed, so one that makes no sense, the general error,
		// makes no sense to this file.
		return target == store.ErrCorrupt
	case sqlite3.SQLITE_NOTADB:
		return target == store.ErrForeign
	}
	return false
}

// openConn opens an existing file. name is an absolute path, or a file: URI if
// flags has SQLITE_OPEN_URI.
func openConn(name string, flags int32) (*conn, error) {
	c := &conn{tls: libc.NewTLS()}
	zName, err := libc.CString(name)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, zName)
	out := libc.Xcalloc(c.tls, 1, bits.UintSize/8)
	defer libc.Xfree(c.tls, out)
	flags |= sqlite3.SQLITE_OPEN_NOMUTEX | sqlite3.SQLITE_OPEN_NOFOLLOW | sqlite3.SQLITE_OPEN_EXRESCODE
	rc := sqlite3.Xsqlite3_open_v2(c.tls, zName, out, flags, 0)
	c.db = pointerAt(out)
	if rc != sqlite3.SQLITE_OK {
		err := c.fail(rc)
		c.close()
		return nil, err
	}
	sqlite3.Xsqlite3_busy_timeout(c.tls, c.db, busyTimeoutMS)
	return c, nil
}

// busyTimeoutMS bounds the wait for a lock that another program's SQLite holds.
const busyTimeoutMS = 5000

// close ends the connection and its statements; without a commit, what an open
// transaction wrote is gone.
func (c *conn) close() error {
	if c.tls == nil {
		return nil
	}
	for p := uintptr(0); c.db != 0; {
		if p = sqlite3.Xsqlite3_next_stmt(c.tls, c.db, 0); p == 0 {
			break
		}
		sqlite3.Xsqlite3_finalize(c.tls, p)
	}
	var err error
	if rc := sqlite3.Xsqlite3_close_v2(c.tls, c.db); rc != sqlite3.SQLITE_OK {
		err = &sqliteError{code: rc, msg: "close"}
	}
	c.tls.Close()
	c.tls, c.db = nil, 0
	return err
}

// fail turns a result code into an error, with SQLite's message.
func (c *conn) fail(rc int32) error {
	return &sqliteError{code: rc, msg: libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))}
}

// exec runs SQL text that has no parameters, and drops its rows.
func (c *conn) exec(sql string) error {
	z, err := libc.CString(sql)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, z)
	if rc := sqlite3.Xsqlite3_exec(c.tls, c.db, z, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return c.fail(rc)
	}
	return nil
}

// ints runs a query and returns the integers of its first row.
func (c *conn) ints(sql string, n int) ([]int64, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	defer s.finalize()
	row, err := s.step()
	if err != nil {
		return nil, err
	}
	if !row {
		return nil, fmt.Errorf("%s: no row", sql)
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = s.int(i)
	}
	return v, nil
}

func (c *conn) prepare(sql string) (*stmt, error) {
	z, err := libc.CString(sql)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, z)
	out := libc.Xcalloc(c.tls, 1, bits.UintSize/8)
	defer libc.Xfree(c.tls, out)
	const persistent = sqlite3.SQLITE_PREPARE_PERSISTENT
	if rc := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, z, -1, persistent, out, 0); rc != sqlite3.SQLITE_OK {
		return nil, c.fail(rc)
	}
	return &stmt{c: c, p: pointerAt(out)}, nil
}

// step runs to the next row, or to the end.
func (s *stmt) step() (row bool, err error) {
	switch rc := sqlite3.Xsqlite3_step(s.c.tls, s.p); rc {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.fail(rc)
	}
}

// run steps a statement without rows to its end and makes it ready again. Reset
// repeats the error of step, so only one of the two is looked at.
func (s *stmt) run() error {
	_, err := s.step()
	s.reset()
	return err
}

func (s *stmt) reset()    { sqlite3.Xsqlite3_reset(s.c.tls, s.p) }
func (s *stmt) finalize() { sqlite3.Xsqlite3_finalize(s.c.tls, s.p) }

// bindInt sets parameter i, from 1. It fails only on a wrong index.
func (s *stmt) bindInt(i int, v int64) { sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, int32(i), v) }

// bindText sets parameter i to n bytes at p, which must stay until the reset.
func (s *stmt) bindText(i int, p uintptr, n int) {
	sqlite3.Xsqlite3_bind_text(s.c.tls, s.p, int32(i), p, int32(n), sqlite3.SQLITE_STATIC)
}

// int returns column i, from 0.
func (s *stmt) int(i int) int64 { return sqlite3.Xsqlite3_column_int64(s.c.tls, s.p, int32(i)) }

// bytes returns column i in SQLite's own memory, valid until the next step. Asking
// for a blob, not a text, spares SQLite a copy that ends in a NUL.
func (s *stmt) bytes(i int) []byte {
	p := sqlite3.Xsqlite3_column_blob(s.c.tls, s.p, int32(i))
	if p == 0 {
		return nil
	}
	return libc.GoBytes(p, int(sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i))))
}

// pointerAt reads a C pointer.
func pointerAt(p uintptr) uintptr {
	b := libc.GoBytes(p, bits.UintSize/8)
	if bits.UintSize == 32 {
		return uintptr(binary.NativeEndian.Uint32(b))
	}
	return uintptr(binary.NativeEndian.Uint64(b))
}

// cbuf is memory that SQLite may keep a pointer into. It grows and is reused.
type cbuf struct {
	p    uintptr
	size int
}

// bytes returns the first n bytes of the buffer, whatever they held.
func (b *cbuf) bytes(tls *libc.TLS, n int) ([]byte, error) {
	if n > b.size {
		size := max(n, 2*b.size, 4096)
		p := libc.Xmalloc(tls, types.Size_t(size))
		if p == 0 {
			return nil, &sqliteError{code: sqlite3.SQLITE_NOMEM, msg: "out of memory"}
		}
		b.free(tls)
		b.p, b.size = p, size
	}
	return libc.GoBytes(b.p, n), nil
}

func (b *cbuf) free(tls *libc.TLS) {
	if b.p != 0 {
		libc.Xfree(tls, b.p)
	}
	b.p, b.size = 0, 0
}

// keepWAL makes close leave the write-ahead log as it is.
func (c *conn) keepWAL() {
	const slot = 8 // bytes of one variadic argument
	args := libc.Xcalloc(c.tls, 2, slot)
	defer libc.Xfree(c.tls, args)
	sqlite3.Xsqlite3_db_config(c.tls, c.db, sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
		libc.VaList(args, int32(1), uintptr(0)))
}
