package judge

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"tare/internal/result"
	"tare/internal/unit"
)

// bench reads the format of Go's benchmarks (golang.org/design/14313-benchmark-format): lines of
// configuration (key: value), of units (Unit ns/op better=lower) and of results (BenchmarkName-8
// 100 123 ns/op 5 B/op). It skips all other lines, as benchstat does.
//
// The parser is not a library, because the existing module has the dependencies of a web service,
// and the format is short.
func (b *builder) bench(in *bufio.Reader) error {
	r := benchReader{builder: b, file: b.files.index(b.file), config: map[string]string{}, better: map[string]result.Direction{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRecord)
	for b.in.next(); lines.Scan(); b.in.next() {
		r.line++
		if err := cmp.Or(r.read(strings.TrimRight(lines.Text(), " \t\r")), r.full()); err != nil {
			return fmt.Errorf("line %d: %w", r.line, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d is longer than 1 MiB", r.line+1)
	}
	if lines.Err() != nil {
		return lines.Err()
	}
	if r.results == 0 && len(b.problems) == 0 {
		return errors.New("there is no benchmark line (BenchmarkName-8 100 123 ns/op)")
	}
	return nil
}

type benchReader struct {
	*builder
	file    int32
	line    int
	results int
	config  map[string]string
	better  map[string]result.Direction // by metric, from unit lines
}

// read reads a line. An error ends the reading, because every line would have it.
func (r *benchReader) read(text string) error {
	if key, value, ok := config(text); ok {
		if key == "mode" || key == "pkg" || key == "block" || key == r.opt.ModeBy { // no other is used
			r.config[key] = value
		}
		return nil
	}
	if rest, ok := strings.CutPrefix(text, "Unit "); ok {
		r.unitLine(strings.Fields(rest))
		return nil
	}
	rest, ok := strings.CutPrefix(text, "Benchmark")
	if !ok {
		return nil
	}
	if next, _ := firstRune(rest); unicode.IsLower(next) {
		return nil // Benchmarking is fun
	}
	fields := strings.Fields(rest)
	if len(fields) < 3 || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\t") {
		return nil // the line that go test -v writes when a benchmark starts
	}
	if !whole(fields[1]) {
		return nil // a log line
	}
	return r.result(fields[0], fields[2:])
}

func whole(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil
}

func firstRune(s string) (rune, bool) {
	for _, c := range s {
		return c, true
	}
	return 0, false
}

// config splits a configuration line. The key starts with a lower-case letter and has neither
// upper-case letters nor spaces.
func config(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text, ":")
	first, some := firstRune(key)
	if !ok || !some || !unicode.IsLower(first) || strings.ContainsFunc(key, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsUpper(c) }) {
		return "", "", false
	}
	if value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false
	}
	return strings.Clone(key), strings.Clone(strings.TrimSpace(value)), true
}

// unitLine reads a unit line.
func (r *benchReader) unitLine(fields []string) {
	if len(fields) == 0 {
		return
	}
	name, _ := benchUnit(fields[0])
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		if key != "better" {
			continue
		}
		switch d := result.Direction(value); d {
		case result.Higher, result.Lower:
			if len(r.better) > maxNames {
				r.addProblem(r.line, "a unit line for more than %d units", maxNames)
				return
			}
			r.better[name] = d
		default:
			r.addProblem(r.line, "better is %s; use higher or lower", quote(value))
		}
	}
}

// result reads the values of one line.
func (r *benchReader) result(name string, pairs []string) error {
	if len(pairs)%2 != 0 {
		r.addProblem(r.line, "a value without a unit: %s", quote(pairs[len(pairs)-1]))
		return nil
	}
	one := row{line: int32(r.line), file: r.file, status: result.TrialOK, block: noBlock}
	mode, workload, err := r.placeOf(name)
	if err != nil {
		return err
	}
	mode, named := r.name(r.line, "mode", mode)
	workload, called := r.name(r.line, "name of a benchmark", workload)
	if !named || !called {
		return nil
	}
	one.mode, one.workload = r.modes.index(mode), r.loads.index(workload)
	if block := r.config["block"]; block != "" && r.opt.Pairing != NoPairs && r.opt.Pairing != ByOrder {
		block, ok := r.name(r.line, "block", block)
		if !ok {
			return nil
		}
		one.block = r.blocks.index(block)
	}
	r.results++
	for i := 0; i < len(pairs); i += 2 {
		if ok, err := r.parseValue(one, pairs[i], pairs[i+1]); !ok || err != nil {
			return err
		}
	}
	return nil
}

