package judge

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"unicode"

	"tare/internal/result"
	"tare/internal/unit"
	"tare/internal/warning"
)

// names numbers names in order of appearance.
type names struct {
	list []string
	at   map[string]int32
}

func (n *names) index(name string) int32 {
	i, ok := n.at[name]
	if !ok {
		i = int32(len(n.list))
		name = strings.Clone(name) // a copy, so that the line can be freed
		n.list, n.at[name] = append(n.list, name), i
	}
	return i
}

// row is one value. Names are indices into the builder's lists; block is noBlock if there is none.
type row struct {
	mode, workload, metric, block int32
	line, file                    int32
	value                         float64
	status                        result.TrialStatus
	atLeast                       bool
}

const noBlock = -1

// metric is what is known about a metric.
type metric struct {
	result.Metric
	known  bool   // known to this program
	unit   string // base unit of the first value, empty if it had none
	line   int32  // place of that value
	file   int32
	better result.Direction
}

// builder collects rows and the problems found in them.
type builder struct {
	opt      Options
	several  bool // sources
	file     string
	files    names
	modes    names
	loads    names
	metricAt names
	blocks   names
	metrics  []metric
	rows     []row
	baseOf   map[int32]int32 // mode to baseline, if the input has it
	controls map[int32]bool  // modes that are the baseline itself
	pkgs     map[int32]string
	problems []string
	more     int // problems beyond those kept
	warnings []result.Warning
	cells    map[cell]struct{} // with a row
	in       *recordReader     // of the current source
	names    fileNames
	nouns    map[int32]string // what is counted in a file, if not lines
	units    map[string]unit.Unit
	texts    textColumns
}

func newBuilder(opt Options, sources []Source) *builder {
	b := &builder{opt: opt, several: len(sources) > 1, names: nameFiles(sources, opt.Modes), baseOf: map[int32]int32{}, controls: map[int32]bool{}, pkgs: map[int32]string{}, cells: map[cell]struct{}{},
		nouns: map[int32]string{}, units: map[string]unit.Unit{}, texts: textColumns{seed: maphash.MakeSeed(), columns: map[string]*textColumn{}}}
	for _, n := range []*names{&b.files, &b.modes, &b.loads, &b.metricAt, &b.blocks} {
		n.at = map[string]int32{}
	}
	return b
}

// maxProblems is how many problems an error lists; the others are counted.
const maxProblems = 8

// addProblem records a problem. line counts from 1.
func (b *builder) addProblem(line int, format string, args ...any) {
	if len(b.problems) == maxProblems {
		b.more++
		return
	}
	b.problems = append(b.problems, b.where(line)+": "+fmt.Sprintf(format, args...))
}

// where is a place in the current file.
func (b *builder) where(line int) string { return b.place(b.files.index(b.file), line) }

func (b *builder) at(r row) string { return b.place(r.file, int(r.line)) }

func (b *builder) place(file int32, line int) string {
	text := fmt.Sprintf("%s %d", cmp.Or(b.nouns[file], "line"), line)
	if b.several {
		text = b.files.list[file] + " " + text
	}
	return text
}

// problem returns the error for all recorded problems, nil if there are none.
func (b *builder) problem() error {
	if len(b.problems) == 0 {
		return nil
	}
	text := strings.Join(b.problems, "; ")
	if b.more > 0 {
		text += fmt.Sprintf("; and %d more", b.more)
	}
	if b.several {
		return errors.New("read numbers: " + text)
	}
	return fmt.Errorf("read %s: %s", b.file, text)
}

func (b *builder) warn(code warning.Code, scope, format string, args ...any) {
	b.warnings = append(b.warnings, warning.New(code, scope, format, args...))
}

// maxName is the longest allowed name in bytes.
const maxName = 200

// name returns a name as it is printed; if it cannot be printed, it records a problem and ok is
// false.
func (b *builder) name(line int, what, text string) (string, bool) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		b.addProblem(line, "no %s", what)
	case len(text) > maxName:
		b.addProblem(line, "a %s of %d bytes; use at most %d", what, len(text), maxName)
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		b.addProblem(line, "%s %s has characters that cannot be printed", what, quote(text))
	default:
		return text, true
	}
	return "", false
}

