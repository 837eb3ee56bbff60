package workloads

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
	"tare/internal/traffic/thread"
)

// The main thread cannot end, so one that a trial ran on would keep its priority, without ever running
// again. No trial gets it.
func init() { runtime.LockOSThread() } //nolint:gochecknoinits // the main thread runs only these

// realTime counts the threads of this process that have real-time priority.
func realTime(t *testing.T) (n int) {
	t.Helper()
	tasks := must.Get(os.ReadDir("/proc/self/task"))(t)
	for _, task := range tasks {
		tid := must.Get(strconv.Atoi(task.Name()))(t)
		if a, err := unix.SchedGetAttr(tid, 0); err == nil && a.Policy == unix.SCHED_FIFO { // it may have ended
			n++
		}
	}
	return n
}

// await waits until n threads have real-time priority.
func await(t *testing.T, what string, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		got := realTime(t)
		if got == n {
			return
		}
		must.Require(t, !time.Now().After(end), "%s: %d threads have real-time priority, want %d", what, got, n)
	}
}

// While a trial runs, both endpoints of every workload that takes a scheduling have it, and no thread
// keeps it.
func TestScheduling(t *testing.T) {
	if err := (thread.Settings{CPU: -1, FIFO: true}).Check(); err != nil {
		testneed.Missing(t, testneed.Root, err)
	}
	for _, w := range All() {
		spec := w.Spec()
		if !slices.Contains(spec.Optional, "scheduling") {
			continue
		}
		await(t, "before "+spec.Kind, 0)
		stop := start(t, w, traffic.Params{
			Workload: study.Workload{Kind: spec.Kind, Scheduling: study.FIFOScheduling, Streams: 1, PayloadSize: 1400, RequestSize: 16, ResponseSize: 16, Rate: 10e6, TransactionRate: 100, Burst: 64, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()},
			Address:  "127.0.0.1:0", Token: "0123456789abcdef", CPU: -1, Duration: time.Hour,
		})
		await(t, spec.Kind, map[bool]int{false: 2, true: 4}[spec.FewFlows]) // one that accepts and one that keeps the schedule beside those of the connection
		stop()
		await(t, "after "+spec.Kind, 0)
	}
}

// start begins a trial. stop cancels it.
func start(t *testing.T, w traffic.Workload, p traffic.Params) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := must.Get(w.Listen(p))(t)
	var ends sync.WaitGroup // one may end in order because the other has
	ends.Go(func() { _, err := s.Serve(ctx, nil); t.Logf("%s: the server ended: %v", p.Kind, err) })
	p.Address = "127.0.0.1:" + strconv.Itoa(int(s.Port()))
	ends.Go(func() { _, err := w.Dial(ctx, p, nil); t.Logf("%s: the client ended: %v", p.Kind, err) })
	return func() {
		cancel(errors.New("the test has seen enough"))
		ends.Wait()
	}
}
