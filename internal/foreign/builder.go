package foreign

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"tare/internal/result"
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
}

func newBuilder(opt Options, sources int) *builder {
	b := &builder{opt: opt, several: sources > 1, baseOf: map[int32]int32{}, controls: map[int32]bool{}, pkgs: map[int32]string{}, cells: map[cell]struct{}{}}
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

func (b *builder) where(line int) string {
	if b.several {
		return fmt.Sprintf("%s line %d", b.file, line)
	}
	return fmt.Sprintf("line %d", line)
}

func (b *builder) at(r row) string {
	if b.several {
		return fmt.Sprintf("%s line %d", b.files.list[r.file], r.line)
	}
	return fmt.Sprintf("line %d", r.line)
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
	b.warnings = append(b.warnings, result.Warning{Code: string(code), Scope: scope, Text: fmt.Sprintf(format, args...)})
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

// metricFor returns the metric of a value, and the factor from the value to the metric's base unit.
// Name, unit and better may be empty. If they contradict earlier values of the metric, it records a
// problem and ok is false.
func (b *builder) metricFor(line int, name, unit string, better result.Direction) (at int32, to factor, ok bool) {
	base, to, says := baseUnit(unit)
	at = b.metricAt.index(name)
	if int(at) == len(b.metrics) {
		m := metric{Metric: result.Metric{Name: b.metricAt.list[at], Title: b.metricAt.list[at], Unit: base, Better: says, Primary: true},
			unit: base, line: int32(line), file: b.files.index(b.file)}
		if k, known := result.MetricNamed(name); known {
			m.Metric, m.known = k, true
		}
		b.metrics = append(b.metrics, m)
	}
	m := &b.metrics[at]
	switch {
	case unit != "" && m.known && base != m.Unit:
		b.addProblem(line, "%s is in %s, not in %s", name, m.Unit, unit)
		return at, to, false
	case base != m.unit && !m.known:
		b.addProblem(line, "%s has the unit %s here and %s in line %d", name, unitOrNone(base), unitOrNone(m.unit), m.line)
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
// known to this program in the order of its reports, then the others in order of appearance.
func (b *builder) resolveMetrics() []result.Metric {
	var out, more []result.Metric // unknown, or known by name only, such as those of searches
	for i := range b.metrics {
		m := &b.metrics[i]
		switch {
		case m.known && slices.ContainsFunc(result.Metrics(), func(k result.Metric) bool { return k.Name == m.Name }):
			continue
		case m.known:
			more = append(more, m.Metric)
			continue
		case m.better != "":
			m.Better = m.better
		case m.Better != "" && b.opt.Better == "": // by its unit
		case b.opt.Better != "":
			m.Better = b.opt.Better
		default:
			m.Better = result.Higher
			b.warn(warning.BetterAssumed, "run", "the direction of %s is unknown, so higher counts as better; "+
				"set it with a column better (higher or lower) or --better lower", m.Name)
		}
		out = append(out, m.Metric)
	}
	known := slices.DeleteFunc(result.Metrics(), func(m result.Metric) bool {
		_, there := b.metricAt.at[m.Name]
		return !there
	})
	return slices.Concat(known, more, out)
}
