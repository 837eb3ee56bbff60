package observe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// cpuMetrics lists the figures with the columns of /proc/stat that make them up.
func cpuMetrics() []cpuMetric {
	return []cpuMetric{
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

type cpuMetric struct {
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
	for _, f := range cpuMetrics() {
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
func (f cpuMetric) between(from, to *cpuSample) (float64, string) {
	n, reason := f.moved(from, to, 0)
	return float64(n) / ticksPerSecond, reason
}

// moved gives the figure's ticks from one sample to another, or why not. They are
// those of the machine's own line, which is rounded once, and not the sum of the
// CPUs' lines, which are rounded each. But each CPU's line must not run backwards
// either, by more than slack: in the sum another CPU's work would hide it.
func (f cpuMetric) moved(from, to *cpuSample, slack uint64) (int64, string) {
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

// /proc/stat is read here and not by prometheus/procfs, which takes a missing
// column and a missing line for 0, gives up the CPUs when a line about something
// else looks odd, and on a machine of 128 CPUs and 3000 interrupts takes 1.6 ms.

// ticksPerSecond is USER_HZ, the unit of /proc/stat: 100 wherever Go runs Linux,
// whatever CONFIG_HZ is.
const ticksPerSecond = 100

// The columns of a cpu line, in the kernel's order. guest and guest_nice follow;
// they are inside user and nice.
const (
	colUser = iota
	colNice
	colSystem
	colIdle
	colIOWait
	colIRQ
	colSoftIRQ
	colSteal
	columns
)

// maxStat bounds what is read: 8192 CPUs, the most Linux can be built for, in
// lines of 128 bytes.
const maxStat = 1 << 20

// cpuLine is one cpu line: ticks by column, of which the kernel gave the first
// known. The machine's own line has the id -1.
type cpuLine struct {
	id    int
	known int
	ticks [columns]uint64
}

// cpuSample is the cpu part of /proc/stat.
type cpuSample struct {
	at    time.Time // when it was read
	total cpuLine
	cpus  []cpuLine
}

// sum adds columns. It is false when the kernel did not give one of them.
func (l cpuLine) sum(cols []int) (uint64, bool) {
	var n uint64
	for _, c := range cols {
		if c >= l.known {
			return 0, false
		}
		n += l.ticks[c]
	}
	return n, true
}

// readStat reads the cpu lines at the head of path and no further: the line of
// interrupts that follows can be many times as long.
func readStat(path string) (*cpuSample, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, 0, 4096)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if head, ok := cpuHead(buf); ok {
			return parseStat(head)
		}
		switch {
		case errors.Is(err, io.EOF):
			return parseStat(buf)
		case err != nil:
			return nil, err
		case len(buf) >= maxStat:
			return nil, fmt.Errorf("no end of CPU lines in %d bytes", len(buf))
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 4*cap(buf)), buf...)
		}
	}
}

// cpuHead cuts the cpu lines off b. It is false while b might hold only some.
func cpuHead(b []byte) ([]byte, bool) {
	for at := 0; ; {
		rest := b[at:]
		if len(rest) < 3 {
			return nil, false
		}
		if !bytes.HasPrefix(rest, []byte("cpu")) {
			return b[:at], true
		}
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return nil, false
		}
		at += end + 1
	}
}

// parseStat parses cpu lines. The machine's own must be among them, and time
// must have passed on it: some sandboxes show lines full of zeros.
func parseStat(b []byte) (*cpuSample, error) {
	s := new(cpuSample)
	for line := range bytes.Lines(b) {
		l, err := parseCPULine(line)
		if err != nil {
			return nil, err
		}
		if l.id < 0 {
			s.total = l
			continue
		}
		// Samples are compared CPU by CPU, so the order must be the kernel's.
		if n := len(s.cpus); n > 0 && s.cpus[n-1].id >= l.id {
			return nil, fmt.Errorf("CPU %d is listed after CPU %d", l.id, s.cpus[n-1].id)
		}
		s.cpus = append(s.cpus, l)
	}
	if s.total.known == 0 {
		return nil, errors.New("no line for the whole machine")
	}
	if s.total.ticks == [columns]uint64{} {
		return nil, errors.New("every counter is 0, so nothing is counted here")
	}
	return s, nil
}

// ParseCPU is a sample of the collector [CPU] from the text of /proc/stat, as another
// process read it at the given moment of a clock that only runs forward. What follows
// the CPU lines may be there or not.
func ParseCPU(at time.Time, text []byte) (Sample, error) {
	head, whole := cpuHead(text)
	if !whole {
		head = text
	}
	s, err := parseStat(head)
	if err != nil {
		return nil, fmt.Errorf("read CPU time: %w", err)
	}
	s.at = at
	return s, nil
}

// parseCPULine parses "cpu3  1 2 3 ...". Columns beyond steal are skipped, and a
// kernel may give fewer.
func parseCPULine(line []byte) (cpuLine, error) {
	l := cpuLine{id: -1}
	rest, ok := bytes.CutPrefix(line, []byte("cpu"))
	if !ok {
		return l, fmt.Errorf("want a CPU line, have %q", line)
	}
	name, rest, _ := bytes.Cut(rest, []byte(" "))
	if len(name) > 0 {
		id, err := strconv.ParseUint(string(name), 10, 31)
		if err != nil {
			return l, fmt.Errorf("number of CPU in %q: %w", line, err)
		}
		l.id = int(id)
	}
	for field := range bytes.FieldsSeq(rest) {
		if l.known == columns {
			break
		}
		v, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return l, fmt.Errorf("column %d of %q: %w", l.known+1, line, err)
		}
		l.ticks[l.known] = v
		l.known++
	}
	return l, nil
}
