package main

import (
	"database/sql"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	_ "modernc.org/sqlite"
)

var record = make([]byte, 700)

func bbolt64(dir string) (float64, error) {
	dir, err := os.MkdirTemp(dir, "bbolt")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	db, err := bolt.Open(filepath.Join(dir, "b"), 0o600, &bolt.Options{NoFreelistSync: true})
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.MaxBatchDelay = 200 * time.Microsecond // the default of 10 ms would be unfair to it
	var seq atomic.Uint64
	return rate(20_000, 64, func(int) error {
		return db.Batch(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("x"))
			if err != nil {
				return err
			}
			b.FillPercent = 1
			return b.Put(binary.BigEndian.AppendUint64(nil, seq.Add(1)), record)
		})
	})
}

func sqlite64(dir string) (float64, error) {
	dir, err := os.MkdirTemp(dir, "sqlite")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "s.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("create table e(off integer primary key, detail blob)"); err != nil {
		return 0, err
	}
	st, err := db.Prepare("insert into e(detail) values(?)")
	if err != nil {
		return 0, err
	}
	return rate(6000, 64, func(int) error {
		_, err := st.Exec(record)
		return err
	})
}

// scan reads the nine columns of all rows, as a program without the library would.
func scan(file string) (float64, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	start := time.Now()
	rows, err := db.Query("select job_id, event_id, attempt, step, event_type, action_id, payload_digest, emitted_at_ms, detail from job_events order by bucket, log_offset")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var job, event, typ, action, digest, detail string
	var attempt, step, ms int64
	for rows.Next() {
		if err := rows.Scan(&job, &event, &attempt, &step, &typ, &action, &digest, &ms, &detail); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds(), rows.Err()
}
