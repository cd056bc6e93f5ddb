package flinktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Job is what the JobManager tells about a job.
type Job struct {
	ID       string   `json:"jid"`
	Name     string   `json:"name"`
	State    string   `json:"state"`    // RUNNING, FINISHED, FAILED, CANCELED, ...
	Type     string   `json:"job-type"` // BATCH or STREAMING
	Vertices []Vertex `json:"vertices"`
}

// Vertex is a chain of operators that runs on TaskManagers.
type Vertex struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	State   string `json:"status"`
	Metrics struct {
		ReadRecords  int64 `json:"read-records"`
		WriteRecords int64 `json:"write-records"`
	} `json:"metrics"`
}

// Job asks the JobManager about the job with the given id.
func (c *Cluster) Job(ctx context.Context, id string) (Job, error) {
	var j Job
	if err := c.getJSON(ctx, c.rest+"/jobs/"+id, &j); err != nil {
		return Job{}, fmt.Errorf("job %s: %w", id, err)
	}
	return j, nil
}

// ended says which states of a job are its last.
var ended = map[string]bool{"FINISHED": true, "FAILED": true, "CANCELED": true}

// ErrJobState says that a job ended in another state than was awaited.
var ErrJobState = errors.New("the job ended in another state")

// AwaitJob waits until the job is in the given state and returns it. It ends early, with the job and an error that
// wraps [ErrJobState], when the job ends in another state.
func (c *Cluster) AwaitJob(ctx context.Context, id, state string) (Job, error) {
	for {
		j, err := c.Job(ctx, id)
		switch {
		case err != nil:
			return Job{}, err
		case j.State == state:
			return j, nil
		case ended[j.State]:
			return j, fmt.Errorf("job %s: %w: %s", id, ErrJobState, j.State)
		}
		if err := pause(ctx); err != nil {
			return j, fmt.Errorf("job %s is %s and not %s: %w", id, j.State, state, err)
		}
	}
}

// VertexTaskManagers returns the ids of the TaskManagers that ran a vertex of a job.
func (c *Cluster) VertexTaskManagers(ctx context.Context, job, vertex string) ([]string, error) {
	var answer struct {
		TaskManagers []struct {
			ID string `json:"taskmanager-id"`
		} `json:"taskmanagers"`
	}
	url := c.rest + "/jobs/" + job + "/vertices/" + vertex + "/taskmanagers"
	if err := c.getJSON(ctx, url, &answer); err != nil {
		return nil, fmt.Errorf("task managers of job %s: %w", job, err)
	}
	var ids []string
	for _, tm := range answer.TaskManagers {
		ids = append(ids, tm.ID)
	}
	return ids, nil
}

func (c *Cluster) getJSON(ctx context.Context, url string, into any) error {
	return callJSON(ctx, c.http, http.MethodGet, url, nil, into)
}

// maxAnswer bounds an answer of Flink; a page of rows is far below it.
const maxAnswer = 256 << 20

// pause waits a moment between two questions, or returns the error of ctx.
func pause(ctx context.Context) error {
	t := time.NewTimer(20 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func readAll(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err == nil && len(b) > maxAnswer {
		err = fmt.Errorf("answer of more than %d bytes", maxAnswer)
	}
	return b, err
}

func decode(b []byte, into any) error {
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}
