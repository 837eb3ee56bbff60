package observe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Pressure is the collector "pressure": how long threads on the machine had to wait for a
// resource, from /proc/pressure (Documentation/accounting/psi.rst). Its metrics are seconds
// within the window in which at least one thread waited:
//
//	cpu     runnable, waiting for a CPU
//	memory  for memory to be freed or read back
//	io      for a disk
//
// The kernel counts every waiting thread, including the endpoints of the trial: two
// programs that share a CPU by design wait for each other. For several CPUs it takes the
// mean, weighted by how busy each was, so no metric exceeds the window's length.
type Pressure struct {
	dir  string
	read func(path string) ([]byte, error)
}

// NewPressure creates the collector for the procfs mounted at procRoot.
func NewPressure(procRoot string) Pressure {
	return Pressure{filepath.Join(procRoot, "pressure"), os.ReadFile}
}

// Name returns "pressure".
func (Pressure) Name() string { return "pressure" }

// pressureMetrics lists the metrics, each with its own file.
func pressureMetrics() []string { return []string{"cpu", "memory", "io"} }

// Read takes a sample. It fails if none of the files can be read, as on a kernel that does
// not count pressure.
func (p Pressure) Read() (Sample, error) {
	s := pressureSample{}
	var last error
	known := false
	for _, name := range pressureMetrics() {
		path := filepath.Join(p.dir, name)
		text, err := p.read(path)
		if err == nil {
			s[name], err = parsePressure(text)
		}
		if err != nil {
			last = fmt.Errorf("read pressure from %s: %w", path, err)
			s[name] = stallTime{err: last}
			continue
		}
		known = true
	}
	switch {
	case known:
		return s, nil
	case errors.Is(last, fs.ErrNotExist), errors.Is(last, syscall.EOPNOTSUPP):
		return nil, fmt.Errorf("no pressure in %s: the kernel does not count it (set CONFIG_PSI, or psi=1 on its command line)", p.dir)
	}
	return nil, last
}

// stallTime is the stall time of one file since the machine started, or why it is unknown.
type stallTime struct {
	micros uint64
	err    error
}

type pressureSample map[string]stallTime

// Since implements [Sample].
func (s pressureSample) Since(earlier Sample) (map[string]float64, []Gap) {
	from, ok := earlier.(pressureSample)
	if !ok {
		return nil, []Gap{{Reason: fmt.Sprintf("earlier sample is a %T, not one of pressure", earlier)}}
	}
	figures := map[string]float64{}
	var gaps []Gap
	for _, name := range pressureMetrics() {
		a, b := from[name], s[name]
		switch {
		case a.err != nil:
			gaps = append(gaps, Gap{name, a.err.Error()})
		case b.err != nil:
			gaps = append(gaps, Gap{name, b.err.Error()})
		case b.micros < a.micros:
			gaps = append(gaps, Gap{name, fmt.Sprintf("the counter went backwards, from %d to %d us", a.micros, b.micros)})
		default:
			figures[name] = float64(b.micros-a.micros) / 1e6
		}
	}
	return figures, gaps
}

// parsePressure returns the total of the line "some" in microseconds:
//
//	some avg10=0.00 avg60=0.00 avg300=0.00 total=12345
func parsePressure(text []byte) (stallTime, error) {
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "some" {
			continue
		}
		for _, f := range fields[1:] {
			if v, ok := bytes.CutPrefix(f, []byte("total=")); ok {
				n, err := strconv.ParseUint(string(v), 10, 64)
				if err != nil {
					return stallTime{}, fmt.Errorf("total %q is not a count", v)
				}
				return stallTime{micros: n}, nil
			}
		}
	}
	return stallTime{}, fmt.Errorf("no total of \"some\" in %q", truncate(text))
}

// truncate shortens the content of an unexpected file for an error message.
func truncate(text []byte) []byte { return text[:min(len(text), 80)] }

// PressureFiles is what the collectors "pressure" and "memory" read of a machine, in a form
// that can be sent to another: files by their paths below /proc, reduced to the required
// lines. Unreadable files are omitted.
type PressureFiles map[string]string

// ReadPressureFiles reads the procfs mounted at procRoot.
func ReadPressureFiles(procRoot string) PressureFiles {
	s := PressureFiles{}
	for path, prefixes := range pressureFileLines() {
		text, err := os.ReadFile(filepath.Join(procRoot, path))
		if err != nil {
			continue
		}
		var kept strings.Builder
		for line := range bytes.Lines(text) {
			if slices.ContainsFunc(prefixes, func(p string) bool { return bytes.HasPrefix(line, []byte(p)) }) {
				kept.Write(line)
			}
		}
		s[path] = kept.String()
	}
	return s
}

// pressureFileLines returns the files of PressureFiles with the prefixes of the required lines.
func pressureFileLines() map[string][]string {
	out := map[string][]string{"meminfo": {"MemAvailable:"}}
	for _, name := range pressureMetrics() {
		out["pressure/"+name] = []string{"some "}
	}
	for _, f := range memoryMetrics() {
		out["vmstat"] = append(out["vmstat"], f.counters...)
	}
	return out
}

// Since returns the metrics of both collectors between earlier, from the same machine, and
// this reading, by full name. Unknown metrics are omitted.
func (s PressureFiles) Since(earlier PressureFiles) map[string]float64 {
	out := map[string]float64{}
	for _, c := range []func(PressureFiles) Collector{
		func(s PressureFiles) Collector { return Pressure{"pressure", s.file} },
		func(s PressureFiles) Collector { return Memory{meminfo: "meminfo", vmstat: "vmstat", read: s.file} },
	} {
		at := c(s)
		to, err := at.Read()
		from, errFrom := c(earlier).Read()
		if err != nil || errFrom != nil {
			continue
		}
		moved, _ := to.Since(from)
		for name, v := range moved {
			out[at.Name()+"_"+name] = v
		}
	}
	return out
}

func (s PressureFiles) file(path string) ([]byte, error) {
	text, ok := s[path]
	if !ok {
		return nil, fmt.Errorf("read /proc/%s: %w", path, fs.ErrNotExist)
	}
	return []byte(text), nil
}

// MergeHosts merges the metrics of two machines that took part in one trial: the longer
// wait, the smaller amount of memory, and the sum of counts. A metric of only one machine
// is kept unchanged.
func MergeHosts(a, b map[string]float64) map[string]float64 {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]float64{}
	}
	for name, v := range b {
		have, known := out[name]
		switch {
		case !known:
			out[name] = v
		case strings.HasPrefix(name, "pressure_"):
			out[name] = math.Max(have, v)
		case name == "memory_available":
			out[name] = math.Min(have, v)
		default:
			out[name] = have + v
		}
	}
	return out
}
