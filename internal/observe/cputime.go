package observe

import (
	"fmt"
	"math"
	"time"
)

// CPUTime is the CPU time of the whole machine in windows that need not follow each
// other, such as the turns of one mode. Its zero value holds no window.
//
// Beside the kinds of [CPU], as sampled by the kernel's tick, it knows the total in
// another way: all CPUs for the length of the windows, less idle and steal. Those two
// the kernel times, where it stops the tick of an idle CPU, and so the total also
// holds the work that no tick met, as of interrupts on an idle CPU. Where idle is
// sampled too, the total is the sum of the busy kinds to within a tick a CPU.
//
// Each edge of a window is off by up to 10 ms of idle time, the step in which the
// kernel tells it, to either side alike: over n windows that adds up to an error of
// about 4 ms times the root of n, and of windows that follow each other it cancels.
type CPUTime struct {
	windows  int
	length   time.Duration
	capacity float64 // CPU seconds there were: CPUs times length, window by window
	ticks    map[string]int64
	cores    map[int]int64     // idle ticks by CPU
	gaps     map[string]string // by figure, the first reason; of "" all are lost
}

// jitter is by how many ticks a counter may run backwards within one window: the
// kernel puts a CPU's idle time together from two numbers, and now and then reads
// them a moment apart.
const jitter = 1

// Add takes in a window that lies between two samples of the collector [CPU]. A
// window that cannot be had leaves the figures that it lacks unknown for good.
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
		s.markUnknown("", "the kernel lists no single CPU")
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

// Plus is both together.
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

// Length is how long the windows are together.
func (s CPUTime) Length() time.Duration { return s.length }

// seconds is the seconds of a kind, or why they are not known.
func (s CPUTime) seconds(figure string) (float64, string) {
	if why, lost := s.gaps[""]; lost {
		return 0, why
	}
	if why, lost := s.gaps[figure]; lost {
		return 0, why
	}
	return float64(s.ticks[figure]) / ticksPerSecond, ""
}

// Busy is how many CPU seconds the machine worked, by its idle time. Error: why that
// is not known. A kernel that counts no steal has none. Within the resolution of an
// idle machine it may be less than 0.
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

// Resolution is the CPU seconds that the steps of the kernel's idle time can make of
// nothing: three times the standard deviation of the windows' edges.
func (s CPUTime) Resolution() float64 {
	// An edge is off evenly by up to a step: a deviation of a step by the root of 12,
	// and a window has two.
	return 3 * math.Sqrt(float64(s.windows)/6) / ticksPerSecond
}

// Metrics are what is known, by the names that they have in a Window: cpu_user and
// the other kinds, cpu_busy, all in CPU seconds, and cpu_time, the length of the
// windows in seconds. None is below 0.
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

// coreIdle adds up the idle ticks of each CPU within a window. A CPU whose idle time is
// not known leaves all of them unknown: nobody knows which was the fullest.
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

// BusiestCPU is the share (0..1) of the windows in which the fullest CPU was not idle,
// steal included: at 1 its work is all that it can do, however idle the others are.
// False where it is not known. The kernel tells idle time in steps of 10 ms, so that of
// windows shorter than a second it is rough.
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
