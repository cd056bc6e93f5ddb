// Package supervise runs a child process up to a named barrier and then does to it
// what the world does: kills it, stops it, lets it go on. It is for programs that
// show what survives a crash.
//
// The parent:
//
//	c, err := supervise.Start(exe, "worker", "-pause", "B1")
//	defer c.Close()
//	err = c.Reached(ctx, "B1") // the child stands still there
//	err = c.Kill()             // SIGKILL; returns once the death is certain
//
// The child calls [Gate.Pass] where it may be made to wait, and [Gate.Tell] to say
// what it found. Both ends talk in lines of JSON: the child on its standard output,
// the parent on the child's standard input. A child whose parent is gone reads the
// end of its input, and ends.
//
// Nothing here sleeps or guesses: a barrier is reached when the child says so, and a
// process is dead when the system has delivered its status.
package supervise
