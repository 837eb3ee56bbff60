package observe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory is the collector "memory": whether memory was short, from /proc/meminfo and
// /proc/vmstat, and from the control group that limits the run's memory, if any. Its
// metrics:
//
//	available       bytes that programs could still allocate, the smaller value of the two
//	                readings; the counts below cover the time between them
//	major_faults    pages that had to be read from a disk
//	swapped         bytes written to swap or read back
//	stalls          times that a thread had to free memory before it got any
//	oom_kills       processes that the kernel killed for lack of memory
//	group_stalls    times that a group's limit was hit
//	group_oom_kills processes that were killed because of a group's limit
//
// All except those of groups are for the whole machine, so others affect them as well.
type Memory struct {
	meminfo, vmstat string
	groups          []string
	read            func(path string) ([]byte, error)
}

// NewMemory creates the collector for the procfs mounted at procRoot. groups are the
// directories of the control groups that limit the run's memory.
func NewMemory(procRoot string, groups []string) Memory {
	return Memory{filepath.Join(procRoot, "meminfo"), filepath.Join(procRoot, "vmstat"), groups, os.ReadFile}
}

// Name returns "memory".
func (Memory) Name() string { return "memory" }

// Read takes a sample. It fails if neither of the two files can be read.
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

// memoryMetrics lists the metrics from /proc/vmstat with their counters. A kernel has the
// counters of the memory zones that it has.
func memoryMetrics() []memoryMetric {
	page := float64(os.Getpagesize())
	return []memoryMetric{
		{"major_faults", []string{"pgmajfault"}, 1},
		{"swapped", []string{"pswpin", "pswpout"}, page},
		{"stalls", []string{"allocstall", "allocstall_dma", "allocstall_dma32", "allocstall_normal", "allocstall_movable", "allocstall_device"}, 1},
		{"oom_kills", []string{"oom_kill"}, 1},
	}
}

type memoryMetric struct {
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
	for _, f := range memoryMetrics() {
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

// between returns the metric's change between two samples, or why it is unknown.
func (f memoryMetric) between(from, to *memorySample) (float64, string) {
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

// readCounts reads the counters of memoryMetrics from a file of lines "name count".
func (m Memory) readCounts(path string) (map[string]uint64, error) {
	text, err := m.read(path)
	if err != nil {
		return nil, fmt.Errorf("read counters of memory: %w", err)
	}
	return parseCounts(text)
}

func parseCounts(text []byte) (map[string]uint64, error) {
	counts := map[string]uint64{}
	for _, f := range memoryMetrics() {
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

// readKeyed reads one number from a file of lines that begin with a key.
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

// keyed returns the number after key in the line that begins with it.
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
			return 0, true, fmt.Errorf("%s is %q, which is not a number", key, fields[0])
		}
		return n, true, nil
	}
	return 0, false, nil
}

// groupCounts is what a control group has counted about its memory limit. noKills means
// that it does not count killed processes.
type groupCounts struct {
	stalls, kills uint64
	noKills       bool
}

// readGroup reads a group of either version: memory.events of version 2, or memory.failcnt
// and memory.oom_control of version 1; kernels before 4.13 do not count kills there.
func readGroup(dir string) (g groupCounts, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "memory.events"))
	if err == nil {
		there := false
		if g.stalls, there, err = keyed(text, "max"); err == nil && !there {
			err = errors.New("memory.events has no max")
		}
		return g, groupError(dir, errors.Join(err, g.ended(text)))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return g, groupError(dir, err)
	}
	count, err := os.ReadFile(filepath.Join(dir, "memory.failcnt"))
	if err != nil {
		return g, groupError(dir, err)
	}
	if g.stalls, err = strconv.ParseUint(strings.TrimSpace(string(count)), 10, 53); err != nil {
		return g, groupError(dir, err)
	}
	if text, err = os.ReadFile(filepath.Join(dir, "memory.oom_control")); err == nil {
		err = g.ended(text)
	}
	return g, groupError(dir, err)
}

// ended reads the number of killed processes from text.
func (g *groupCounts) ended(text []byte) error {
	n, there, err := keyed(text, "oom_kill")
	g.kills, g.noKills = n, !there
	return err
}

func groupError(dir string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read the memory events of the control group at %s: %w", dir, err)
}
