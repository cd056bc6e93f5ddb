// Package diskfault does to a process that writes files what disks and kernels do,
// at an exact system call: makes it fail, does it and then says that it failed,
// tears a write, kills the process.
//
//	ops, err := diskfault.Run(cmd, dir, func(op diskfault.Op) diskfault.Fault {
//		if op.N == 17 {
//			return diskfault.Fault{Errno: syscall.EIO}
//		}
//		return diskfault.Fault{}
//	})
//
// Run traces the process with ptrace, so the program under test is the real one
// with the real kernel below it. It counts over all threads of the process, which
// strace's own injection does not: a Go program changes threads as it likes. It
// works on Linux on amd64 only.
//
// The tests of this package hold the embedded log against it.
package diskfault
