package observe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

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
