package result

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unique"
)

// parseLean reads a line of trials.ndjson as [Dir.LoadLean] has it. It accepts what
// parseTrial accepts but for the types of what it leaves out.
func parseLean(line []byte) (Trial, error) {
	var l leanTrial
	err := json.Unmarshal(line, &l)
	t := l.Trial
	t.Metrics, t.Machine, t.Client, t.Server = l.Metrics, l.Machine, l.Client.end(), nil
	// Of these there are few, and very many trials.
	t.Schema, t.Mode, t.Workload = one(t.Schema), one(t.Mode), one(t.Workload)
	return checked(t, line, err)
}

// leanTrial stands in the way of what is left out, and of what a quicker reader is
// worth writing for.
type leanTrial struct {
	Trial
	Metrics  figures  `json:"metrics"`
	Machine  cpuTimes `json:"machine"`
	Client   leanEnd  `json:"client"`
	Server   passed   `json:"server"`
	Counters passed   `json:"counters"`
	Pairs    passed   `json:"pairs"`
}

// passed is passed over.
type passed struct{}

func (passed) UnmarshalJSON([]byte) error { return nil }

// leanEnd is an end's segment size.
type leanEnd struct {
	MSS int `json:"mss"`
}

func (e leanEnd) end() *End {
	if e.MSS == 0 {
		return nil
	}
	return &End{MSS: e.MSS}
}

// cpuTimes are the figures of a machine that are about its CPUs.
type cpuTimes map[string]float64

func (c *cpuTimes) UnmarshalJSON(data []byte) error {
	return readFigures(data, (*map[string]float64)(c), func(name string) bool { return strings.HasPrefix(name, "cpu_") })
}

// figures are names with numbers.
type figures map[string]float64

func (f *figures) UnmarshalJSON(data []byte) error {
	return readFigures(data, (*map[string]float64)(f), func(string) bool { return true })
}

// readFigures reads an object of numbers, of which the syntax has been checked. It
// leaves anything unusual to encoding/json.
func readFigures(data []byte, to *map[string]float64, want func(name string) bool) error {
	out := *to // of a name that comes twice, the last holds
	if out == nil {
		out = make(map[string]float64, bytes.Count(data, []byte{':'}))
	}
	for rest := data; ; {
		open := bytes.IndexByte(rest, '"')
		if open < 0 {
			break
		}
		name, after, _ := bytes.Cut(rest[open+1:], []byte{'"'})
		value, more, isNumber := number(after)
		if !isNumber || !plainName(name) {
			return readUnusual(data, to, want)
		}
		if rest = more; !want(string(name)) {
			continue
		}
		v, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return readUnusual(data, to, want)
		}
		out[one(string(name))] = v
	}
	if data[0] != '{' {
		return readUnusual(data, to, want)
	}
	*to = out
	return nil
}

// number is what stands behind a name and its colon, if it is a number, and what
// follows it.
func number(text []byte) (value, rest []byte, ok bool) {
	text = bytes.TrimLeft(text, ": \t\r\n")
	end := bytes.IndexAny(text, ",} \t\r\n")
	if end <= 0 || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return nil, nil, false
	}
	return text[:end], text[end:], true
}

// plainName says that a name in JSON stands for itself.
func plainName(name []byte) bool {
	return !slices.ContainsFunc(name, func(c byte) bool { return c == '\\' || c >= 0x80 })
}

func readUnusual(data []byte, to *map[string]float64, want func(name string) bool) error {
	all := *to
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for name := range all {
		if !want(name) {
			delete(all, name)
		}
	}
	*to = all
	return nil
}

// one is the one copy that there is of a string.
func one(s string) string { return unique.Make(s).Value() }
