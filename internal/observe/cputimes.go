package observe

import (
	"fmt"
	"slices"
	"time"
)

// CPUTimes is a sample of the collector [CPU] that another process can use, such as the controller of
// an agent.
type CPUTimes struct {
	Machine []uint64    `json:"machine"` // by column, see CPUCounts
	CPUs    []CPUCounts `json:"cpus"`    // in increasing order
}

// CPUCounts is the time of one CPU in steps of 10 ms, by column: user, nice, system, idle, waiting for
// disks, irq, softirq and steal. A system that does not count the last ones leaves them out.
type CPUCounts struct {
	ID    int        `json:"id"`
	Ticks []uint64   `json:"ticks"`
	Exact *ExactIdle `json:"exact,omitempty"` // nil if unknown
}

// ExactIdle is the idle time of a CPU to the microsecond, which it had between two moments. These are
// relative to that of the sample. See [idle.Reading].
type ExactIdle struct {
	Idle time.Duration `json:"idle_ns"`
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
}

// maxExactSpan is how far the moments of an ExactIdle may be from that of its sample.
const maxExactSpan = time.Second

func (e *ExactIdle) valid() bool {
	return e == nil || e.Idle >= 0 && e.From <= e.To && e.From.Abs() <= maxExactSpan && e.To.Abs() <= maxExactSpan
}

// ReadTimes reads the CPU times of this machine, and at which moment.
func (c CPU) ReadTimes() (t CPUTimes, at time.Time, err error) {
	s, err := c.read()
	if err != nil {
		return t, at, err
	}
	t.Machine = s.total.ticks[:s.total.known]
	for _, l := range s.cpus {
		t.CPUs = append(t.CPUs, CPUCounts{l.id, slices.Clone(l.ticks[:l.known]), l.exact})
	}
	return t, s.at, nil
}

// Sample returns the sample of times that were read at the given monotonic time. Their origin is not
// trusted.
func (t CPUTimes) Sample(at time.Time) (Sample, error) {
	s := &cpuSample{at: at}
	var err error
	if s.total, err = cpuLineOf(-1, t.Machine); err != nil {
		return nil, err
	}
	for _, c := range t.CPUs {
		l, err := cpuLineOf(c.ID, c.Ticks)
		if err != nil {
			return nil, err
		}
		if c.ID < 0 {
			return nil, fmt.Errorf("read CPU time: CPU %d cannot be", c.ID)
		}
		if !c.Exact.valid() {
			return nil, fmt.Errorf("read CPU time: the idle time of CPU %d cannot be: %+v", c.ID, *c.Exact)
		}
		l.exact = c.Exact
		s.cpus = append(s.cpus, l)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("read CPU time: %w", err)
	}
	return s, nil
}

func cpuLineOf(id int, ticks []uint64) (cpuLine, error) {
	l := cpuLine{id: id, known: len(ticks)}
	if len(ticks) > columns {
		return l, fmt.Errorf("read CPU time: %d kinds of time, at most %d are known", len(ticks), columns)
	}
	copy(l.ticks[:], ticks)
	return l, nil
}
