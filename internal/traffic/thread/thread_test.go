package thread

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// All functions run concurrently, and the error is that of the first in order that fails.
func TestRun(t *testing.T) {
	for what, run := range map[string]func(int, func(int) error) error{
		"threads":    func(n int, fn func(int) error) error { return Run(n, -1, fn) },
		"goroutines": RunGoroutines,
	} {
		var ran atomic.Int32
		all := make(chan struct{})
		err := run(3, func(i int) error {
			if ran.Add(1) == 3 {
				close(all)
			}
			<-all
			if i > 0 {
				return errors.New([]string{"", "second", "third"}[i])
			}
			return nil
		})
		must.True(t, ran.Load() == 3 && err != nil && err.Error() == "second", "%s: %d ran, %v", what, ran.Load(), err)
	}
}

// A CPU that does not exist is an error, and no function runs.
func TestRunCannotPin(t *testing.T) {
	must.FailFor(t, "CPU 4096 was there", Run(1, 1<<12, func(int) error {
		t.Error("it ran")
		return nil
	}))
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	flag, stop := Cancelled(ctx)
	must.True(t, !flag.Load(), "it was set before")
	cancel()
	for end := time.Now().Add(10 * time.Second); !flag.Load(); time.Sleep(time.Millisecond) {
		must.Require(t, !time.Now().After(end), "it was not set")
	}
	must.True(t, !stop(), "there was something to stop")
}

// Several trials of a process may add processors, and end in any order.
func TestAddProcessors(t *testing.T) {
	had := runtime.GOMAXPROCS(0)
	a, b := AddProcessors(3), AddProcessors(2)
	must.EqualFor(t, "processors", had+5, runtime.GOMAXPROCS(0))
	a()
	b()
	must.EqualFor(t, "processors afterwards", had, runtime.GOMAXPROCS(0))
}
