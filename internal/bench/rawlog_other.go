//go:build !linux

package main

import "os"

// rawLog is the floor of every durable append: one write and one sync.
type rawLog struct {
	f   *os.File
	rec []byte
}

func newRawLog(path string) (*rawLog, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &rawLog{f: f, rec: make([]byte, 700)}, err
}

func (l *rawLog) append() error {
	if _, err := l.f.Write(l.rec); err != nil {
		return err
	}
	return l.f.Sync()
}

func (l *rawLog) close() { _ = l.f.Close() }
