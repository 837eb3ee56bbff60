package model

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Comparison is one comparison of the study, with its metrics. Lines is empty where there is
// nothing to compare; Reason is then set.
type Comparison struct {
	ID, Title, Where string
	Reason           string
	Lines            []comparedLine
}

// comparedLine is a comparison in one metric.
type comparedLine struct {
	result.Comparison
	Noisy bool // a workload of it is too noisy to judge
	Known result.Metric
	Scale wording.Scale
}

// comparisonsOf groups the comparisons of a run by id and workload, the main metric first.
func comparisonsOf(run result.Run) []Comparison {
	var out []Comparison
	for _, c := range run.Comparisons {
		where := whereOf(c)
		i := slices.IndexFunc(out, func(o Comparison) bool { return o.ID == c.ID && o.Where == where })
		if i < 0 {
			i = len(out)
			out = append(out, Comparison{ID: c.ID, Title: c.Title, Where: where})
		}
		if c.Metric == "" {
			out[i].Reason = c.Reason
			continue
		}
		l := comparedLine{Comparison: c, Noisy: slices.ContainsFunc(slices.Concat(c.A.Terms(), c.B.Terms()), func(t *result.Side) bool { return run.NoisyIn(t.Workload) }), Known: piece.MetricOf(c.Metric, c.Unit, c.Better)}
		l.Scale = wording.ScaleFor(c.Unit, piece.Values(c.A.Value, c.B.Value)...)
		at := len(out[i].Lines)
		if ofMain(l) {
			at = 0
		}
		out[i].Lines = slices.Insert(out[i].Lines, at, l)
	}
	return out
}

// ofMain reports whether a comparison is in the main metric of its workload. That of the cost pass, whose rate is set, is the CPU cost.
func ofMain(l comparedLine) bool {
	if l.A.Workload == result.CostPassID {
		return l.Metric == result.CPUCost
	}
	return l.Known.Primary
}

// whereOf names the two sides as far as the comparison's id does not. Scenarios are described
// elsewhere.
func whereOf(c result.Comparison) string {
	var parts []string
	bare := strings.NewReplacer(" ", "", "(", "", ")", "")
	if bare.Replace(c.ID) != bare.Replace(c.A.ID+"/"+c.B.ID) {
		parts = append(parts, c.A.ID+" against "+c.B.ID)
	}
	scenario := !slices.ContainsFunc(slices.Concat(c.A.Terms(), c.B.Terms()), func(s *result.Side) bool { return s.ID == s.Mode })
	switch {
	case scenario || c.A.Workload == "" || c.B.Workload == "":
	case c.A.Workload == c.B.Workload:
		parts = append(parts, c.A.Workload)
	default:
		parts = append(parts, c.A.Workload+" against "+c.B.Workload)
	}
	return strings.Join(parts, ", ")
}

// Heading is the comparison's name with its two sides.
func (c Comparison) Heading() string {
	text := c.ID
	if c.Title != "" {
		text += ", " + c.Title
	}
	if c.Where != "" {
		text += ": " + c.Where
	}
	return text
}

// Outcome is the verdict in few words, for where the change is beside it.
func (l comparedLine) Outcome() string {
	if l.Expect != nil || l.N == 0 {
		return l.verdict()
	}
	switch l.Verdict {
	case result.Same, result.Small:
		return "within " + wording.Percent(l.Margin)
	}
	return wording.Word(l.Verdict)
}

// verdict returns the verdict in words.
func (l comparedLine) verdict() string {
	if l.N == 0 && l.Verdict == result.CannotTell {
		return "cannot tell: no block has both"
	}
	c := l.Cell()
	switch {
	case l.Noisy && l.Verdict == result.CannotTell:
		return "cannot tell: too noisy" + piece.AndRange(c)
	case l.Expect != nil:
		return l.besideExpected()
	}
	return wording.Verdict(c)
}

