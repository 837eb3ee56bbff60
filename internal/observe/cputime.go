package observe

import (
	"fmt"
	"math"
	"time"
)

// CPUTime is the CPU time of the whole machine in a set of windows, which need not be
// contiguous, such as the turns of one mode. Its zero value has no window.
//
// Besides the kinds of [CPU], which the kernel samples by its tick, it has the total from
// another source: all CPUs times the length of the windows, minus idle and steal. The
// kernel times those two, where it stops the tick of an idle CPU, so the total also
// includes work that no tick sampled, such as interrupts on an idle CPU. Where idle is
// sampled too, the total is the sum of the busy kinds to within one tick for each CPU.
//
// Each edge of a window is off by up to 10 ms of idle time, the kernel's step, in either
// direction: over n windows the errors add up to about 4 ms times the square root of n; for
// contiguous windows they cancel.
type CPUTime struct {
	windows  int
	length   time.Duration
	capacity float64 // available CPU seconds: CPUs times length, summed over windows
	ticks    map[string]int64
	cores    map[int]int64     // idle ticks by CPU
	gaps     map[string]string // first reason by metric; "" stands for all metrics
}

// jitter is the number of ticks by which a counter may decrease within one window: the
// kernel computes a CPU's idle time from two numbers that it may read a moment apart.
const jitter = 1

// Add adds a window between two samples of the collector [CPU]. Metrics that a window lacks
// stay unknown from then on.
func (s *CPUTime) Add(from, to Sample) {
	s.windows++
	a, ok := from.(*cpuSample)
	b, okToo := to.(*cpuSample)
	if !ok || !okToo {
		s.markUnknown("", "CPU time could not be read")
		return
	}
	if gap, changed := cpusChanged(a.cpus, b.cpus); changed {
		s.markUnknown("", gap.Reason)
		return
	}
	if len(b.cpus) == 0 {
		s.markUnknown("", "the kernel lists no individual CPUs")
		return
	}
	long := b.at.Sub(a.at)
	s.length += long
	s.capacity += long.Seconds() * float64(len(b.cpus))
	s.coreIdle(a, b)
	for _, f := range cpuMetrics() {
		n, reason := f.moved(a, b, jitter)
		if reason != "" {
			s.markUnknown(f.name, reason)
			continue
		}
		if s.ticks == nil {
			s.ticks = map[string]int64{}
		}
		s.ticks[f.name] += n
	}
}

// Plus returns the sum of both.
func (s CPUTime) Plus(o CPUTime) CPUTime {
	sum := CPUTime{windows: s.windows + o.windows, length: s.length + o.length, capacity: s.capacity + o.capacity, ticks: map[string]int64{}, cores: map[int]int64{}}
	for _, one := range []CPUTime{s, o} {
		for name, n := range one.ticks {
			sum.ticks[name] += n
		}
		for id, idle := range one.cores {
			sum.cores[id] += idle
		}
		for name, why := range one.gaps {
			sum.markUnknown(name, why)
		}
	}
	return sum
}

func (s *CPUTime) markUnknown(figure, reason string) {
	if s.gaps == nil {
		s.gaps = map[string]string{}
	}
	if _, told := s.gaps[figure]; !told {
		s.gaps[figure] = reason
	}
}

// Length returns the total length of the windows.
func (s CPUTime) Length() time.Duration { return s.length }

// seconds returns the seconds of a kind, or why they are unknown.
func (s CPUTime) seconds(figure string) (float64, string) {
	if why, lost := s.gaps[""]; lost {
		return 0, why
	}
	if why, lost := s.gaps[figure]; lost {
		return 0, why
	}
	return float64(s.ticks[figure]) / ticksPerSecond, ""
}

// Busy returns the CPU seconds that the machine worked, from its idle time, or an error if
// they are unknown. A kernel that does not count steal has none. On an idle machine the
// result may be below 0, within Resolution.
func (s CPUTime) Busy() (float64, error) {
	if s.windows == 0 {
		return 0, fmt.Errorf("CPU time was not read")
	}
	idle, why := s.seconds("idle")
	if why != "" {
		return 0, fmt.Errorf("idle time is unknown: %s", why)
	}
	steal, _ := s.seconds("steal")
	return s.capacity - idle - steal, nil
}

// Resolution returns the CPU seconds that may result from the steps of the kernel's idle
// time alone: three standard deviations of the error of the windows' edges.
func (s CPUTime) Resolution() float64 {
	// The error of an edge is uniform over a step: its standard deviation is a step divided
	// by the square root of 12, and a window has two edges.
	return 3 * math.Sqrt(float64(s.windows)/6) / ticksPerSecond
}

// Metrics returns the known metrics by their names in a Window: cpu_user and the other
// kinds and cpu_busy in CPU seconds, and cpu_time, the length of the windows in seconds.
// None is below 0.
func (s CPUTime) Metrics() map[string]float64 {
	out := map[string]float64{}
	if s.windows == 0 {
		return out
	}
	for _, f := range cpuMetrics() {
		if v, why := s.seconds(f.name); why == "" {
			out["cpu_"+f.name] = max(0, v)
		}
	}
	if busy, err := s.Busy(); err == nil {
		out["cpu_busy"] = max(0, busy)
	}
	if _, lost := s.gaps[""]; !lost {
		out["cpu_time"] = s.length.Seconds()
	}
	return out
}

// coreIdle adds up the idle ticks of each CPU within a window. If the idle time of one CPU
// is unknown, so is the busiest CPU.
func (s *CPUTime) coreIdle(from, to *cpuSample) {
	for _, f := range cpuMetrics() {
		if f.name != "idle" {
			continue
		}
		for i := range from.cpus {
			before, known := from.cpus[i].sum(f.columns)
			after, stillKnown := to.cpus[i].sum(f.columns)
			if !known || !stillKnown || after+jitter < before {
				s.markUnknown(busiestCPU, "the idle time of a CPU is unknown")
				return
			}
			if s.cores == nil {
				s.cores = map[int]int64{}
			}
			s.cores[to.cpus[i].id] += int64(after - before) //nolint:gosec // two's complement: a step back of jitter is negative
		}
	}
}

const busiestCPU = "fullest"

// BusiestCPU returns the share (0..1) of the windows in which the busiest CPU was not idle,
// including steal: at 1 that CPU is saturated, however idle the others are. It is false if
// unknown. The kernel counts idle time in steps of 10 ms, so for windows shorter than a
// second it is inaccurate.
func (s CPUTime) BusiestCPU() (share float64, known bool) {
	_, all := s.gaps[""]
	_, cores := s.gaps[busiestCPU]
	if all || cores || len(s.cores) == 0 || s.length <= 0 {
		return 0, false
	}
	for _, idle := range s.cores {
		share = max(share, 1-float64(idle)/ticksPerSecond/s.length.Seconds())
	}
	return min(1, share), true
}
