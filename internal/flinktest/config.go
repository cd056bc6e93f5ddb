package flinktest

import (
	"fmt"
	"path/filepath"

	"github.com/intentlog/intentlog/internal/jvm"
)

const (
	jobManagerClass  = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
	taskManagerClass = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
	gatewayClass     = "org.apache.flink.table.gateway.SqlGateway"
	sqlClientClass   = "org.apache.flink.table.client.SqlClient"
)

const (
	jobManagerHeap  = "384m"
	taskManagerHeap = "512m"
	gatewayHeap     = "512m"
	sqlClientHeap   = "256m"
)

// opened are the packages of Java's own that Flink, and Arrow inside the Fluss connector, reach into.
var opened = []string{
	"--add-exports=java.base/sun.net.util=ALL-UNNAMED",
	"--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
	"--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
	"--add-opens=java.base/java.lang=ALL-UNNAMED",
	"--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
	"--add-opens=java.base/java.net=ALL-UNNAMED",
	"--add-opens=java.base/java.io=ALL-UNNAMED",
	"--add-opens=java.base/java.nio=ALL-UNNAMED",
	"--add-opens=java.base/java.text=ALL-UNNAMED",
	"--add-opens=java.base/java.time=ALL-UNNAMED",
	"--add-opens=java.base/java.util=ALL-UNNAMED",
	"--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
	"--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
	"--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED",
	"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
}

// command describes one JVM of the cluster.
func (c *Cluster) command(name, class, heap string, args ...string) jvm.Command {
	jvmArgs := append([]string{
		"-Xmx" + heap, "-XX:+UseSerialGC", "-XX:MaxMetaspaceSize=256m",
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
	}, opened...)
	if c.options.QuickStart {
		jvmArgs = append(jvmArgs, "-XX:TieredStopAtLevel=1")
	}
	return jvm.Command{
		Name: name, ClassPath: c.classPath, Class: class, JVMArgs: jvmArgs, Args: args,
		Env: []string{"FLINK_CONF_DIR=" + c.confDir()},
		Log: filepath.Join(c.dir, name+".log"),
	}
}

// config returns config.yaml. Three of its parts are there for reasons that are hard to guess:
// the distribution's shell scripts normally compute the memory components, and a TaskManager refuses to
// start when one of them is missing; each row of a VALUES list becomes a branch of a union, and the
// default of 512 network buffers for a sorted shuffle does not fit into 64 MB; and rest.bind-port must
// be absent, because the gateway would inherit it and fail to bind the JobManager's port.
func config(dir string, restPort, rpcPort int) []byte {
	tmp := filepath.Join(dir, "tmp")
	return fmt.Appendf(nil, `jobmanager.rpc.address: 127.0.0.1
jobmanager.rpc.port: %d
jobmanager.bind-host: 127.0.0.1
rest.address: 127.0.0.1
rest.port: %d
rest.bind-address: 127.0.0.1
taskmanager.host: 127.0.0.1
taskmanager.bind-host: 127.0.0.1
taskmanager.numberOfTaskSlots: 4
taskmanager.cpu.cores: 1.0
taskmanager.memory.framework.heap.size: 128m
taskmanager.memory.framework.off-heap.size: 128m
taskmanager.memory.task.heap.size: 256m
taskmanager.memory.task.off-heap.size: 0m
taskmanager.memory.managed.size: 64m
taskmanager.memory.network.min: 64m
taskmanager.memory.network.max: 64m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 192m
taskmanager.memory.jvm-overhead.max: 192m
taskmanager.network.sort-shuffle.min-buffers: 16
taskmanager.memory.framework.off-heap.batch-shuffle.size: 16m
parallelism.default: 1
io.tmp.dirs: %s
web.upload.dir: %s
heartbeat.interval: 2000
heartbeat.timeout: 30000
slot.request.timeout: 60000
`, rpcPort, restPort, tmp, tmp)
}
