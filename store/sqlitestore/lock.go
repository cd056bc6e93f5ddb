package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/intentlog/intentlog/store"
)

// The lock file stands beside the log. Who holds an exclusive lock on it is the
// writer. A lock on the log itself would not do: closing any descriptor of that
// file drops the POSIX locks that SQLite holds on it in this process.
//
// It also notes the acknowledged end of each bucket, written after the sync of the
// log and before the acknowledgement, and not synced: so a mark is never too high,
// is exact after the death of a process, and may be old after a power cut.
//
//	0   8  "iLogEnds"
//	8  36  log ID
//	44  4  CRC-32C of the log ID
//	64 16  bucket 0: end as uint64, CRC-32C of log ID, bucket and end as uint32, 4 zeros
//	80 16  bucket 1, and so on
//
// All integers are little-endian. No slot crosses a sector, so none is torn.
const (
	markMagic = "iLogEnds"
	markHead  = 64
	markSlot  = 16
	idLength  = 36
)

// marks is an open lock file.
type marks struct {
	f     *os.File
	logID string
}

// openMarks opens the lock file, for the writer with the lock or an error.
func openMarks(path string, write bool) (*marks, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR | os.O_CREATE
	}
	f, err := os.OpenFile(path, flag|openNoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	m := &marks{f: f}
	if write {
		if err := lockFile(f); err != nil {
			f.Close()
			return nil, err
		}
	}
	return m, m.readHead()
}

// readHead learns which log the marks are about. Damaged marks are no marks: they
// are a help, and a log is not refused for want of it.
func (m *marks) readHead() error {
	var head [markHead]byte
	if _, err := m.f.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		m.f.Close()
		return err
	}
	id := head[8 : 8+idLength]
	if string(head[:8]) == markMagic && binary.LittleEndian.Uint32(head[8+idLength:]) == crc32.Checksum(id, castagnoli) {
		m.logID = string(id)
	}
	return nil
}

// end returns the acknowledged end of a bucket, or 0 where none is known.
func (m *marks) end(bucket int) int64 {
	var slot [markSlot]byte
	if _, err := m.f.ReadAt(slot[:], markHead+int64(bucket)*markSlot); err != nil {
		return 0
	}
	end := int64(binary.LittleEndian.Uint64(slot[:]))
	if slot != m.slot(bucket, end) {
		return 0
	}
	return end
}

// slot is the form of a mark in the file.
func (m *marks) slot(bucket int, end int64) (s [markSlot]byte) {
	binary.LittleEndian.PutUint64(s[:], uint64(end))
	var b [12]byte
	copy(b[:], s[:8])
	binary.LittleEndian.PutUint32(b[8:], uint32(bucket))
	sum := crc32.Update(crc32.Checksum([]byte(m.logID), castagnoli), castagnoli, b[:])
	binary.LittleEndian.PutUint32(s[8:], sum)
	return s
}

// set notes the acknowledged end of a bucket.
func (m *marks) set(bucket int, end int64) error {
	s := m.slot(bucket, end)
	_, err := m.f.WriteAt(s[:], markHead+int64(bucket)*markSlot)
	return err
}

// adopt makes the marks those of a log with the given ends.
func (m *marks) adopt(logID string, ends []int64) error {
	m.logID = logID
	head := make([]byte, markHead, markHead+len(ends)*markSlot)
	copy(head, markMagic)
	copy(head[8:], logID)
	binary.LittleEndian.PutUint32(head[8+idLength:], crc32.Checksum([]byte(logID), castagnoli))
	for bucket, end := range ends {
		s := m.slot(bucket, end)
		head = append(head, s[:]...)
	}
	_, err := m.f.WriteAt(head, 0)
	return err
}

// check compares the log that was found with what the marks know.
func (m *marks) check(logID string, ends []int64) error {
	if m.logID == "" {
		return nil
	}
	if m.logID != logID {
		return fmt.Errorf("%w: %s belongs to log %q, the log is %q", store.ErrForeign, m.f.Name(), m.logID, logID)
	}
	for bucket, end := range ends {
		if acked := m.end(bucket); acked > end {
			return fmt.Errorf("%w: bucket %d ends at %d, acknowledged up to %d by %s",
				store.ErrLogRegressed, bucket, end, acked, m.f.Name())
		}
	}
	return nil
}

// close releases the lock.
func (m *marks) close() error {
	if m == nil {
		return nil
	}
	return m.f.Close()
}

// exists tells whether anything has this name, a dangling symbolic link included.
func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
