package observe

import (
	"fmt"
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
	ID    int      `json:"id"`
	Ticks []uint64 `json:"ticks"`
}

// ReadCPUTimes reads the CPU times of this machine, on Linux from the procfs mounted at procRoot.
func ReadCPUTimes(procRoot string) (CPUTimes, error) {
	s, err := readCPU(NewCPU(procRoot).path)
	if err != nil {
		return CPUTimes{}, fmt.Errorf("read CPU time: %w", err)
	}
	t := CPUTimes{Machine: s.total.ticks[:s.total.known]}
	for i := range s.cpus {
		t.CPUs = append(t.CPUs, CPUCounts{s.cpus[i].id, s.cpus[i].ticks[:s.cpus[i].known]})
	}
	return t, nil
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