// parseValue reads one value of a result; ok is false if there is a problem with it. An error
// ends the reading.
func (r *benchReader) parseValue(one row, text, written string) (ok bool, err error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.addProblem(r.line, "value %s is not a number", quote(text))
		return false, nil //nolint:nilerr // the problem is recorded
	}
	name, u := benchUnit(written)
	name, ok = r.name(r.line, "unit", name)
	if !ok || !r.value(r.line, v) {
		return false, nil
	}
	at, u, ok := r.metricFor(r.line, name, written, u, r.better[name])
	if !ok || !r.value(r.line, u.In(v)) {
		return false, nil
	}
	one.metric, one.value = at, u.In(v)
	return true, r.add(one)
}

// benchUnit returns the name of a metric as benchstat shows it, sec for ns and B/s for MB/s, and its unit: the
// part of the name after the last hyphen, if that is one (p99-us, wait-ns/op).
func benchUnit(written string) (name string, u unit.Unit) {
	head, tail := "", written
	if at := strings.LastIndexByte(written, '-'); at >= 0 {
		head, tail = written[:at+1], written[at+1:]
	}
	u, known := unit.Parse(tail)
	if !known {
		u, _ = unit.Parse(written)
		return written, u
	}
	what, each, per := strings.Cut(tail, "/")
	if to, ok := u.To(unit.Second); ok {
		u = to
		if what != "s" && what != "sec" {
			what = "sec"
		}
		if tail = what; per {
			tail += "/" + each
		}
	} else if u.Base == unit.Bytes {
		tail = u.Base
	}
	return head + tail, u
}

// placeOf determines a benchmark's mode and workload from its name, such as RR/mode=host/size=1-8,
// from the file and from the configuration.
func (r *benchReader) placeOf(name string) (mode, workload string, err error) {
	by := r.opt.ModeBy
	if by == "" {
		_, _, named := cutPart(name, "mode")
		switch {
		case r.several, r.names.given[r.builder.file]:
			by = ".file"
		case named:
			by = "/mode"
		case r.config["mode"] != "":
			by = "mode"
		default:
			return "", "", fmt.Errorf("the mode of %s is unknown: use one file per mode, a part /mode=NAME of the name, "+
				"or a line mode: NAME before it; or set another source with --mode-by", quote(name))
		}
	}
	workload = name
	switch key, part := strings.CutPrefix(by, "/"); {
	case by == ".file":
		mode = r.names.stems[r.builder.file]
	case part:
		var ok bool
		if mode, workload, ok = cutPart(name, key); !ok {
			return "", "", fmt.Errorf("the name %s has no part /%s for the mode", quote(name), key)
		}
	case r.config[by] == "":
		return "", "", fmt.Errorf("there is no line %q for the mode before %s", by+": ...", quote(name))
	default:
		mode = r.config[by]
	}
	if pkg := r.config["pkg"]; pkg != "" && by != "pkg" {
		workload = r.qualifyByPackage(pkg, workload)
	}
	return mode, workload, nil
}

// qualifyByPackage distinguishes benchmarks of the same name by their package; those of the first
// package keep the plain name.
func (r *benchReader) qualifyByPackage(pkg, workload string) string {
	if first, there := r.pkgs[0]; !there {
		r.pkgs[0] = pkg
	} else if first != pkg {
		return pkg + "." + workload
	}
	return workload
}

// cutPart removes the part key=VALUE, or the part with that number, counted from 1, from a
// benchmark's name. The suffix for GOMAXPROCS stays with the rest.
func cutPart(name, key string) (value, rest string, ok bool) {
	procs := ""
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		if _, err := strconv.ParseUint(name[i+1:], 10, 32); err == nil {
			name, procs = name[:i], name[i:]
		}
	}
	parts := strings.Split(name, "/")
	n, err := strconv.Atoi(key)
	for i, p := range parts[1:] {
		switch {
		case err == nil && n == i+1:
			value = p
		case strings.HasPrefix(p, key+"="):
			value = p[len(key)+1:]
		default:
			continue
		}
		return value, strings.Join(append(parts[:i+1:i+1], parts[i+2:]...), "/") + procs, true
	}
	return "", "", false
}
