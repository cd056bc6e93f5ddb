package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

// flussPlace returns where a run on Fluss has its logs: a fresh database in the
// cluster at bootstrap, or in one that is started for the run. The form is
// fluss:HOST:PORT/DATABASE.
func flussPlace(ctx context.Context, bootstrap string) (place string, stop func(), err error) {
	stop = func() {}
	if bootstrap == "" {
		c, err := flusstest.StartCluster(ctx, flusstest.ClusterOptions{
			QuickStart: true,
			// Here workers are killed, not servers: one that stands still for a while has not died.
			Config: map[string]string{"zookeeper.client.session-timeout": "20s"},
		})
		if err != nil {
			return "", nil, err
		}
		bootstrap, stop = c.Bootstrap(), c.Close
	}
	return fmt.Sprintf("fluss:%s/crash_%d", bootstrap, time.Now().UnixMilli()), stop, nil
}

// flussPatience is how long a new table may take to get a leader.
const flussPatience = 10 * time.Second

// newFlussLog makes the log of the case in dir: a table, which any number of workers
// share without help. The coordinator of Fluss 0.9.1 may miss that a table was
// created, and then it never gets a leader: the next name is tried.
func newFlussLog(ctx context.Context, place, dir string) (*caseLog, error) {
	for try := 1; ; try++ {
		address := fmt.Sprintf("%s/%s_%d", place, strings.ReplaceAll(filepath.Base(dir), "-", "_"), try)
		limited, cancel := context.WithTimeout(ctx, flussPatience)
		st, err := openFluss(limited, address, true)
		cancel()
		if err != nil && try < 3 && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &caseLog{
			address: address, label: "fluss",
			read:  func(ctx context.Context) ([]store.Record, error) { return readAll(ctx, st) },
			close: st.Close,
		}, nil
	}
}

// openFluss opens a log at fluss:HOST:PORT/DATABASE/TABLE.
func openFluss(ctx context.Context, address string, create bool) (store.Store, error) {
	part := strings.Split(strings.TrimPrefix(address, "fluss:"), "/")
	if len(part) != 3 {
		return nil, fmt.Errorf("no log at %q", address)
	}
	return flussstore.Open(ctx, part[0], &flussstore.Options{Database: part[1], Table: part[2], Create: create})
}
