package observe

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// CPU is the collector "cpu": how the CPU time of the whole machine was spent,
// from /proc/stat. The whole machine, because the work that a packet makes in
// softirq belongs to no process and no cgroup. Its figures are CPU seconds:
//
//	user     programs, niced ones and guests of this machine included
//	system   the kernel on behalf of programs
//	irq      hard interrupts
//	softirq  soft interrupts: most of the network's receive side
//	steal    wanted by this virtual machine but run elsewhere: not our work
//	idle     nothing to do, or nothing but waiting for disks
//
// Two limits come from the kernel. It counts in steps of 10 ms. And unless built
// otherwise it samples: the whole tick goes to whatever the tick interrupted, so
// that work is missed where it fits between ticks, as of interrupts on a CPU that
// is otherwise idle; irq then stays near 0. Only idle is timed and not sampled,
// on kernels that stop the tick of an idle CPU. facts tells how a kernel counts.
type CPU struct{ path string }

// NewCPU makes the collector over the procfs mounted at procRoot.
func NewCPU(procRoot string) CPU { return CPU{filepath.Join(procRoot, "stat")} }

// Name is "cpu".
func (CPU) Name() string { return "cpu" }

// A reading that was interrupted tells a moment between its beginning and its end,
// and nobody knows which: it is made again, at most readAttempts times in all, unless
// it took no longer than promptRead.
const (
	promptRead   = time.Millisecond
	readAttempts = 3
)

// Read takes a sample. It fails where /proc/stat cannot be read, makes no sense
// or counts nothing at all, as that of gVisor.
func (c CPU) Read() (Sample, error) {
	var best *cpuSample
	var shortest time.Duration
	for range readAttempts {
		began := time.Now()
		s, err := readStat(c.path)
		took := time.Since(began)
		if err != nil {
			return nil, fmt.Errorf("read CPU time from %s: %w", c.path, err)
		}
		if best == nil || took < shortest {
			s.at = began.Add(took / 2)
			best, shortest = s, took
		}
		if took <= promptRead {
			break
		}
	}
	return best, nil
}

// cpuFigures lists the figures with the columns of /proc/stat that make them up.
func cpuFigures() []cpuFigure {
	return []cpuFigure{
		// The kernel counts guest inside user and guest_nice inside nice, so
		// the columns guest and guest_nice must not be added.
		{"user", []int{colUser, colNice}},
		{"system", []int{colSystem}},
		{"irq", []int{colIRQ}},
		{"softirq", []int{colSoftIRQ}},
		{"steal", []int{colSteal}},
		// iowait is idle time under another name, and the kernel moves time
		// between the two, so that iowait alone runs backwards (proc(5)).
		{"idle", []int{colIdle, colIOWait}},
	}
}

type cpuFigure struct {
	name    string
	columns []int
}

// Since implements [Sample].
func (s *cpuSample) Since(earlier Sample) (map[string]float64, []Gap) {
	from, ok := earlier.(*cpuSample)
	if !ok {
		return nil, []Gap{{Reason: fmt.Sprintf("earlier sample is a %T, not one of CPU time", earlier)}}
	}
	if gap, changed := cpusChanged(from.cpus, s.cpus); changed {
		return nil, []Gap{gap}
	}
	figures := make(map[string]float64)
	var gaps []Gap
	for _, f := range cpuFigures() {
		seconds, reason := f.between(from, s)
		if reason != "" {
			gaps = append(gaps, Gap{f.name, reason})
			continue
		}
		figures[f.name] = seconds
	}
	return figures, gaps
}

// between gives the figure's seconds from one sample to another, or why not.
func (f cpuFigure) between(from, to *cpuSample) (float64, string) {
	n, reason := f.moved(from, to, 0)
	return float64(n) / ticksPerSecond, reason
}

// moved gives the figure's ticks from one sample to another, or why not. They are
// those of the machine's own line, which is rounded once, and not the sum of the
// CPUs' lines, which are rounded each. But each CPU's line must not run backwards
// either, by more than slack: in the sum another CPU's work would hide it.
func (f cpuFigure) moved(from, to *cpuSample, slack uint64) (int64, string) {
	before, known := from.total.sum(f.columns)
	after, stillKnown := to.total.sum(f.columns)
	if !known || !stillKnown {
		return 0, "this kernel does not count it"
	}
	if after+slack < before {
		return 0, fmt.Sprintf("the machine's counter went backwards, from %d to %d ticks", before, after)
	}
	for i := range from.cpus {
		b, _ := from.cpus[i].sum(f.columns)
		a, _ := to.cpus[i].sum(f.columns)
		if a+slack < b {
			return 0, fmt.Sprintf("the counter of CPU %d went backwards, from %d to %d ticks", from.cpus[i].id, b, a)
		}
	}
	return int64(after - before), "" //nolint:gosec // two's complement: a step back of slack is negative
}

// cpusChanged compares the CPUs that two samples list. A CPU that comes or goes
// takes its counters with it, wholly or in part, and what the machine's line then
// shows depends on kernel and container: nothing of such a window is used.
func cpusChanged(before, after []cpuLine) (Gap, bool) {
	sameID := func(a, b cpuLine) bool { return a.id == b.id }
	if slices.EqualFunc(before, after, sameID) {
		return Gap{}, false
	}
	gone, come := missingFrom(after, before), missingFrom(before, after)
	var parts []string
	if len(gone) > 0 {
		parts = append(parts, fmt.Sprintf("CPU %s went away", join(gone)))
	}
	if len(come) > 0 {
		parts = append(parts, fmt.Sprintf("CPU %s came", join(come)))
	}
	return Gap{Reason: strings.Join(parts, " and ") + " within the window"}, true
}

// missingFrom lists the CPUs of b that a lacks.
func missingFrom(a, b []cpuLine) []int {
	var ids []int
	for _, c := range b {
		if !slices.ContainsFunc(a, func(o cpuLine) bool { return o.id == c.id }) {
			ids = append(ids, c.id)
		}
	}
	return ids
}

func join(ids []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ", ")
}
