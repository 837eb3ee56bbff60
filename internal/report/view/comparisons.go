package view

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// comparison is one comparison of the study, with its metrics. Lines is empty where there is
// nothing to compare; Reason is then set.
type comparison struct {
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
		l := comparedLine{Comparison: c, Noisy: slices.ContainsFunc(slices.Concat(c.A.Terms(), c.B.Terms()), func(t *result.Side) bool { return run.NoisyIn(t.Workload) }), Known: result.Metric{Name: c.Metric, Title: c.Metric, Unit: c.Unit, Better: c.Better}}
		if m, ok := result.MetricNamed(c.Metric); ok {
			l.Known = m
		}
		l.Scale = wording.ScaleFor(c.Unit, values(c.A.Value, c.B.Value)...)
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

// heading is the comparison's name with its two sides.
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

// mostCompared is how many comparisons the first screen shows.
const mostCompared = 6

// comparisonNotes are the first comparisons of the study by their main metric, each a line of the first screen.
func (b *builder) comparisonNotes() []doc.Note {
	var out []doc.Note
	for _, c := range b.Comparisons[:min(len(b.Comparisons), mostCompared)] {
		n := doc.Note{About: []string{c.ID}, Text: "nothing to compare: " + orUnknown(c.Reason)}
		if len(c.Lines) > 0 {
			l := c.Lines[0]
			n.Text = noun(l.Known) + " "
			if l.Ratio != nil && l.Expect == nil {
				change, interval := wording.Delta(l.Ratio, l.RatioCI)
				n.Text += strings.TrimSpace(change+" "+interval) + ", "
			}
			n.Text += l.outcome()
		}
		if c.Where != "" {
			n.Text = c.Where + ": " + n.Text
		}
		out = append(out, n)
	}
	return out
}

// outcome is the verdict in few words, for where the change is beside it.
func (l comparedLine) outcome() string {
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
		return "cannot tell: too noisy" + andRange(c)
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

// inFull is the verdict with the ratio.
func (l comparedLine) inFull() string {
	if l.Ratio != nil && l.Expect == nil && (l.Verdict == result.Same || l.Verdict == result.Small) {
		return "ratio " + wording.Ratio(l.Ratio, l.RatioCI) + ", " + l.verdict()
	}
	return l.verdict()
}

// brieflyJudged is the verdict for use beside the ratio.
func (l comparedLine) brieflyJudged() string {
	if l.Expect != nil && (!l.Noisy || l.Verdict != result.CannotTell) {
		return "expected " + wording.Plain(*l.Expect) + ": " + l.expectedWord()
	}
	if besideRatio(l.Cell()) {
		return wording.Word(l.Verdict)
	}
	return l.verdict()
}

func (l comparedLine) tone() chart.Tone { return toneOf(l.Verdict) }

// value is the value of one side, with its interval.
func (l comparedLine) value(s result.Side) string {
	return wording.AtLeast(result.Cell{AtLeast: s.AtLeast}, l.Scale.Estimate(s.Value, s.CI))
}

// figures are the means of both sides with the unit: "660 against 1600 Mbit/s".
func (l comparedLine) figures() string {
	bare := func(s result.Side) string {
		if s.Value == nil {
			return wording.Unknown
		}
		return wording.AtLeast(result.Cell{AtLeast: s.AtLeast}, l.Scale.Number(*s.Value))
	}
	return strings.TrimRight(bare(l.A)+" against "+bare(l.B)+" "+l.Scale.Unit, " ")
}

// detectable is the smallest change that the comparison could have seen.
func (l comparedLine) detectable() string {
	if l.Detectable == nil {
		return wording.Unknown
	}
	return change(*l.Detectable)
}

// count is the number of blocks, with those that are incomplete: "5 (1 missing)".
func (l comparedLine) count() string {
	if l.Missing == 0 {
		return strconv.Itoa(l.N)
	}
	return strconv.Itoa(l.N) + " (" + strconv.Itoa(l.Missing) + " missing)"
}

// without describes why there are no values.
func (c comparison) without() string {
	if c.Reason == "" {
		return "not compared: no reason is recorded"
	}
	return "not compared: " + wording.Cut(c.Reason, longReason)
}

// blocks returns the number of blocks in words.
func (l comparedLine) blocks() string {
	text := wording.Count(l.N, "block", "blocks")
	if l.Missing > 0 {
		text += " (" + wording.Count(l.Missing, "more is", "more are") + " incomplete)"
	}
	return text
}

// heading is the metric with its unit.
func (l comparedLine) heading() string { return table{Metric: l.Known, Scale: l.Scale}.heading() }

// The legends of long reports.
const comparedLegend = "A ratio is that of A to B, the mean over the complete blocks; \"missing\" counts incomplete blocks. " +
	"p is adjusted over the comparisons in one metric."

// cpuLegend explains a column of CPU use.
const cpuLegend = "CPU is the busy share of the whole machine during the trials, with both endpoints and all other programs."

// comparisons are the comparisons of the study.
func (b *builder) comparisons() []doc.Block {
	if len(b.Comparisons) == 0 {
		return nil
	}
	var brief []doc.Block
	t := doc.Table{Kind: doc.Study, By: "comparisons", Columns: []doc.Column{
		{For: doc.Markdown, Head: "Comparison"}, {Head: "Metric", Row: true},
		{Head: "A", Plain: "A", Note: withInterval, Number: true}, {Head: "B", Plain: "B", Note: withInterval, Number: true},
		{Head: "Ratio", Note: withInterval, Number: true}, {Head: "Verdict", Verdict: true},
		{Head: "p", Title: "Probability, adjusted over the comparisons in one metric by Holm's method", Number: true},
		{Head: "Detectable", Plain: "smallest seen", Title: smallest, Number: true},
		{Head: "n", Title: "Complete blocks", Number: true},
	}}
	for _, c := range b.Comparisons {
		brief = append(brief, c.summary()...)
		t.Groups = append(t.Groups, c.group())
	}
	legend := doc.Paragraph{Role: doc.Legend, Text: comparedLegend}
	return []doc.Block{doc.Section{ID: "comparisons", Head: doc.Heading{Text: "Comparisons"}, Nav: "Comparisons",
		Blocks: []doc.Block{forTerminal(brief...), forHTML(legend), forPages(t), forMarkdown(legend)}}}
}

// group is a comparison in all its metrics.
func (c comparison) group() doc.Group {
	g := doc.Group{For: doc.HTML, Head: doc.Heading{Name: c.ID}}
	for _, note := range []string{c.Title, c.Where} {
		if note != "" {
			g.Head.Notes = append(g.Head.Notes, note)
		}
	}
	none := doc.Cell{Text: wording.Unknown}
	if len(c.Lines) == 0 {
		g.Rows = []doc.Row{{Out: true, Cells: []doc.Cell{{Text: c.heading()}, none, none, none, none, {Text: c.without(), Tone: chart.Absent}, none, none, none}}}
	}
	name := c.heading()
	for _, l := range c.Lines {
		g.Rows = append(g.Rows, doc.Row{Cells: []doc.Cell{
			{Text: name}, {Text: l.heading()}, {Text: l.value(l.A)}, {Text: l.value(l.B)}, {Text: wording.Ratio(l.Ratio, l.RatioCI)},
			{Text: l.brieflyJudged(), Tone: l.tone()}, {Text: wording.P(l.P)}, {Text: l.detectable()}, {Text: l.count()},
		}})
		name = ""
	}
	return g
}

// summary describes a comparison for a terminal: the main metric with its values, the others
// with a word.
func (c comparison) summary() []doc.Block {
	out := []doc.Block{doc.Paragraph{Text: c.heading(), Depth: 1, Lines: 4}}
	if len(c.Lines) == 0 {
		out = append(out, doc.Paragraph{Text: c.without(), Depth: 2})
	}
	var words []string
	for i, l := range c.Lines {
		switch {
		case i == 0 || l.Known.Primary:
			out = append(out, doc.Paragraph{Text: noun(l.Known) + " " + l.figures() + " in " + l.blocks() + "; " + l.inFull(), Depth: 2})
		case !l.Known.Detail && l.Ratio != nil:
			words = append(words, l.Known.Name+" "+wording.BareRatio(*l.Ratio)+" "+wording.Word(l.Verdict))
		}
	}
	if len(words) > 0 {
		out = append(out, doc.Paragraph{Text: strings.Join(words, "; "), Depth: 2})
	}
	return out
}
