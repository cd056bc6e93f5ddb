package fluss

import (
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

// waiter is one call. The leader who takes it from the queue owns it until it puts a token into wake.
type waiter struct {
	values []row.Value
	puts   []record.Put
	size   int // estimate in bytes
	count  int64
	wake   chan struct{} // one token: the outcome is there, or lead is true

	lead bool // set under appender.mu: the waiter leads now
	base int64
	err  error
}

// maxFreeWaiters bounds the waiters kept for reuse.
const maxFreeWaiters = 256

func (a *appender) newWaiterLocked() *waiter {
	if n := len(a.free); n > 0 {
		w := a.free[n-1]
		a.free = a.free[:n-1]
		return w
	}
	return &waiter{wake: make(chan struct{}, 1)}
}

// freeLocked keeps a waiter whose wake is empty and that nobody else knows any more.
func (a *appender) freeLocked(w *waiter) {
	*w = waiter{wake: w.wake}
	if len(a.free) < maxFreeWaiters {
		a.free = append(a.free, w)
	}
}
