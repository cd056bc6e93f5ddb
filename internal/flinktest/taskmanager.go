package flinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/intentlog/intentlog/internal/jvm"
)

// TaskManager is one TaskManager of a [Cluster]: the JVM that runs the sources and sinks of a job.
type TaskManager struct {
	id      string
	cluster *Cluster
	proc    *jvm.Process
}

// StartTaskManager adds a TaskManager to the cluster and returns when the JobManager has registered it.
func (c *Cluster) StartTaskManager(ctx context.Context) (*TaskManager, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tm, err := c.launchTaskManager()
	if err != nil {
		return nil, err
	}
	if err := tm.awaitRegistered(ctx); err != nil {
		tm.Kill()
		return nil, err
	}
	return tm, nil
}

// FreshTaskManager replaces all TaskManagers by a new one, a JVM that has seen no job yet, and returns
// when the JobManager knows it and only it. Jobs that run meanwhile lose their TaskManager.
func (c *Cluster) FreshTaskManager(ctx context.Context) (*TaskManager, error) {
	old := c.taskManagers()
	fresh, err := c.StartTaskManager(ctx)
	if err != nil {
		return nil, err
	}
	for _, tm := range old {
		tm.proc.Stop(ctx) // in good order, because the JobManager notices a kill only by a missed heartbeat
	}
	err = c.jobs.Await(ctx, "the old TaskManagers to leave", func(ctx context.Context) error {
		ids, err := c.registered(ctx)
		if err != nil {
			return err
		}
		if !slices.Equal(ids, []string{fresh.id}) {
			return fmt.Errorf("registered are %q", ids)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

// TaskManager returns the TaskManager with the given id, or nil.
func (c *Cluster) TaskManager(id string) *TaskManager {
	for _, tm := range c.taskManagers() {
		if tm.id == id {
			return tm
		}
	}
	return nil
}

func (c *Cluster) launchTaskManager() (*TaskManager, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := "taskmanager-" + strconv.Itoa(c.count)
	c.count++
	command := c.command(id, taskManagerClass, taskManagerHeap,
		"--configDir", c.confDir(), "-Dtaskmanager.resource-id="+id)
	command.JVMArgs = append(command.JVMArgs, "-XX:MaxDirectMemorySize=256m")
	p, err := jvm.Start(command)
	if err != nil {
		return nil, err
	}
	tm := &TaskManager{id: id, cluster: c, proc: p}
	c.tms = append(c.tms, tm)
	return tm, nil
}

func (tm *TaskManager) awaitRegistered(ctx context.Context) error {
	return tm.proc.Await(ctx, "its registration", func(ctx context.Context) error {
		ids, err := tm.cluster.registered(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, tm.id) {
			return errors.New("not registered yet")
		}
		return nil
	})
}

// registered returns the ids of the TaskManagers that the JobManager knows.
func (c *Cluster) registered(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var answer struct {
		TaskManagers []struct {
			ID string `json:"id"`
		} `json:"taskmanagers"`
	}
	if err := c.getJSON(ctx, c.rest+"/taskmanagers", &answer); err != nil {
		return nil, err
	}
	var ids []string
	for _, tm := range answer.TaskManagers {
		ids = append(ids, tm.ID)
	}
	return ids, nil
}

// ID returns the TaskManager's resource id, as [Cluster.VertexTaskManagers] names it. No two
// TaskManagers of a cluster have the same.
func (tm *TaskManager) ID() string { return tm.id }

// Kill ends the TaskManager as kill -9 does and returns when its process is gone.
func (tm *TaskManager) Kill() { tm.proc.Kill() }

// Log returns what the TaskManager has written so far.
func (tm *TaskManager) Log() ([]byte, error) { return tm.proc.Log() }

// LogSize returns the length of the log in bytes, for a later WaitLog.
func (tm *TaskManager) LogSize() int64 { return tm.proc.LogSize() }

// WaitLog returns the first line at or behind byte offset from of the log that contains text, and waits
// for it until ctx ends.
func (tm *TaskManager) WaitLog(ctx context.Context, from int64, text string) (string, error) {
	return tm.proc.WaitLog(ctx, from, text)
}
