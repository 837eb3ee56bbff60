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
// The idle time of a CPU is exact in a window if both samples have it so ([CPU.WithIdle]). Else each
// edge of the window is off by up to 10 ms, the kernel's step, in either direction: over n windows
// the errors add up to about 4 ms times the square root of n; for contiguous windows they
// cancel.
type CPUTime struct {
	windows  int
	length   time.Duration
	capacity float64          // available CPU seconds: CPUs times length, summed over windows
	ticks    map[string]int64 // by kind, except idle
	idle     idleTime
	cores    map[int]idleTime  // by CPU
	steps    int               // idle times in steps of 10 ms that idle is the sum of
	exact    int               // exact ones
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
	for _, f := range cpuMetrics() {
		n, reason := f.moved(a, b, jitter)
		if f.name == idleMetric {
			s.addIdle(a, b, f, n)
		}
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
	sum := CPUTime{
		windows: s.windows + o.windows, length: s.length + o.length, capacity: s.capacity + o.capacity, idle: s.idle.plus(o.idle),
		steps: s.steps + o.steps, exact: s.exact + o.exact, ticks: map[string]int64{}, cores: map[int]idleTime{},
	}
	for _, one := range []CPUTime{s, o} {
		for name, n := range one.ticks {
			sum.ticks[name] += n
		}
		for id, idle := range one.cores {
			sum.cores[id] = sum.cores[id].plus(idle)
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
	if figure == idleMetric {
		return s.of(s.idle), ""
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
	idle, why := s.seconds(idleMetric)
	if why != "" {
		return 0, fmt.Errorf("idle time is unknown: %s", why)
	}
	steal, _ := s.seconds("steal")
	return s.capacity - idle - steal, nil
}

// Resolution returns the CPU seconds that may result from the readings of the kernel's idle time
// alone: three standard deviations of the error of the windows' edges.
func (s CPUTime) Resolution() float64 {
	if !s.agree() {
		return edgeError(s.windows)
	}
	return math.Hypot(edgeError(s.steps), 3*visit*math.Sqrt(float64(s.exact)))
}

// edgeError is three standard deviations of the error of n idle times in steps of 10 ms, in
// seconds.
func edgeError(n int) float64 {
	// The error of an edge is uniform over a step: its standard deviation is a step divided
	// by the square root of 12, and a window has two edges.
	return 3 * math.Sqrt(float64(n)/6) / ticksPerSecond
}

// visit is the CPU time, in seconds, that an exact reading adds to a window: until its thread runs,
// and until the CPU is idle again. It was 10 to 30 us on the reference machine.
const visit = 50e-6

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

// idleTime is idle time in CPU seconds, by two accounts.
type idleTime struct {
	best  float64 // exact where that is known, else as ticks
	ticks float64 // in steps of 10 ms
}

func (t idleTime) plus(o idleTime) idleTime { return idleTime{t.best + o.best, t.ticks + o.ticks} }

// addIdle adds the length of a window and the idle time of its CPUs. n is that of the machine's line,
// in ticks. If the idle time of one CPU is unknown, so is the busiest CPU.
func (s *CPUTime) addIdle(from, to *cpuSample, f cpuMetric, n int64) {
	long := to.at.Sub(from.at)
	all := idleTime{ticks: float64(n) / ticksPerSecond} // the machine's line is rounded once, the CPUs' lines each
	var capacity time.Duration
	exact := 0
	if s.cores == nil {
		s.cores = map[int]idleTime{}
	}
	for i := range to.cpus {
		before, known := from.cpus[i].sum(f.columns)
		after, stillKnown := to.cpus[i].sum(f.columns)
		if !known || !stillKnown || after+jitter < before {
			s.markUnknown(busiestCPU, "the idle time of a CPU is unknown")
		}
		ticks := float64(int64(after-before)) / ticksPerSecond //nolint:gosec // two's complement: a step back of jitter is negative
		one, length := idleTime{ticks, ticks}, long
		if e, span, ok := exactIdle(from.cpus[i].exact, to.cpus[i].exact, long); ok {
			one.best, length = e, span
			exact++
		}
		s.cores[to.cpus[i].id] = s.cores[to.cpus[i].id].plus(one)
		all.best += one.best
		capacity += length
	}
	if exact == 0 {
		all.best, s.steps = all.ticks, s.steps+1
	} else {
		s.steps += len(to.cpus) - exact
	}
	s.exact += exact
	s.idle = s.idle.plus(all)
	s.capacity += capacity.Seconds()
	s.length += capacity / time.Duration(len(to.cpus))
}

// exactIdle returns how many seconds a CPU was idle between two exact readings, and how long that was.
// long is the length of the window.
func exactIdle(from, to *ExactIdle, long time.Duration) (idle float64, span time.Duration, ok bool) {
	if from == nil || to == nil {
		return 0, 0, false
	}
	span = long + to.From - from.To
	idle = (to.Idle - from.Idle).Seconds()
	return idle, span, idle >= 0 && idle <= span.Seconds()+visit
}

// agree reports whether the exact idle times can be true beside the ticks. These have steps, and also
// count as idle what the kernel needs to choose a state of cpuidle, which is much if a CPU wakes up often. A
// CPU that is idle in another way than through cpuidle has no exact idle time and would seem
// busy.
func (s CPUTime) agree() bool {
	const choosing = 0.25 // of the time, at most
	return math.Abs(s.idle.best-s.idle.ticks) <= edgeError(s.windows)+choosing*s.capacity
}

// of returns the idle time by the account to trust.
func (s CPUTime) of(t idleTime) float64 {
	if s.agree() {
		return t.best
	}
	return t.ticks
}

const busiestCPU = "fullest"

// BusiestCPU returns the share (0..1) of the windows in which the busiest CPU was not idle,
// including steal: at 1 that CPU is saturated, however idle the others are. It is false if
// unknown. Where idle time has steps of 10 ms, it is inaccurate for windows shorter than a second.
func (s CPUTime) BusiestCPU() (share float64, known bool) {
	_, all := s.gaps[""]
	_, cores := s.gaps[busiestCPU]
	if all || cores || len(s.cores) == 0 || s.length <= 0 {
		return 0, false
	}
	for _, idle := range s.cores {
		share = max(share, 1-s.of(idle)/s.length.Seconds())
	}
	return min(1, share), true
}
