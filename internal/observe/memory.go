package observe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Memory is the collector "memory": whether memory was short, from /proc/meminfo
// and /proc/vmstat, and where a control group limits the run's memory from that, too.
// Its figures:
//
//	available       bytes that programs could still have, the lesser of both ends of
//	                the window; what happened between them is in the counts below
//	major_faults    times that a page had to be read from a disk
//	swapped         bytes written to swap or read back
//	stalls          times that a thread had to free memory before it got any
//	oom_kills       processes that the kernel ended for lack of memory
//	group_stalls    times that a group's limit stood in the way
//	group_oom_kills processes that were ended for a group's limit
//
// All but those of groups are the whole machine's: others cause them as well.
type Memory struct {
	meminfo, vmstat string
	groups          []string
	read            func(path string) ([]byte, error)
}

// NewMemory makes the collector over the procfs mounted at procRoot. groups are the
// directories of the control groups that limit the run's memory.
func NewMemory(procRoot string, groups []string) Memory {
	return Memory{filepath.Join(procRoot, "meminfo"), filepath.Join(procRoot, "vmstat"), groups, os.ReadFile}
}

// Name is "memory".
func (Memory) Name() string { return "memory" }

// Read takes a sample. It fails where neither of the two files can be read.
func (m Memory) Read() (Sample, error) {
	s := &memorySample{}
	s.available, s.availableErr = m.readKeyed(m.meminfo, "MemAvailable:")
	s.counts, s.countsErr = m.readCounts(m.vmstat)
	if s.availableErr != nil && s.countsErr != nil {
		return nil, s.availableErr
	}
	for _, dir := range m.groups {
		g, err := readGroup(dir)
		if err != nil && s.groupErr == nil {
			s.groupErr = err
		}
		s.group.stalls += g.stalls
		s.group.kills += g.kills
		s.group.noKills = s.group.noKills || g.noKills
	}
	s.grouped = len(m.groups) > 0
	return s, nil
}

type memorySample struct {
	available    uint64 // KiB
	availableErr error
	counts       map[string]uint64
	countsErr    error
	grouped      bool
	group        groupCounts
	groupErr     error
}

// memoryFigures lists the figures of /proc/vmstat with the counters that make them
// up. A kernel has those of the kinds of memory that it has.
func memoryFigures() []memoryFigure {
	page := float64(os.Getpagesize())
	return []memoryFigure{
		{"major_faults", []string{"pgmajfault"}, 1},
		{"swapped", []string{"pswpin", "pswpout"}, page},
		{"stalls", []string{"allocstall", "allocstall_dma", "allocstall_dma32", "allocstall_normal", "allocstall_movable", "allocstall_device"}, 1},
		{"oom_kills", []string{"oom_kill"}, 1},
	}
}

type memoryFigure struct {
	name     string
	counters []string
	each     float64
}

// Since implements [Sample].
func (s *memorySample) Since(earlier Sample) (map[string]float64, []Gap) {
	from, ok := earlier.(*memorySample)
	if !ok {
		return nil, []Gap{{Reason: fmt.Sprintf("earlier sample is a %T, not one of memory", earlier)}}
	}
	figures := map[string]float64{}
	var gaps []Gap
	if err := firstError(from.availableErr, s.availableErr); err != nil {
		gaps = append(gaps, Gap{"available", err.Error()})
	} else {
		figures["available"] = 1024 * float64(min(from.available, s.available))
	}
	for _, f := range memoryFigures() {
		n, reason := f.between(from, s)
		if reason != "" {
			gaps = append(gaps, Gap{f.name, reason})
			continue
		}
		figures[f.name] = n
	}
	if !s.grouped || !from.grouped {
		return figures, gaps
	}
	for _, g := range []struct {
		name          string
		before, after uint64
		uncounted     bool
	}{{"group_stalls", from.group.stalls, s.group.stalls, false}, {"group_oom_kills", from.group.kills, s.group.kills, s.group.noKills}} {
		switch err := firstError(from.groupErr, s.groupErr); {
		case err != nil:
			gaps = append(gaps, Gap{g.name, err.Error()})
		case g.uncounted:
			gaps = append(gaps, Gap{g.name, "this kernel does not count it"})
		case g.after < g.before:
			gaps = append(gaps, Gap{g.name, fmt.Sprintf("the counter went backwards, from %d to %d", g.before, g.after)})
		default:
			figures[g.name] = float64(g.after - g.before)
		}
	}
	return figures, gaps
}

// between gives the figure from one sample to another, or why not.
func (f memoryFigure) between(from, to *memorySample) (float64, string) {
	if err := firstError(from.countsErr, to.countsErr); err != nil {
		return 0, err.Error()
	}
	var sum float64
	known := false
	for _, c := range f.counters {
		before, was := from.counts[c]
		after, is := to.counts[c]
		switch {
		case !was || !is:
		case after < before:
			return 0, fmt.Sprintf("%s went backwards, from %d to %d", c, before, after)
		default:
			known = true
			sum += float64(after - before)
		}
	}
	if !known {
		return 0, "this kernel does not count it"
	}
	return sum * f.each, ""
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readCounts reads the counters of memoryFigures from a file of lines "name count".
func (m Memory) readCounts(path string) (map[string]uint64, error) {
	text, err := m.read(path)
	if err != nil {
		return nil, fmt.Errorf("read counters of memory: %w", err)
	}
	return parseCounts(text)
}

func parseCounts(text []byte) (map[string]uint64, error) {
	counts := map[string]uint64{}
	for _, f := range memoryFigures() {
		for _, name := range f.counters {
			n, there, err := keyed(text, name)
			if err != nil {
				return nil, err
			}
			if there {
				counts[name] = n
			}
		}
	}
	return counts, nil
}

// readKeyed reads one count from a file of lines that begin with a key.
func (m Memory) readKeyed(path, key string) (uint64, error) {
	text, err := m.read(path)
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	n, there, err := keyed(text, key)
	if err == nil && !there {
		err = fmt.Errorf("%s has no %s", path, key)
	}
	return n, err
}

// keyed finds the line that begins with key and gives the number behind it.
func keyed(text []byte, key string) (n uint64, there bool, err error) {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(key))
		if !ok || len(rest) == 0 || rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		fields := bytes.Fields(rest)
		if len(fields) == 0 {
			return 0, true, fmt.Errorf("%s has no number", key)
		}
		if n, err = strconv.ParseUint(string(fields[0]), 10, 53); err != nil {
			return 0, true, fmt.Errorf("%s is %q, which is no count", key, fields[0])
		}
		return n, true, nil
	}
	return 0, false, nil
}