// besideExpected is the verdict on a ratio with an expected value other than 1: "1.93
// (1.90-1.96), expected 2: same within 5 %".
func (l comparedLine) besideExpected() string {
	text := "expected " + wording.Plain(*l.Expect)
	if l.Ratio != nil {
		text = wording.Ratio(l.Ratio, l.RatioCI) + ", " + text
	}
	return text + ": " + l.expectedWord()
}

// expectedWord is besideExpected for use beside the ratio.
func (l comparedLine) expectedWord() string {
	switch l.Verdict {
	case result.Worse, result.Better:
		more := "more"
		if (l.Verdict == result.Better) != (l.Better == result.Higher) {
			more = "less"
		}
		if l.Ratio == nil {
			return string(l.Verdict) + " than expected"
		}
		return string(l.Verdict) + " than expected, " + wording.Percent(math.Abs(*l.Ratio / *l.Expect - 1)) + " " + more
	case result.CannotTell:
		text := "cannot tell"
		if l.RatioCI != nil {
			text += ": between " + wording.Change(l.RatioCI[0] / *l.Expect) + " and " + wording.Change(l.RatioCI[1] / *l.Expect) + " of that"
		}
		if n := l.BlocksNeeded; n != nil && *n > 0 {
			text += "; about " + wording.Count(*n, "more block", "more blocks")
		}
		return text
	}
	return wording.Verdict(l.Cell())
}

// InFull is the verdict with the ratio.
func (l comparedLine) InFull() string {
	if l.Ratio != nil && l.Expect == nil && (l.Verdict == result.Same || l.Verdict == result.Small) {
		return "ratio " + wording.Ratio(l.Ratio, l.RatioCI) + ", " + l.verdict()
	}
	return l.verdict()
}

// BrieflyJudged is the verdict for use beside the ratio.
func (l comparedLine) BrieflyJudged() string {
	if l.Expect != nil && (!l.Noisy || l.Verdict != result.CannotTell) {
		return "expected " + wording.Plain(*l.Expect) + ": " + l.expectedWord()
	}
	if piece.BesideRatio(l.Cell()) {
		return wording.Word(l.Verdict)
	}
	return l.verdict()
}

func (l comparedLine) Tone() chart.Tone { return piece.ToneOf(l.Verdict) }

// Value is the value of one side, with its interval.
func (l comparedLine) Value(s result.Side) string {
	return wording.AtLeast(result.Cell{AtLeast: s.AtLeast}, l.Scale.Estimate(s.Value, s.CI))
}

// Figures are the means of both sides with the unit: "660 against 1600 Mbit/s".
func (l comparedLine) Figures() string {
	bare := func(s result.Side) string {
		if s.Value == nil {
			return wording.Unknown
		}
		return wording.AtLeast(result.Cell{AtLeast: s.AtLeast}, l.Scale.Number(*s.Value))
	}
	return strings.TrimRight(bare(l.A)+" against "+bare(l.B)+" "+l.Scale.Unit, " ")
}

// DetectableText is the smallest change that the comparison could have seen.
func (l comparedLine) DetectableText() string {
	if l.Detectable == nil {
		return wording.Unknown
	}
	return piece.Change(*l.Detectable)
}

// Count is the number of blocks, with those that are incomplete: "5 (1 missing)".
func (l comparedLine) Count() string {
	if l.Missing == 0 {
		return wording.Blocks(l.Cell())
	}
	return wording.Blocks(l.Cell()) + " (" + strconv.Itoa(l.Missing) + " missing)"
}

// Without describes why there are no values.
func (c Comparison) Without() string {
	if c.Reason == "" {
		return "not compared: no reason is recorded"
	}
	return "not compared: " + wording.Cut(c.Reason, piece.LongReason)
}

// Blocks returns the number of blocks in words.
func (l comparedLine) Blocks() string {
	text := wording.Count(l.N, "block", "blocks")
	if l.Missing > 0 {
		text += " (" + wording.Count(l.Missing, "more is", "more are") + " incomplete)"
	}
	return text
}

// Heading is the metric with its unit.
func (l comparedLine) Heading() string { return Table{Metric: l.Known, Scale: l.Scale}.Heading() }
