package report

import (
	"slices"
	"strconv"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

// comparison is one that the study asked for, with its metrics. Lines is empty
// where there is nothing to compare, and Reason says why.
type comparison struct {
	ID, Title, Where string
	Reason           string
	Lines            []comparedLine
}

// comparedLine is a comparison in one metric.
type comparedLine struct {
	result.Comparison
	Known result.Metric
	Scale say.Scale
}

// comparisonsOf gathers the comparisons of a run by id and workload, the main
// metric first.
func comparisonsOf(run result.Run) []comparison {
	var out []comparison
	for _, c := range run.Comparisons {
		where := whereOf(c)
		i := slices.IndexFunc(out, func(o comparison) bool { return o.ID == c.ID && o.Where == where })
		if i < 0 {
			i = len(out)
			out = append(out, comparison{ID: c.ID, Title: c.Title, Where: where})
		}
		if c.Metric == "" {
			out[i].Reason = c.Reason
			continue
		}
		l := comparedLine{Comparison: c, Known: result.Metric{Name: c.Metric, Title: c.Metric, Unit: c.Unit, Better: c.Better}}
		if m, ok := result.MetricNamed(c.Metric); ok {
			l.Known = m
		}
		l.Scale = say.ScaleFor(c.Unit, values(c.A.Value, c.B.Value)...)
		at := len(out[i].Lines)
		if l.Known.Primary {
			at = 0
		}
		out[i].Lines = slices.Insert(out[i].Lines, at, l)
	}
	return out
}

func values(ps ...*float64) []float64 {
	var out []float64
	for _, p := range ps {
		if p != nil {
			out = append(out, *p)
		}
	}
	return out
}

// whereOf says what the two sides are, as far as the comparison's id does not. A
// scenario stands for its mode and workload, and has been told of.
func whereOf(c result.Comparison) string {
	var parts []string
	if id := strings.ReplaceAll(c.ID, " ", ""); id != strings.ReplaceAll(c.A.ID+"/"+c.B.ID, " ", "") {
		parts = append(parts, c.A.ID+" against "+c.B.ID)
	}
	switch scenario := c.A.ID != c.A.Mode && c.B.ID != c.B.Mode; {
	case scenario || c.A.Workload == "" || c.B.Workload == "":
	case c.A.Workload == c.B.Workload:
		parts = append(parts, c.A.Workload)
	default:
		parts = append(parts, c.A.Workload+" against "+c.B.Workload)
	}
	return strings.Join(parts, ", ")
}

// heading is the comparison's name with what is compared.
func (c comparison) heading() string {
	text := c.ID
	if c.Title != "" {
		text += ", " + c.Title
	}
	if c.Where != "" {
		text += ": " + c.Where
	}
	return text
}

// verdict words the answer.
func (l comparedLine) verdict() string {
	if l.N == 0 && l.Verdict == result.CannotTell {
		return "cannot tell: no block has both"
	}
	return say.Verdict(l.Cell())
}

// brieflyJudged is the verdict for where the ratio stands beside it.
func (l comparedLine) brieflyJudged() string {
	if besideRatio(l.Cell()) {
		return say.Word(l.Verdict)
	}
	return l.verdict()
}

func (l comparedLine) tone() chart.Tone { return toneOf(l.Verdict) }

// value is one side's own figure, with its interval.
func (l comparedLine) value(s result.Side) string {
	return say.AtLeast(result.Cell{AtLeast: s.AtLeast}, l.Scale.Estimate(s.Value, s.CI))
}

// figures are both sides' means with the unit: "660 against 1600 Mbit/s".
func (l comparedLine) figures() string {
	bare := func(s result.Side) string {
		if s.Value == nil {
			return say.Unknown
		}
		return say.AtLeast(result.Cell{AtLeast: s.AtLeast}, l.Scale.Number(*s.Value))
	}
	return strings.TrimRight(bare(l.A)+" against "+bare(l.B)+" "+l.Scale.Unit, " ")
}

// count is how many blocks it rests on, with those that have only one of the two:
// "5 (1 missing)".
func (l comparedLine) count() string {
	if l.Missing == 0 {
		return strconv.Itoa(l.N)
	}
	return strconv.Itoa(l.N) + " (" + strconv.Itoa(l.Missing) + " missing)"
}

// without words why there are no figures.
func (c comparison) without() string {
	if c.Reason == "" {
		return "not compared: no reason is recorded"
	}
	return "not compared: " + say.Cut(c.Reason, longReason)
}

// blocks words how many blocks it rests on.
func (l comparedLine) blocks() string {
	text := say.Count(l.N, "block", "blocks")
	if l.Missing > 0 {
		text += " (" + say.Count(l.Missing, "more has", "more have") + " only one of the two)"
	}
	return text
}

// heading is the metric with its unit.
func (l comparedLine) heading() string { return table{Metric: l.Known, Scale: l.Scale}.heading() }

// The legends of long reports.
const (
	comparedLegend = "A ratio is that of A to B, the mean over the blocks that have both; \"missing\" counts blocks that have only one. " +
		"p is adjusted over the comparisons in one metric."
	cpuLegend = "CPU is the share of the whole machine, both ends and all else, that was busy while the trials ran."
)
