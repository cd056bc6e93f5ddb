package flusstest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The main classes. ZooKeeper comes inside the Fluss server's jar.
const (
	zooKeeperClass   = "org.apache.fluss.shaded.zookeeper3.org.apache.zookeeper.server.quorum.QuorumPeerMain"
	coordinatorClass = "org.apache.fluss.server.coordinator.CoordinatorServer"
	tabletClass      = "org.apache.fluss.server.tablet.TabletServer"
)

func zooKeeperConfig(dataDir string, port int) []byte {
	return fmt.Appendf(nil, `dataDir=%s
clientPort=%d
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
tickTime=1000
`, dataDir, port)
}

// config returns the text of a coordinator's or tablet server's server.yaml.
func (s *Server) config(o ClusterOptions) []byte {
	listeners := "FLUSS://" + s.addr
	entries := map[string]string{
		"zookeeper.address":   s.cluster.zookeeper.addr,
		"zookeeper.path.root": "/fluss",
		// Another server takes over when the session of a killed one expires; the default is a minute.
		"zookeeper.client.session-timeout": "6s",
		"default.bucket.number":            "1",
		"default.replication.factor":       strconv.Itoa(o.ReplicationFactor),
		// A lone append waits for the followers' parked fetch, half a second by default.
		"log.replica.fetch.wait-max-time":         "10ms",
		"log.replica.min-in-sync-replicas-number": strconv.Itoa(o.MinISR),
		"remote.data.dir":                         s.cluster.RemoteDir(),
		"internal.listener.name":                  "FLUSS",
		"kv.snapshot.interval":                    "10s",
	}
	if s.id >= 0 {
		entries["tablet-server.id"] = strconv.Itoa(s.id)
		entries["data.dir"] = s.DataDir()
	}
	if len(o.Users) > 0 {
		listeners += ", CLIENT://" + s.saslAddr
		entries["security.protocol.map"] = "FLUSS:PLAINTEXT, CLIENT:SASL"
		entries["security.sasl.enabled.mechanisms"] = "PLAIN"
		entries["security.sasl.plain.jaas.config"] = jaas(o.Users)
	}
	entries["bind.listeners"], entries["advertised.listeners"] = listeners, listeners
	maps.Copy(entries, o.Config)
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		fmt.Fprintf(&b, "%s: %s\n", key, entries[key])
	}
	return b.Bytes()
}

func jaas(users map[string]string) string {
	var b strings.Builder
	b.WriteString("org.apache.fluss.security.auth.sasl.plain.PlainLoginModule required")
	for _, name := range slices.Sorted(maps.Keys(users)) {
		fmt.Fprintf(&b, " user_%s=%q", name, users[name])
	}
	return b.String() + ";"
}
