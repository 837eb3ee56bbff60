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

	"tare/internal/observe/idle"
)

// CPU is the collector "cpu": how the CPU time of the whole machine was spent, from
// /proc/stat, or from the kernel on Windows. It covers the whole machine because packet processing in softirq belongs to
// no process or cgroup. Its metrics are CPU seconds:
//
//	user     programs, including niced ones and guests of this machine
//	system   the kernel on behalf of programs
//	irq      hard interrupts
//	softirq  soft interrupts: most of the network's receive side
//	steal    requested by this virtual machine but used elsewhere: not work of this machine
//	idle     idle, or only waiting for disks
//
// Two limits come from the kernel. It counts in steps of 10 ms. And unless built otherwise
// it samples: the whole tick is charged to whatever it interrupted, so that work that fits
// between ticks is missed, such as interrupts on an otherwise idle CPU; irq then stays near
// 0. Only idle is timed and not sampled, on kernels that stop the tick of an idle CPU.
// Package facts records how a kernel counts.
//
// With the exact idle time of CPUs ([CPU.WithIdle]), a [CPUTime] of its samples is more precise.
type CPU struct {
	path string
	idle *idle.Reader // nil if there is none
}

// NewCPU creates the collector for the procfs mounted at procRoot.
func NewCPU(procRoot string) CPU { return CPU{path: filepath.Join(procRoot, "stat")} }

// WithIdle returns the collector with a reader of exact idle times, which must be of the same
// machine. It may be nil.
func (c CPU) WithIdle(r *idle.Reader) CPU {
	c.idle = r
	return c
}

// Name returns "cpu".
func (CPU) Name() string { return "cpu" }

// An interrupted reading is of an unknown moment between its start and its end. It is
// repeated, at most readAttempts times in all, unless it took no longer than maxReadTime.
const (
	maxReadTime  = time.Millisecond
	readAttempts = 3
)

// Read takes a sample. It fails if /proc/stat cannot be read, cannot be parsed or counts
// nothing at all, as that of gVisor.
func (c CPU) Read() (Sample, error) {
	s, err := c.read()
	if err != nil {
		return nil, err // and not a nil sample in an interface
	}
	return s, nil
}

func (c CPU) read() (*cpuSample, error) {
	exact := c.idle.Read()
	var best *cpuSample
	var shortest time.Duration
	for range readAttempts {
		began := time.Now()
		s, err := readCPU(c.path)
		took := time.Since(began)
		if err != nil {
			return nil, fmt.Errorf("read CPU time from %s: %w", c.path, err)
		}
		if best == nil || took < shortest {
			s.at = began.Add(took / 2)
			best, shortest = s, took
		}
		if took <= maxReadTime {
			break
		}
	}
	for _, r := range exact {
		if i := slices.IndexFunc(best.cpus, func(l cpuLine) bool { return l.id == r.CPU }); i >= 0 {
			best.cpus[i].exact = &ExactIdle{Idle: r.Idle, From: r.From.Sub(best.at), To: r.To.Sub(best.at)}
		}
	}
	return best, nil
}

// cpuMetrics lists the metrics with the columns of /proc/stat that they consist of.
func cpuMetrics() []cpuMetric {
	return []cpuMetric{
		// The kernel includes guest in user and guest_nice in nice, so the columns guest
		// and guest_nice must not be added.
		{"user", []int{colUser, colNice}},
		{"system", []int{colSystem}},
		{"irq", []int{colIRQ}},
		{"softirq", []int{colSoftIRQ}},
		{"steal", []int{colSteal}},
		// iowait is a kind of idle time, and the kernel moves time between the two, so that
		// iowait alone may decrease (proc(5)).
		{idleMetric, []int{colIdle, colIOWait}},
	}
}

// idleMetric is the kind that is timed.
const idleMetric = "idle"

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

// between returns the metric's seconds between two samples, or why they are unknown.
func (f cpuMetric) between(from, to *cpuSample) (float64, string) {
	n, reason := f.moved(from, to, 0)
	return float64(n) / ticksPerSecond, reason
}