// value checks that a number is 0 or has a logarithm.
func (b *builder) value(line int, v float64) bool {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		b.addProblem(line, "value %g is not finite", v)
	case v < 0:
		b.addProblem(line, "value %g is negative, which rates, times, counts and shares cannot be", v)
	default:
		return true
	}
	return false
}

// quote quotes text of the input and truncates it.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "..."
	}
	return fmt.Sprintf("%q", s)
}

// unit is what a unit's text says.
func (b *builder) unit(text string) unit.Unit {
	u, there := b.units[text]
	if !there {
		u, _ = unit.Parse(strings.Clone(text))
		if len(b.units) < maxNames && len(text) <= maxName {
			b.units[strings.Clone(text)] = u
		}
	}
	return u
}

// metricFor returns the metric of a value, and the unit from which it is converted to the metric's base
// unit. Name, written, the unit as it is written, and better may be empty. If they contradict earlier
// values of the metric, it records a problem and ok is false.
func (b *builder) metricFor(line int, name, written string, u unit.Unit, better result.Direction) (at int32, to unit.Unit, ok bool) {
	at = b.metricAt.index(name)
	if int(at) == len(b.metrics) {
		m := metric{Metric: result.Metric{Name: b.metricAt.list[at], Title: b.metricAt.list[at], Unit: u.Base, Better: result.Direction(u.Better), Primary: true},
			unit: u.Base, line: int32(line), file: b.files.index(b.file)}
		if k, known := result.MetricNamed(name); known {
			m.Metric, m.known = k, true
		}
		b.metrics = append(b.metrics, m)
	}
	m := &b.metrics[at]
	if to, ok = u.To(m.Unit); !ok && m.known && written == "" {
		to, ok = u, true // in the metric's own unit
	}
	switch {
	case !ok && m.known:
		b.addProblem(line, "%s is in %s, not in %s", name, m.Unit, written)
		return at, to, false
	case !ok:
		b.addProblem(line, "%s has the unit %s here and %s in %s", name, unitOrNone(u.Base), unitOrNone(m.unit), b.place(m.file, int(m.line)))
		return at, to, false
	}
	if better == "" {
		return at, to, true
	}
	if m.known && better != m.Better || m.better != "" && better != m.better {
		b.addProblem(line, "for %s, %s is better, not %s", name, firstDirection(m.better, m.Better), better)
		return at, to, false
	}
	m.better = better
	return at, to, true
}

func firstDirection(a, b result.Direction) result.Direction {
	if a != "" {
		return a
	}
	return b
}

func unitOrNone(unit string) string {
	if unit == "" {
		return "(none)"
	}
	return unit
}

// resolveMetrics determines which direction is better for each metric, and sorts the metrics: those
// known to this program in the order of its reports, then the others in order of appearance. A direction
// that is neither known nor given is an error, and so is a given one that is known to be another.
func (b *builder) resolveMetrics() ([]result.Metric, error) {
	var out, more []result.Metric // unknown, or known by name only, such as those of searches
	var open, against []string
	given := b.opt.Better
	used := false
	for i := range b.metrics {
		m := &b.metrics[i]
		switch {
		case m.better != "": // by a column, or a line of units
			m.Better = m.better
		case m.Better != "": // by its name or its unit
		case given != "":
			m.Better, used = given, true
		default:
			open = append(open, quote(m.Name))
		}
		if given != "" && m.Better != "" && given != m.Better {
			against = append(against, quote(m.Name)+" ("+string(m.Better)+")")
		}
		switch {
		case m.known && slices.ContainsFunc(result.Metrics(), func(k result.Metric) bool { return k.Name == m.Name }):
		case m.known:
			more = append(more, m.Metric)
		default:
			out = append(out, m.Metric)
		}
	}
	switch {
	case len(open) > 0:
		return nil, fmt.Errorf("which direction is better is not known for %s: say --better lower or --better higher, or add a column better or a unit", listNames(open))
	case len(against) > 0 && !used:
		return nil, fmt.Errorf("--better %s is for metrics whose direction is not known, and contradicts that of %s: leave it out", given, listNames(against))
	}
	known := slices.DeleteFunc(result.Metrics(), func(m result.Metric) bool {
		_, there := b.metricAt.at[m.Name]
		return !there
	})
	return slices.Concat(known, more, out), nil
}
