// Package thread runs the loops of a trial: on threads of the operating system that are
// pinned to a CPU, out of the garbage collector's way, and until they are given up.
package thread

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Run runs fn(0) .. fn(n-1), each on an operating system thread of its own
// that is pinned to cpu unless that is negative, and returns the first error.
// The threads end with their functions, so no other work inherits the pinning.
func Run(n, cpu int, fn func(i int) error) error {
	return RunGoroutines(n, func(i int) error {
		runtime.LockOSThread()
		if err := Pin(cpu); err != nil {
			return err
		}
		return fn(i)
	})
}

// RunGoroutines runs fn(0) .. fn(n-1) at once and returns the first error.
func RunGoroutines(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Cancelled is a flag that is set when ctx ends, cheap enough for a loop that never
// blocks to look at each time. stop lets go of it.
func Cancelled(ctx context.Context) (flag *atomic.Bool, stop func() bool) {
	flag = new(atomic.Bool)
	return flag, context.AfterFunc(ctx, func() { flag.Store(true) })
}

// PauseGC keeps the garbage collector out of a trial. A thread in a raw system
// call cannot be stopped, so a collection would also wait for it.
func PauseGC() (restore func()) {
	runtime.GC()
	old := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(old) }
}
