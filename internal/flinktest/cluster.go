package flinktest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/intentlog/intentlog/internal/jvm"
)

// Version is a release line of Flink; the zero value is the older.
type Version int

// The release lines that a Cluster runs, each with the connector made for it.
const (
	Flink120 Version = iota // Flink 1.20
	Flink22                 // Flink 2.2
)

// ConnectorVersion is the release of the Fluss connector. 1.0.0 is not published for Maven (only its
// client is), so queries that need its bounded reads cannot be tried here.
const ConnectorVersion = "0.9.1-incubating"

//go:embed pom.xml
var pom []byte

// release returns the Flink release of the line that has all its modules published, and the connector.
func (v Version) release() (flink, connector string) {
	if v == Flink22 {
		return "2.2.0", "fluss-flink-2.2"
	}
	return "1.20.3", "fluss-flink-1.20"
}

// String returns the full release number, such as 1.20.3.
func (v Version) String() string {
	flink, _ := v.release()
	return flink
}

func (v Version) bundle() jvm.Bundle {
	flink, connector := v.release()
	return jvm.Bundle{Name: "flink-" + flink, POM: pom, Properties: []string{
		"flink.version=" + flink, "fluss.connector=" + connector, "fluss.version=" + ConnectorVersion,
	}}
}

// Options says what kind of cluster to start.
type Options struct {
	Version Version
	// QuickStart lets the JVMs compile with the fast compiler only: they start in half the time, and
	// are slower ever after. Tests want it, measurements do not.
	QuickStart bool
}

// Cluster is a running Flink session cluster with a SQL gateway.
type Cluster struct {
	options   Options
	classPath string
	dir       string
	rest      string // base URL of the JobManager
	gateway   string // address of the SQL gateway, host:port
	rpcPort   int
	http      *http.Client
	release   []func()
	jobs, sql *jvm.Process // the JobManager and the gateway

	mu    sync.Mutex
	tms   []*TaskManager // all that were started, ended ones too
	count int            // how many were started, for their names
}

// startTimeout bounds a start. A quiet machine with two cores needs under ten seconds.
const startTimeout = 3 * time.Minute

// Start fetches the jars if they are not in the cache, starts a JobManager, one TaskManager and the SQL
// gateway, and returns when all three answer. An error shows the end of the log of the process that did not;
// nothing is left running then. The end of ctx afterwards does not stop the cluster: Close does, and on
// Linux the end of the process.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	classPath, err := o.Version.bundle().Fetch(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, classPath: classPath, http: &http.Client{}}
	if err := c.start(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("start Flink %s: %w", o.Version, err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	dir, release, err := jvm.Scratch("intentlog-flink-")
	if err != nil {
		return err
	}
	c.dir, c.release = dir, append(c.release, release)
	ports, release, err := jvm.Ports(3)
	if err != nil {
		return err
	}
	c.release = append(c.release, release)
	c.rest = "http://127.0.0.1:" + strconv.Itoa(ports[0])
	c.rpcPort = ports[1]
	c.gateway = "127.0.0.1:" + strconv.Itoa(ports[2])
	if err := errors.Join(
		os.MkdirAll(c.confDir(), 0o755),
		os.MkdirAll(filepath.Join(dir, "tmp"), 0o755),
		os.WriteFile(filepath.Join(c.confDir(), "config.yaml"), config(dir, ports[0], ports[1]), 0o644),
	); err != nil {
		return err
	}
	// All three start at once; TaskManagers look for the JobManager until they find it.
	if c.jobs, err = jvm.Start(c.command("jobmanager", jobManagerClass, jobManagerHeap,
		"--configDir", c.confDir(), "--executionMode", "cluster")); err != nil {
		return err
	}
	if c.sql, err = jvm.Start(c.command("gateway", gatewayClass, gatewayHeap,
		"-Dexecution.target=remote", "-Drest.address=127.0.0.1", "-Drest.port="+strconv.Itoa(ports[0]),
		"-Dsql-gateway.endpoint.rest.address=127.0.0.1", "-Dsql-gateway.endpoint.rest.bind-address=127.0.0.1",
		"-Dsql-gateway.endpoint.rest.port="+strconv.Itoa(ports[2]))); err != nil {
		return err
	}
	tm, err := c.launchTaskManager()
	if err != nil {
		return err
	}
	if err := c.jobs.Await(ctx, "its REST interface", func(ctx context.Context) error {
		return c.getJSON(ctx, c.rest+"/overview", nil)
	}); err != nil {
		return err
	}
	if err := tm.awaitRegistered(ctx); err != nil {
		return err
	}
	return c.sql.Await(ctx, "its REST interface", func(ctx context.Context) error {
		return c.getJSON(ctx, "http://"+c.gateway+"/info", nil)
	})
}

// Version returns the release line that the cluster runs.
func (c *Cluster) Version() Version { return c.options.Version }

// Close kills all processes of the cluster and removes its files. It may be called again.
func (c *Cluster) Close() {
	for _, tm := range c.taskManagers() {
		tm.Kill()
	}
	for _, p := range []*jvm.Process{c.sql, c.jobs} {
		if p != nil {
			p.Kill()
		}
	}
	c.http.CloseIdleConnections()
	for i := len(c.release) - 1; i >= 0; i-- {
		c.release[i]()
	}
	c.release = nil
}

// JobManagerLog returns the log of the JobManager.
func (c *Cluster) JobManagerLog() ([]byte, error) { return c.jobs.Log() }

func (c *Cluster) confDir() string { return filepath.Join(c.dir, "conf") }

func (c *Cluster) taskManagers() []*TaskManager {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*TaskManager(nil), c.tms...)
}
