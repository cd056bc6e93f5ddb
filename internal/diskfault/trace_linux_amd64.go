package diskfault

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Op is a system call that is about to change, open, or sync a file.
type Op struct {
	N    int    // its number in the life of the process, from 1
	Call string // such as "pwrite64"
	Path string // of the file; where it is renamed, the old one
}

// Fault is what becomes of an operation. The zero Fault lets it be.
type Fault struct {
	Errno syscall.Errno // the process gets this error
	Done  bool          // with Errno: the kernel does it all the same
	Torn  bool          // with Errno: of a write the kernel does the first half
	Lie   bool          // the process is told 0, and the kernel does nothing
	Kill  bool          // the process is killed before it
}

// calls are the system calls that count as operations, and where they name their
// file: a descriptor in the first argument, or a path in the given one.
var calls = map[uint64]struct {
	name string
	path int // argument with the path; -1: the first is a descriptor
}{
	unix.SYS_OPENAT:    {"openat", 1},
	unix.SYS_OPEN:      {"open", 0},
	unix.SYS_WRITE:     {"write", -1},
	unix.SYS_PWRITE64:  {"pwrite64", -1},
	unix.SYS_FSYNC:     {"fsync", -1},
	unix.SYS_FDATASYNC: {"fdatasync", -1},
	unix.SYS_FTRUNCATE: {"ftruncate", -1},
	unix.SYS_FALLOCATE: {"fallocate", -1},
	unix.SYS_RENAME:    {"rename", 0},
	unix.SYS_RENAMEAT:  {"renameat", 1},
	unix.SYS_RENAMEAT2: {"renameat2", 1},
	unix.SYS_UNLINK:    {"unlink", 0},
	unix.SYS_UNLINKAT:  {"unlinkat", 1},
	unix.SYS_CLOSE:     {"close", -1},
}

// tracer follows one process.
type tracer struct {
	pid   int
	dir   string
	each  func(Op) Fault
	ops   []Op
	after map[int]syscall.Errno // by thread: the error that its call in the kernel returns
}

// Run starts the command and calls each before every operation on a file in the
// directory. The process stands still during the call, at least the thread that is
// about to act. Run returns the operations once the process has ended, in whatever
// way; cmd.ProcessState is not set. The command must not need copying goroutines:
// its streams are files or nil.
func Run(cmd *exec.Cmd, dir string, each func(Op) Fault) ([]Op, error) {
	runtime.LockOSThread() // ptrace obeys the thread that started the process
	defer runtime.UnlockOSThread()
	// A group of its own, so that waiting for it takes nobody else's children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("trace %s: %w", cmd.Path, err)
	}
	t := &tracer{pid: cmd.Process.Pid, dir: strings.TrimSuffix(dir, "/"), each: each, after: map[int]syscall.Errno{}}
	err := t.follow()
	if err != nil {
		_ = syscall.Kill(t.pid, syscall.SIGKILL)
		err = fmt.Errorf("trace %s: %w", cmd.Path, errors.Join(err, t.reap()))
	}
	_ = cmd.Process.Release()
	return t.ops, err
}

// reap waits for all threads of a process that was killed.
func (t *tracer) reap() error {
	for {
		var ws syscall.WaitStatus
		tid, err := syscall.Wait4(-t.pid, &ws, syscall.WALL, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || tid == t.pid && (ws.Exited() || ws.Signaled()):
			return err
		case ws.Stopped():
			_ = syscall.PtraceCont(tid, 0)
		}
	}
}

func (t *tracer) follow() error {
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(t.pid, &ws, 0, nil); err != nil || !ws.Stopped() {
		return fmt.Errorf("it did not stop at its start (%v): %w", ws, err)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(t.pid, options); err != nil {
		return err
	}
	if err := syscall.PtraceSyscall(t.pid, 0); err != nil {
		return err
	}
	for {
		tid, err := syscall.Wait4(-t.pid, &ws, syscall.WALL, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return err
		case ws.Exited() || ws.Signaled():
			if tid == t.pid {
				return nil
			}
			continue
		}
		deliver := 0
		switch sig := ws.StopSignal(); {
		case sig == syscall.SIGTRAP|0x80:
			if err := t.syscall(tid); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		case sig == syscall.SIGTRAP || sig == syscall.SIGSTOP: // a new thread, and its birth
		default:
			deliver = int(sig)
		}
		// A thread may be gone by now: its end is reported by the next wait.
		if err := syscall.PtraceSyscall(tid, deliver); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
}

// callInfo is the kernel's struct ptrace_syscall_info.
type callInfo struct {
	op   uint8 // 1 on the way in, 2 on the way out
	_    [3]byte
	_    uint32
	_, _ uint64
	nr   uint64 // on the way out: the result
	args [6]uint64
	_    [2]uint64
}

// syscall deals with a thread on its way into the kernel, or out of it.
func (t *tracer) syscall(tid int) error {
	var info callInfo
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return errno
	}
	if info.op == 2 {
		errno, spoilt := t.after[tid]
		if !spoilt {
			return nil
		}
		delete(t.after, tid)
		return t.change(tid, func(r *syscall.PtraceRegs) { r.Rax = uint64(-int64(errno)) })
	}
	call, known := calls[info.nr]
	if info.op != 1 || !known {
		return nil
	}
	path, err := t.path(tid, info, call.path)
	if err != nil || path != t.dir && !strings.HasPrefix(path, t.dir+"/") {
		return err
	}
	op := Op{N: len(t.ops) + 1, Call: call.name, Path: path}
	t.ops = append(t.ops, op)
	f := t.each(op)
	switch {
	case f.Kill:
		return syscall.Kill(t.pid, syscall.SIGKILL)
	case f.Errno == 0 && !f.Lie:
		return nil
	}
	t.after[tid] = f.Errno
	switch {
	case f.Done:
		return nil
	case f.Torn && (call.name == "write" || call.name == "pwrite64"):
		return t.change(tid, func(r *syscall.PtraceRegs) { r.Rdx /= 2 })
	}
	return t.change(tid, func(r *syscall.PtraceRegs) { r.Orig_rax = ^uint64(0) }) // no such call
}

func (t *tracer) change(tid int, fn func(*syscall.PtraceRegs)) error {
	var r syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &r); err != nil {
		return err
	}
	fn(&r)
	return syscall.PtraceSetRegs(tid, &r)
}

// path returns the file of a call, or nothing where it has none.
func (t *tracer) path(tid int, info callInfo, arg int) (string, error) {
	if arg < 0 {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(info.args[0])))
		if err != nil {
			return "", nil // not open: the kernel will say so
		}
		return strings.TrimSuffix(name, " (deleted)"), nil
	}
	var text []byte
	for at := uintptr(info.args[arg]); len(text) < unix.PathMax; at += 8 {
		var word [8]byte
		if _, err := syscall.PtracePeekData(tid, at, word[:]); err != nil {
			return "", err
		}
		if end := bytes.IndexByte(word[:], 0); end >= 0 {
			return string(append(text, word[:end]...)), nil
		}
		text = append(text, word[:]...)
	}
	return "", nil
}
