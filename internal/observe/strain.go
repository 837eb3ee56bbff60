package observe

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Strain is what the collectors "pressure" and "memory" read of a machine, as it can
// be sent from there: the files by their paths below /proc, of which only the lines
// that are needed. A file that could not be read is left out.
type Strain map[string]string

// ReadStrain reads the procfs mounted at procRoot.
func ReadStrain(procRoot string) Strain {
	s := Strain{}
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
func (s Strain) Since(earlier Strain) map[string]float64 {
	out := map[string]float64{}
	for _, c := range []func(Strain) Collector{
		func(s Strain) Collector { return Pressure{"pressure", s.file} },
		func(s Strain) Collector { return Memory{meminfo: "meminfo", vmstat: "vmstat", read: s.file} },
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

func (s Strain) file(path string) ([]byte, error) {
	text, ok := s[path]
	if !ok {
		return nil, fmt.Errorf("read /proc/%s: %w", path, fs.ErrNotExist)
	}
	return []byte(text), nil
}

// Worse joins the figures of two machines that took part in one trial to those that
// say what the trial had to put up with: the longer wait, the lesser memory, and all
// that was counted. A figure of one of the two alone is as it is there.
func Worse(a, b map[string]float64) map[string]float64 {
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
