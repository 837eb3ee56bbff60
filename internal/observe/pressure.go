package observe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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
	return stalled{}, fmt.Errorf("no total of some in %q", clip(text))
}

// clip keeps an error about a file of the wrong kind short.
func clip(text []byte) []byte { return text[:min(len(text), 80)] }
