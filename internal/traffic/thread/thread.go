// Package thread runs the loops of a trial on operating system threads that are pinned to a CPU,
// without interruption by the garbage collector, until they finish or are cancelled.
package thread

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Run runs fn(0) .. fn(n-1), each on its own operating system thread, and returns the first error.
// Threads are pinned to cpu unless that is negative. The threads end with their functions, so no
// other work inherits the pinning.
func Run(n, cpu int, fn func(i int) error) error {
	return Settings{CPU: cpu}.Run(n, fn)
}

// RunGoroutines runs fn(0) .. fn(n-1) concurrently and returns the first error.
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

// Cancelled returns a flag that is set when ctx ends. It is cheap enough to read in each pass of a
// loop that never blocks. stop releases it.
func Cancelled(ctx context.Context) (flag *atomic.Bool, stop func() bool) {
	flag = new(atomic.Bool)
	return flag, context.AfterFunc(ctx, func() { flag.Store(true) })
}

// PauseGC disables the garbage collector during a trial. A thread in a raw system call cannot be
// stopped, so a collection would have to wait for it.
func PauseGC() (restore func()) { return collector.hold(&collector.paused) }

// RareGC lets the garbage collector run rarely, in a trial that allocates: when 16 MB were allocated, or four times what is in
// use, if that is more. Where another trial of the process has paused it, it stays paused.
func RareGC() (restore func()) { return collector.hold(&collector.rare) }

// collector counts the trials of this process for which the garbage collector runs otherwise, and keeps the percentage without them.
var collector collectorState //nolint:gochecknoglobals // the collector is that of the process

type collectorState struct {
	sync.Mutex
	paused, rare, percent int
}

// hold counts a trial in one of the counts until restore.
func (c *collectorState) hold(count *int) (restore func()) {
	runtime.GC()
	c.add(count, 1)
	return func() { c.add(count, -1) }
}

func (c *collectorState) add(count *int, n int) {
	const off, rarely = -1, 400
	c.Lock()
	defer c.Unlock()
	if c.paused+c.rare == 0 {
		c.percent = debug.SetGCPercent(off)
	}
	*count += n
	switch {
	case c.paused > 0:
		debug.SetGCPercent(off)
	case c.rare > 0:
		debug.SetGCPercent(rarely)
	default:
		debug.SetGCPercent(c.percent)
	}
}

// processors guards the number of the Go scheduler's processors.
var processors sync.Mutex //nolint:gochecknoglobals // the number is that of the process

// AddProcessors adds n processors to the Go scheduler, for as many threads that wait in system calls: such a thread keeps its
// processor for a while, and with fewer of them some threads would run and others wait for long.
func AddProcessors(n int) (restore func()) {
	add := func(n int) {
		processors.Lock()
		defer processors.Unlock()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
	}
	add(n)
	return func() { add(-n) }
}
