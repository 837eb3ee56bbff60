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
		if ran.Load() != 3 || err == nil || err.Error() != "second" {
			t.Errorf("%s: %d ran, %v", what, ran.Load(), err)
		}
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
	if flag.Load() {
		t.Error("it was set before")
	}
	cancel()
	for end := time.Now().Add(10 * time.Second); !flag.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it was not set")
		}
	}
	if stop() {
		t.Error("there was something to stop")
	}
}

// Several trials of a process may add processors, and end in any order.
func TestAddProcessors(t *testing.T) {
	had := runtime.GOMAXPROCS(0)
	a, b := AddProcessors(3), AddProcessors(2)
	if n := runtime.GOMAXPROCS(0); n != had+5 {
		t.Errorf("%d processors, not %d", n, had+5)
	}
	a()
	b()
	if n := runtime.GOMAXPROCS(0); n != had {
		t.Errorf("%d processors afterwards, not %d", n, had)
	}
}
