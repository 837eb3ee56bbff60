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

// Pressure is the collector "pressure": for how long something on the machine had
// to wait for what it needed, from /proc/pressure (Documentation/accounting/psi.rst).
// Its figures are seconds within the window in which at least one thread waited:
//
//	cpu     ready to run, but for a CPU
//	memory  for memory to be made free, or read back
//	io      for a disk
//
// The kernel counts whoever waits, the ends of the trial too: two programs that
// share a CPU by design wait for each other. Of several CPUs it takes the mean,
// weighted by how busy each was, so that no figure is above the window's length.
type Pressure struct {
	dir  string
	read func(path string) ([]byte, error)
}

// NewPressure makes the collector over the procfs mounted at procRoot.
func NewPressure(procRoot string) Pressure {
	return Pressure{filepath.Join(procRoot, "pressure"), os.ReadFile}
}

// Name is "pressure".
func (Pressure) Name() string { return "pressure" }

// pressures are the figures, each a file of its own.
func pressures() []string { return []string{"cpu", "memory", "io"} }

// Read takes a sample. It fails where none of the files can be read, as on a kernel
// that does not count pressure.
func (p Pressure) Read() (Sample, error) {
	s := pressureSample{}
	var last error
	known := false
	for _, name := range pressures() {
		path := filepath.Join(p.dir, name)
		text, err := p.read(path)
		if err == nil {
			s[name], err = parsePressure(text)
		}
		if err != nil {
			last = fmt.Errorf("read pressure from %s: %w", path, err)
			s[name] = stalled{err: last}
			continue
		}
		known = true
	}
	switch {
	case known:
		return s, nil
	case errors.Is(last, fs.ErrNotExist), errors.Is(last, syscall.EOPNOTSUPP):
		return nil, fmt.Errorf("no pressure in %s: the kernel counts none (CONFIG_PSI, or psi=1 on its command line)", p.dir)
	}
	return nil, last
}

// stalled is the time of one file since the machine started, or why it is unknown.
type stalled struct {
	micros uint64
	err    error
}

type pressureSample map[string]stalled

// Since implements [Sample].
func (s pressureSample) Since(earlier Sample) (map[string]float64, []Gap) {
	from, ok := earlier.(pressureSample)
	if !ok {
		return nil, []Gap{{Reason: fmt.Sprintf("earlier sample is a %T, not one of pressure", earlier)}}
	}
	figures := map[string]float64{}
	var gaps []Gap
	for _, name := range pressures() {
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

// parsePressure finds the total of the line "some" in microseconds:
//
//	some avg10=0.00 avg60=0.00 avg300=0.00 total=12345
func parsePressure(text []byte) (stalled, error) {
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "some" {
			continue
		}
		for _, f := range fields[1:] {
			if v, ok := bytes.CutPrefix(f, []byte("total=")); ok {
				n, err := strconv.ParseUint(string(v), 10, 64)
				if err != nil {
					return stalled{}, fmt.Errorf("total %q is not a count", v)
				}
				return stalled{micros: n}, nil
			}
		}
	}
	return stalled{}, fmt.Errorf("no total of some in %q", truncate(text))
}

// truncate keeps an error about a file of the wrong kind short.
func truncate(text []byte) []byte { return text[:min(len(text), 80)] }

// PressureFiles is what the collectors "pressure" and "memory" read of a machine, as it can
// be sent from there: the files by their paths below /proc, of which only the lines
// that are needed. A file that could not be read is left out.
type PressureFiles map[string]string

// ReadPressureFiles reads the procfs mounted at procRoot.
func ReadPressureFiles(procRoot string) PressureFiles {
	s := PressureFiles{}
	for path, prefixes := range strainLines() {
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

// strainLines are the files of a Strain with what the lines that are needed begin with.
func strainLines() map[string][]string {
	out := map[string][]string{"meminfo": {"MemAvailable:"}}
	for _, name := range pressures() {
		out["pressure/"+name] = []string{"some "}
	}
	for _, f := range memoryFigures() {
		out["vmstat"] = append(out["vmstat"], f.counters...)
	}
	return out
}

// Since gives the figures of both collectors from earlier, a Strain of the same
// machine, to this one, by their full names. What is unknown is left out.
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

// MergeHosts joins the figures of two machines that took part in one trial to those that
// say what the trial had to put up with: the longer wait, the lesser memory, and all
// that was counted. A figure of one of the two alone is as it is there.
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