// moved returns the metric's ticks between two samples, or why they are unknown. It uses
// the machine's line, which is rounded once, and not the sum of the CPUs' lines, each of
// which is rounded. But no CPU's line may decrease by more than slack either: in the sum,
// another CPU's work would hide that.
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
	return int64(after - before), "" //nolint:gosec // two's complement: a decrease within slack is negative
}

// cpusChanged compares the CPUs that two samples list. A CPU that goes offline or online
// takes some or all of its counters with it, and the machine's line then depends on kernel
// and container, so such a window is not used.
func cpusChanged(before, after []cpuLine) (Gap, bool) {
	sameID := func(a, b cpuLine) bool { return a.id == b.id }
	if slices.EqualFunc(before, after, sameID) {
		return Gap{}, false
	}
	gone, come := missingFrom(after, before), missingFrom(before, after)
	var parts []string
	if len(gone) > 0 {
		parts = append(parts, fmt.Sprintf("CPU %s went offline", join(gone)))
	}
	if len(come) > 0 {
		parts = append(parts, fmt.Sprintf("CPU %s came online", join(come)))
	}
	return Gap{Reason: strings.Join(parts, " and ") + " within the window"}, true
}

// missingFrom lists the CPUs of b that are not in a.
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

// /proc/stat is parsed here and not by prometheus/procfs, which takes a missing column or
// line for 0, drops the CPUs if an unrelated line cannot be parsed, and takes 1.6 ms on a
// machine with 128 CPUs and 3000 interrupts.

// ticksPerSecond is USER_HZ, the unit of /proc/stat: 100 on every Linux that Go supports,
// independent of CONFIG_HZ.
const ticksPerSecond = 100

// The columns of a cpu line, in the kernel's order. guest and guest_nice follow; they are
// included in user and nice.
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

// maxStat limits what is read: 8192 CPUs, the maximum of Linux, in lines of 128 bytes.
const maxStat = 1 << 20

// cpuLine is one cpu line: ticks by column, of which the first known ones are set. The
// machine's line has the id -1.
type cpuLine struct {
	id    int
	known int
	ticks [columns]uint64
	exact *ExactIdle // nil if unknown
}

// cpuSample is the cpu part of /proc/stat.
type cpuSample struct {
	at    time.Time // when it was read
	total cpuLine
	cpus  []cpuLine
}

// sum adds columns. It is false if the kernel did not provide one of them.
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

// readStat reads the cpu lines at the start of path and no further: the line of interrupts
// that follows can be many times as long.
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
			return nil, fmt.Errorf("the CPU lines do not end within %d bytes", len(buf))
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 4*cap(buf)), buf...)
		}
	}
}

// cpuHead returns the cpu lines of b. It is false if b may contain only some of them.
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

// parseStat parses cpu lines.
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
		s.cpus = append(s.cpus, l)
	}
	return s, s.check()
}

// check returns an error for a sample that cannot be compared with another. The machine's own line
// must be there and must not be zero: some sandboxes show lines full of zeros.
func (s *cpuSample) check() error {
	// Samples are compared CPU by CPU, so the order must be the kernel's.
	for i := 1; i < len(s.cpus); i++ {
		if s.cpus[i-1].id >= s.cpus[i].id {
			return fmt.Errorf("CPU %d is listed after CPU %d", s.cpus[i].id, s.cpus[i-1].id)
		}
	}
	if s.total.known == 0 {
		return errors.New("no line for the whole machine")
	}
	if s.total.ticks == [columns]uint64{} {
		return errors.New("every counter is 0, so this kernel does not count CPU time")
	}
	return nil
}

// parseCPULine parses "cpu3  1 2 3 ...". Columns after steal are ignored, and a kernel may
// have fewer.
func parseCPULine(line []byte) (cpuLine, error) {
	l := cpuLine{id: -1}
	rest, ok := bytes.CutPrefix(line, []byte("cpu"))
	if !ok {
		return l, fmt.Errorf("%q is not a CPU line", line)
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
