package observe

import (
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// Kernel time includes idle, DPC and interrupt time. A system that counts none of the last two since
// it started does not count them.
func TestProcessorTimes(t *testing.T) {
	const second = 10_000_000 // in 100 ns
	read := func(at int64, c ...processorTimes) *cpuSample {
		t.Helper()
		s := must.Get(sampleOf(c))(t)
		s.at = time.Unix(at, 0)
		return s
	}
	from := read(0, processorTimes{idle: second, kernel: 2 * second, user: second, dpc: second / 10, interrupt: second / 20}, processorTimes{})
	to := read(1, processorTimes{idle: 3 * second / 2, kernel: 3 * second, user: 3 * second / 2, dpc: 2 * second / 10, interrupt: 2 * second / 20}, processorTimes{idle: second, kernel: second})
	got, gaps := to.Since(from)
	for name, want := range map[string]float64{"user": 0.5, "system": 0.35, "idle": 1.5, "softirq": 0.1, "irq": 0.05} {
		if v, known := got[name]; !known || v != want {
			t.Errorf("%s is %g, known %t, want %g", name, v, known, want)
		}
	}
	if len(gaps) != 1 || gaps[0].Metric != "steal" {
		t.Errorf("gaps %+v, want steal", gaps)
	}
	lacks := must.Get(sampleOf([]processorTimes{{idle: second, kernel: second, user: second}}))(t)
	if _, known := lacks.total.sum([]int{colSoftIRQ}); known {
		t.Error("softirq is known although the system counted none")
	}
	if _, err := sampleOf(nil); err == nil {
		t.Error("no CPU is no error")
	}
}

// The kernel's own counters move on, for the collector and for an agent.
func TestReadCPUOnWindows(t *testing.T) {
	c := NewCPU("")
	from := must.Get(c.Read())(t)
	deadline := time.Now().Add(20 * time.Second)
	for n := 0; ; n++ {
		to := must.Get(c.Read())(t)
		moved, _ := to.Since(from)
		if moved["user"]+moved["system"] > 0.1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("20 s of work by this test counted as %v", moved)
		}
	}
	times, _, err := NewCPU("").ReadTimes()
	must.Do(t, err)
	must.Get(times.Sample(time.Now()))(t)
}
