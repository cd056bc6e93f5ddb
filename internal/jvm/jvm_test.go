package jvm

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/needs"
)

func requireJava(t *testing.T) {
	t.Helper()
	needs.Feature(t, needs.Java, func() error {
		_, err := Java()
		return err
	})
}

// source writes a single-file Java program that java runs without a compiler step of ours.
func source(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Probe.java")
	text := "public class Probe { public static void main(String[] args) throws Exception { " + body + " } }"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

const sleeper = `System.out.println("ready to sleep"); Thread.sleep(600_000);`

func startSleeper(t *testing.T, body string) *Process {
	t.Helper()
	p, err := Start(Command{Name: "sleeper", Class: source(t, body), Log: filepath.Join(t.TempDir(), "log")})
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	line, err := p.WaitLog(t.Context(), 0, "to sleep")
	require.NoError(t, err)
	require.Equal(t, "ready to sleep", line)
	return p
}

func TestRunReturnsOutputAndExitCode(t *testing.T) {
	requireJava(t)
	out, err := Run(t.Context(), Command{
		Name: "probe", Class: source(t, `System.out.print(args[0] + System.getenv("WORD"));`),
		Args: []string{"hello, "}, Env: []string{"WORD=world"},
	})
	require.NoError(t, err)
	require.Equal(t, "hello, world", string(out))

	_, err = Run(t.Context(), Command{
		Name: "probe", Class: source(t, `System.err.println("no such thing"); System.exit(3);`),
	})
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode())
	require.ErrorContains(t, err, "no such thing")
}

func TestStopAndKillEndTheJVM(t *testing.T) {
	requireJava(t)
	for name, end := range map[string]func(*Process){
		"stop": func(p *Process) { p.Stop(t.Context()) },
		"kill": func(p *Process) { p.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			p := startSleeper(t, sleeper)
			require.True(t, p.Running())
			end(p)
			require.False(t, p.Running())
			end(p) // a second time does nothing
		})
	}
}

func TestStopKillsAJVMThatDoesNotObey(t *testing.T) {
	requireJava(t)
	p := startSleeper(t, `Runtime.getRuntime().addShutdownHook(new Thread(() -> {
		try { Thread.sleep(600_000); } catch (InterruptedException e) {} }));`+sleeper)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	p.Stop(ctx)
	require.False(t, p.Running())
}

func TestAwaitEndsWithTheJVM(t *testing.T) {
	requireJava(t)
	p, err := Start(Command{
		Name: "short-lived", Class: source(t, `System.out.println("giving up");`), Log: filepath.Join(t.TempDir(), "log"),
	})
	require.NoError(t, err)
	_, err = p.WaitLog(t.Context(), 0, "never written")
	require.ErrorIs(t, err, ErrEnded)
	require.ErrorContains(t, err, "giving up")
}

// TestNothingOutlivesTheProcess runs itself as a child that starts a JVM and makes a scratch directory,
// and then dies in a way that runs none of its cleanup.
func TestNothingOutlivesTheProcess(t *testing.T) {
	if os.Getenv("JVM_TEST_CHILD") != "" {
		dir, _, err := Scratch("intentlog-jvm-test-")
		require.NoError(t, err)
		p := startSleeper(t, sleeper)
		fmt.Printf("child %d %s\n", p.Pid(), dir)
		panic("a test that fails badly")
	}
	requireJava(t)
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("only Linux promises this for every kind of death")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNothingOutlivesTheProcess$")
	cmd.Env = append(os.Environ(), "JVM_TEST_CHILD=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	_, rest, found := strings.Cut(string(out), "child ")
	require.True(t, found, "child printed: %s", out)
	var pid int
	var dir string
	_, err = fmt.Sscan(rest, &pid, &dir)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, jvm := os.Stat("/proc/" + strconv.Itoa(pid))
		_, scratch := os.Stat(dir)
		return os.IsNotExist(jvm) && os.IsNotExist(scratch)
	}, 20*time.Second, 20*time.Millisecond)
}

func TestPortsStayReserved(t *testing.T) {
	ports, release, err := Ports(3)
	require.NoError(t, err)
	defer release()
	require.NotEqual(t, ports[0], ports[1])
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(ports[0]))
	require.NoError(t, err, "a server can listen on a reserved port")
	require.NoError(t, l.Close())
	l, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(ports[0]))
	require.NoError(t, err, "and again")
	require.NoError(t, l.Close())
}

func TestScratchIsRemoved(t *testing.T) {
	dir, release, err := Scratch("intentlog-jvm-test-")
	require.NoError(t, err)
	require.DirExists(t, dir)
	release()
	require.NoDirExists(t, dir)
	release()
}

func TestBundle(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	b := Bundle{Name: "probe", POM: []byte("<project/>"), Properties: []string{"version=1"}}

	_, err := b.Cached()
	require.ErrorIs(t, err, ErrNotFetched)

	t.Run("identity covers the POM and the properties", func(t *testing.T) {
		dir, err := b.dir()
		require.NoError(t, err)
		for _, other := range []Bundle{
			{Name: b.Name, POM: []byte("<project />"), Properties: b.Properties},
			{Name: b.Name, POM: b.POM, Properties: []string{"version=2"}},
		} {
			d, err := other.dir()
			require.NoError(t, err)
			require.NotEqual(t, dir, d)
		}
	})

	t.Run("without Maven a fetch says so", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := b.Fetch(t.Context())
		require.ErrorIs(t, err, ErrNoMaven)
	})

	t.Run("one of several fetches runs Maven and the others wait", func(t *testing.T) {
		calls := fakeMaven(t, `mkdir "$lib"; sleep 0.2; echo jar > "$lib/a.jar"`)
		errs := make(chan error)
		for range 4 {
			go func() {
				cp, err := b.Fetch(t.Context())
				if err == nil {
					_, err = os.Stat(filepath.Join(filepath.Dir(cp), "a.jar"))
				}
				errs <- err
			}()
		}
		for range 4 {
			require.NoError(t, <-errs)
		}
		require.Equal(t, 1, calls())
	})

	t.Run("a failed fetch leaves nothing behind", func(t *testing.T) {
		fakeMaven(t, `mkdir "$lib"; echo jar > "$lib/a.jar"; echo "no such artifact"; exit 1`)
		failing := Bundle{Name: "failing", POM: b.POM}
		_, err := failing.Fetch(t.Context())
		require.ErrorContains(t, err, "no such artifact")
		_, err = failing.Cached()
		require.ErrorIs(t, err, ErrNotFetched)
		left, err := fs.Glob(os.DirFS(cache), "intentlog/failing-*.part-*")
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// fakeMaven puts a mvn in PATH that runs the script with lib set to the output directory, and returns
// how often it was called.
func fakeMaven(t *testing.T, script string) (calls func() int) {
	t.Helper()
	dir := t.TempDir()
	count := filepath.Join(dir, "calls")
	text := "#!/bin/sh\necho call >>" + count + "\nfor a in \"$@\"; do case $a in -DoutputDirectory=*) lib=${a#*=};; esac; done\n" + script + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mvn"), []byte(text), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() int {
		b, err := os.ReadFile(count)
		require.NoError(t, err)
		return strings.Count(string(b), "call")
	}
}
