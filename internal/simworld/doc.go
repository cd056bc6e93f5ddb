// Package simworld is a small world in which real workers live and die: a log, a
// network and a service that do as they are told, and workers that can be stopped
// at every point where it matters.
//
//	w := simworld.New(simworld.KeyBound, 1)
//	w.Choose = func(l *simworld.Life, at simworld.Point) simworld.Verdict { ... }
//	a := w.Start(script)            // a life of the worker: real Open, Recover, Job, Do
//	state := a.Wait()            // it stopped where Choose said so, or ended
//	...
//	w.Bury()                        // ends what is left
//
// A life that crashes never returns from the point where it stopped; what it had
// on the wire lands when the verdict says so. A life that pauses goes on when it is
// resumed, as a process does that was suspended: the zombie.
//
// Lives take turns: at most one runs at any time, so a run is repeatable. Run a
// world in a testing/synctest bubble, where its waits cost nothing and its clocks
// are the bubble's.
package simworld
