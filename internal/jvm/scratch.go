package jvm

import (
	"os"
	"os/exec"
	"sync"
)

// reap waits until its standard input ends, which happens when the process that holds the other end of
// the pipe ends, in whatever way. The JVMs that write into the directory are killed at the same moment,
// but on a busy machine one may create a last file while rm runs, so it tries again.
const reap = `cat >/dev/null; for try in 1 2 3 4 5; do rm -rf -- "$1"; sleep 1; [ -e "$1" ] || exit 0; done`

// Scratch makes a temporary directory that is removed by release or, on systems with a shell, when the
// process ends without calling it. A test that fails by panic or timeout thus leaves no disk full of
// server data behind.
func Scratch(prefix string) (dir string, release func(), err error) {
	dir, err = os.MkdirTemp("", prefix)
	if err != nil {
		return "", nil, err
	}
	remove := func() { _ = os.RemoveAll(dir) } // nobody can do more about a temporary directory
	sh, err := exec.LookPath("sh")
	if err != nil {
		return dir, remove, nil
	}
	cmd := exec.Command(sh, "-c", reap, "sh", dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		remove()
		return "", nil, err
	}
	if err := startFree(cmd); err != nil {
		remove()
		return "", nil, err
	}
	return dir, sync.OnceFunc(func() {
		remove()
		_ = killGroup(cmd.Process)
		_ = cmd.Wait() // killed by us
		_ = stdin.Close()
	}), nil
}
