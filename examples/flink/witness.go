package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// freshTaskManager reads the projection on a JVM that has seen no job yet, and shows
// that the scan ran there.
func (p *play) freshTaskManager(ctx context.Context) (o outcome, err error) {
	// The read below is to begin with a snapshot that holds everything.
	if p.snapshot, err = p.awaitSnapshot(ctx, mainDB); err != nil {
		return o, err
	}
	fresh, err := p.flink.FreshTaskManager(ctx)
	if err != nil {
		return o, err
	}
	if p.read, err = p.readProjection(ctx, mainDB, p.report.Events); err != nil {
		return o, err
	}
	p.read.tm = fresh
	job, err := p.flink.AwaitJob(ctx, p.read.jobID, "CANCELED")
	if err != nil {
		return o, err
	}
	if len(job.Vertices) == 0 {
		return o, fmt.Errorf("job %s has no vertices", job.ID)
	}
	ids, err := p.flink.VertexTaskManagers(ctx, job.ID, job.Vertices[0].ID)
	if err != nil {
		return o, err
	}
	line, err := fresh.WaitLog(ctx, 0, "Adding split(s) to reader")
	if err != nil {
		return o, err
	}
	if !strings.Contains(line, "SnapshotLogSplit{") {
		err = fmt.Errorf("no scan of a table with a primary key: %s", line)
	}
	o = outcome{int64(len(p.read.events)), fmt.Sprintf("vertex %q of job %s ran on %s", job.Vertices[0].Name, job.ID, fresh.ID())}
	return o, errors.Join(err, unequal("TaskManagers", ids, []string{fresh.ID()}), sameRows(p.read.events, p.log))
}

// splitLine is what a TaskManager says of the split that it reads.
var splitLine = regexp.MustCompile(`snapshotId=(-?\d+),.* logStartingOffset=(-?\d+)`)

// kvSnapshot shows by which snapshot and which files that same read began, and that the
// rest of the table's change log was empty.
func (p *play) kvSnapshot(ctx context.Context) (o outcome, err error) {
	if p.read == nil {
		return o, errors.New("nothing was read")
	}
	id, end, err := p.changes(ctx, mainDB)
	if err != nil {
		return o, err
	}
	line, err := p.read.tm.WaitLog(ctx, 0, fmt.Sprintf("TableBucket{tableId=%d, bucket=0}", id))
	if err != nil {
		return o, err
	}
	m := splitLine.FindStringSubmatch(line)
	if m == nil || m[1] != fmt.Sprint(p.snapshot.ID) {
		return o, fmt.Errorf("snapshot %d was not read: %s", p.snapshot.ID, line)
	}
	files := p.snapshot.files()
	for _, name := range files {
		if _, err := os.Stat(name); err != nil {
			return o, err
		}
	}
	o = outcome{p.snapshot.Rows, fmt.Sprintf("snapshot %s, %d files, one is %s; log interval [%s, %d)", m[1], len(files), filepath.Base(files[0]), m[2], end)}
	return o, errors.Join(
		unequal("beginning of the log interval", m[2], fmt.Sprint(end)),
		unequal("rows in the snapshot", p.snapshot.Rows, int64(len(p.read.events))),
	)
}

// snapshot is what a tablet server writes about a snapshot of a bucket.
type snapshot struct {
	ID     int64 `json:"snapshot_id"`
	Offset int64 `json:"log_offset"` // of the change log, up to which it goes
	Rows   int64 `json:"row_count"`
	Files  struct {
		Shared  []snapshotFile `json:"shared_file_handles"`
		Private []snapshotFile `json:"private_file_handles"`
	} `json:"kv_snapshot_handle"`
}

type snapshotFile struct {
	Handle struct {
		Path string `json:"path"`
	} `json:"kv_file_handle"`
}

func (s *snapshot) files() (paths []string) {
	for _, f := range slices.Concat(s.Files.Shared, s.Files.Private) {
		paths = append(paths, f.Handle.Path)
	}
	return paths
}

// awaitSnapshot waits for a snapshot of a projection that holds all of its changes.
func (l *lab) awaitSnapshot(ctx context.Context, database string) (*snapshot, error) {
	id, end, err := l.changes(ctx, database)
	if err != nil {
		return nil, err
	}
	pattern := filepath.Join(l.fluss.RemoteDir(), "kv", database, fmt.Sprintf("events_by_id-%d", id), "0", "snap-*", "_METADATA")
	var s *snapshot
	err = poll(ctx, func() (bool, error) {
		names, err := filepath.Glob(pattern)
		for _, name := range names {
			s = &snapshot{}
			text, err := os.ReadFile(name)
			// A file that is half written, or was just deleted, is no error.
			if err == nil && json.Unmarshal(text, s) == nil && s.Offset == end {
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("wait for a snapshot of %s at offset %d: %w", database, end, err)
	}
	return s, nil
}
