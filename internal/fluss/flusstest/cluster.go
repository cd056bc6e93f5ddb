package flusstest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/intentlog/intentlog/internal/jvm"
)

// Version is the release of the Fluss servers that a [Cluster] runs.
const Version = "0.9.1-incubating"

//go:embed cluster_pom.xml
var clusterPOM []byte

var clusterJars = jvm.Bundle{Name: "fluss-server", POM: clusterPOM, Properties: []string{"fluss.version=" + Version}}

// ClusterOptions says what kind of cluster to start. The zero value is one tablet server, replication
// factor 1, no authentication.
type ClusterOptions struct {
	// TabletServers is their number; 0 means 1.
	TabletServers int
	// ReplicationFactor is that of tables which do not say otherwise; 0 means 1.
	ReplicationFactor int
	// MinISR is how many replicas must have a record before it is acknowledged; 0 means 1.
	MinISR int
	// Users are names and passwords for SASL/PLAIN. When there are any, each server has a second
	// listener that demands it; see Cluster.SASLBootstrap.
	Users map[string]string
	// Config are further entries of every server's configuration file, such as
	// "log.segment.file-size": "64kb". They win over those that the cluster chooses.
	Config map[string]string
	// QuickStart lets the JVMs compile with the fast compiler only: less work at the start, and a
	// lower speed ever after. Tests want it, benchmarks do not.
	QuickStart bool
}

// Cluster is a running Fluss cluster on loopback ports with its data in a scratch directory.
type Cluster struct {
	dir       string
	zookeeper *Server
	coord     *Server
	tablets   []*Server
	release   []func()
}

// startTimeout bounds the start of one server. A quiet machine needs 2 seconds; one that compiles
// several packages and runs other clusters meanwhile needs a multiple of that.
const startTimeout = 2 * time.Minute

// StartCluster fetches the jars if they are not in the cache, starts all servers and returns when each
// tablet server knows all the others, that is, when tables can be made. An error shows the end of the
// failed server's log, and nothing is left running. The end of ctx afterwards does not stop the
// cluster: Close does, and on Linux the end of the process.
func StartCluster(ctx context.Context, o ClusterOptions) (*Cluster, error) {
	o.TabletServers = max(o.TabletServers, 1)
	o.ReplicationFactor = max(o.ReplicationFactor, 1)
	o.MinISR = max(o.MinISR, 1)
	classPath, err := clusterJars.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	if err := c.start(ctx, classPath, o); err != nil {
		c.Close()
		return nil, fmt.Errorf("start Fluss cluster: %w", err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, classPath string, o ClusterOptions) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	dir, release, err := jvm.Scratch("intentlog-fluss-")
	if err != nil {
		return err
	}
	c.dir, c.release = dir, append(c.release, release)
	ports, release, err := jvm.Ports(1 + 2*(1+o.TabletServers))
	if err != nil {
		return err
	}
	c.release = append(c.release, release)
	if err := c.layOut(classPath, ports, o); err != nil {
		return err
	}
	if err := c.zookeeper.launch(); err != nil {
		return err
	}
	// Without this wait the servers would find no ZooKeeper and pause for a second before they look again.
	if err := c.zookeeper.proc.WaitPort(ctx, c.zookeeper.addr); err != nil {
		return err
	}
	fluss := append([]*Server{c.coord}, c.tablets...)
	for _, s := range fluss {
		if err := s.launch(); err != nil {
			return err
		}
	}
	for _, s := range fluss {
		if err := s.awaitReady(ctx, len(c.tablets)); err != nil {
			return err
		}
	}
	return nil
}

// layOut writes all configuration files and makes the servers, none of them started. Of the ports the
// first is ZooKeeper's; each Fluss server takes two.
func (c *Cluster) layOut(classPath string, ports []int, o ClusterOptions) error {
	args := []string{"--add-opens=java.base/java.nio=ALL-UNNAMED", "-Dorg.slf4j.simpleLogger.showDateTime=true"}
	if o.QuickStart {
		args = append(args, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
	}
	server := func(name, heap, class string, port int, classArgs ...string) *Server {
		return &Server{
			cluster: c,
			name:    name,
			addr:    address(port),
			dir:     filepath.Join(c.dir, name),
			command: jvm.Command{
				Name: name, ClassPath: classPath, Class: class, Args: classArgs,
				JVMArgs: append([]string{"-Xmx" + heap}, args...), Log: filepath.Join(c.dir, name+".log"),
			},
		}
	}
	zoo := filepath.Join(c.dir, "zoo.cfg")
	c.zookeeper = server("zookeeper", "256m", zooKeeperClass, ports[0], zoo)
	c.coord = server("coordinator", "512m", coordinatorClass, ports[1], "--configDir", filepath.Join(c.dir, "coordinator"))
	c.coord.saslAddr = address(ports[2])
	c.coord.id = -1
	for i := range o.TabletServers {
		name := "tablet-" + strconv.Itoa(i)
		s := server(name, "1g", tabletClass, ports[3+2*i], "--configDir", filepath.Join(c.dir, name))
		s.id, s.saslAddr = i, address(ports[4+2*i])
		c.tablets = append(c.tablets, s)
	}
	errs := []error{os.WriteFile(zoo, zooKeeperConfig(c.zookeeper.dir, ports[0]), 0o644)}
	for _, s := range append([]*Server{c.coord}, c.tablets...) {
		errs = append(errs,
			os.MkdirAll(s.dir, 0o755),
			os.WriteFile(filepath.Join(s.dir, "server.yaml"), s.config(o), 0o644))
	}
	return errors.Join(errs...)
}

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// Bootstrap returns the address, host:port, that a client is given: the coordinator's listener without
// authentication.
func (c *Cluster) Bootstrap() string { return c.coord.addr }

// SASLBootstrap returns the address of the coordinator's listener that demands SASL/PLAIN. Nothing
// listens there unless ClusterOptions.Users is set.
func (c *Cluster) SASLBootstrap() string { return c.coord.saslAddr }

// Coordinator returns the coordinator.
func (c *Cluster) Coordinator() *Server { return c.coord }

// TabletServer returns the tablet server with the given id, from 0.
func (c *Cluster) TabletServer(id int) *Server { return c.tablets[id] }

// TabletServers returns all tablet servers in the order of their ids, running or not.
func (c *Cluster) TabletServers() []*Server { return append([]*Server(nil), c.tablets...) }

// RemoteDir returns the directory that stands in for remote storage: tiered log segments and snapshots.
func (c *Cluster) RemoteDir() string { return filepath.Join(c.dir, "remote") }

// Close kills all servers and removes their data. It may be called again.
func (c *Cluster) Close() {
	for _, s := range append(append([]*Server(nil), c.tablets...), c.coord, c.zookeeper) {
		if s != nil {
			s.Kill()
		}
	}
	for i := len(c.release) - 1; i >= 0; i-- {
		c.release[i]()
	}
	c.release = nil
}
