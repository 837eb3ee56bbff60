package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"tare/internal/printable"
	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

// ChangesText writes for a terminal what changed from one run to another: first what the
// two were made with, then cell by cell. Width and colour are as in [Text]. Its only
// error is that of w.
func ChangesText(w io.Writer, c result.Changes, opt TextOptions) error {
	c = printable.Value(c)
	if opt.Width == 0 {
		opt.Width = 80
	}
	p := &printer{width: max(opt.Width, 40), color: opt.Color, told: map[string]bool{}}
	v := changesView{c}
	p.wrap("Before: ", runRef(c.Before))
	p.wrap("After:  ", runRef(c.After))
	for _, s := range v.sections() {
		p.blank()
		p.wrap("", s.Heading)
		for _, l := range s.Lines {
			p.wrap(gap, say.Cut(l, 10*p.width))
		}
	}
	for _, t := range v.tables() {
		if !t.spared() {
			p.changes(t)
		}
	}
	p.blank()
	p.wrap("", changesLegend)
	_, err := w.Write(p.buf.Bytes())
	return err
}

// ChangesMarkdown writes the same as Markdown.
func ChangesMarkdown(w io.Writer, c result.Changes) error {
	c = printable.Value(c)
	v := changesView{c}
	var b strings.Builder
	fmt.Fprintf(&b, "# What changed\n\nBefore: %s\n\nAfter: %s\n", md(runRef(c.Before)), md(runRef(c.After)))
	for _, s := range v.sections() {
		fmt.Fprintf(&b, "\n%s\n\n", md(s.Heading))
		for _, l := range s.Lines {
			fmt.Fprintf(&b, "- %s\n", md(l))
		}
	}
	for _, t := range v.tables() {
		fmt.Fprintf(&b, "\n## %s\n\n| mode | before | after | change |\n|---|---|---|---|\n", md(t.Heading))
		for _, r := range t.Rows {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", md(r.Mode), md(r.Before), md(r.After), md(r.Verdict))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", md(changesLegend))
	_, err := io.WriteString(w, b.String())
	return err
}

//go:embed changes.html
var changesTemplate string

// ChangesHTML writes the same as a page like that of [HTML].
func ChangesHTML(w io.Writer, c result.Changes) error {
	c = printable.Value(c)
	t, err := template.New("changes").Funcs(template.FuncMap{"mark": markOf, "nowrap": noBreak}).Parse(changesTemplate)
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	v := changesView{c}
	style, hash := Style()
	return t.Execute(w, struct {
		Style     template.CSS
		StyleHash string
		From, To  string
		Sections  []remarkSection
		Tables    []changeTable
		Legend    string
	}{style, hash, runRef(c.Before), runRef(c.After), v.sections(), v.tables(), changesLegend})
}

const changesLegend = "Before and after are ratios to the baseline; a change is that of the ratio, with the interval that the spread of " +
	"both runs gives. A baseline's own figures change with the machine. Two runs are one sample each: what differs from run to " +
	"run, and not within one, is in no interval."

func runRef(r result.RunRef) string {
	parts := []string{"run " + orUnknown(r.ID), r.Started, "tare " + orUnknown(r.Tare.Version)}
	if r.Profile != "" {
		parts = append(parts, "profile "+r.Profile)
	}
	if r.Status != result.RunComplete {
		parts = append(parts, string(r.Status))
	}
	return strings.Join(parts, ", ")
}

// changesView words changes.
type changesView struct{ result.Changes }

// remarkSection is a heading with lines below it.
type remarkSection struct {
	Heading string
	Lines   []string
}

// sections are what stands above the figures.
func (v changesView) sections() []remarkSection {
	var out []remarkSection
	add := func(heading string, lines []string) {
		if len(lines) > 0 {
			out = append(out, remarkSection{heading, lines})
		}
	}
	if v.Noisy != "" {
		add("! Nothing can be told", []string{v.Noisy})
	}
	var lines []string
	for _, d := range v.Environment {
		lines = append(lines, difference(d.Scope, d.Name, d.Before, d.After))
	}
	add("The two were made with something else", lines)
	lines = nil
	for _, m := range v.Modes {
		text := fmt.Sprintf("%s: %s, now %s", m.Mode, fateWord(m.Before), fateWord(m.After))
		if m.Reason != "" {
			text += ": " + m.Reason
		}
		lines = append(lines, text)
	}
	add("Modes of which something else became", lines)
	lines = nil
	for _, r := range v.Refused {
		where := strings.TrimSpace(r.Mode + " " + r.Workload)
		if where == "" {
			where = "everything"
		}
		lines = append(lines, where+": "+r.Reason)
	}
	add("Not comparable", lines)
	if len(v.Cells) == 0 {
		add("Nothing was compared", []string{"no cell is in both runs and comparable"})
	}
	return out
}

func fateWord(s result.ModeStatus) string {
	if s == "" {
		return "not in the run"
	}
	return string(s)
}

func difference(scope, name, before, after string) string {
	value := func(s string) string {
		if s == "" {
			return "not told"
		}
		return say.Cut(s, 200)
	}
	return strings.TrimSpace(scope+" "+name) + ": " + value(before) + ", now " + value(after)
}

// changeTable is the changes in one metric of one workload.
type changeTable struct {
	Heading string
	Rows    []changeRow
	detail  bool
}

// spared says that a terminal can do without the table: a detail that nothing is known
// to have changed in.
func (t changeTable) spared() bool {
	return t.detail && !slices.ContainsFunc(t.Rows, func(r changeRow) bool { return r.Tone == chart.Worse || r.Tone == chart.Better })
}

// changeRow is one mode.
type changeRow struct {
	Mode, Before, After, Verdict string
	Tone                         chart.Tone
}

// tables gathers the cells, the metric that stands for its workload first.
func (v changesView) tables() []changeTable {
	var out []changeTable
	var keys []string
	for _, c := range v.Cells {
		key := c.Workload + "\x00" + c.Metric
		i := slices.Index(keys, key)
		if i < 0 {
			i, keys = len(keys), append(keys, key)
			m, ok := result.MetricNamed(c.Metric)
			if !ok {
				m = result.Metric{Name: c.Metric, Title: c.Metric, Better: c.Better}
			}
			heading := c.Workload + ": " + m.Title
			if d := direction(m); d != "" {
				heading += "; " + d
			}
			out = append(out, changeTable{Heading: heading, detail: m.Detail})
		}
		out[i].Rows = append(out[i].Rows, rowOf(c))
	}
	return out
}

func rowOf(c result.Change) changeRow {
	r := changeRow{Mode: c.Mode, Tone: toneOf(c.Verdict)}
	if c.Own {
		scale := say.ScaleFor(c.Unit, values(c.Before, c.After)...)
		unit := strings.TrimRight(" "+scale.Unit, " ")
		r.Before, r.After = scale.Estimate(c.Before, c.BeforeCI)+unit, scale.Estimate(c.After, c.AfterCI)+unit
	} else {
		r.Before, r.After = say.Ratio(c.Before, c.BeforeCI), say.Ratio(c.After, c.AfterCI)
	}
	r.Verdict = ChangeVerdict(c)
	return r
}

// ChangeVerdict words the answer: "worse: -14 % (-17 % to -11 %)".
func ChangeVerdict(c result.Change) string {
	switch {
	case c.Ratio == nil:
		return "cannot tell: a value is 0"
	case c.Verdict == result.Worse || c.Verdict == result.Better:
		text := string(c.Verdict) + ": " + say.Change(*c.Ratio)
		if c.RatioCI != nil {
			text += " (" + say.Change(c.RatioCI[0]) + " to " + say.Change(c.RatioCI[1]) + ")"
		}
		return text
	case c.Verdict == result.CannotTell && c.RatioCI == nil:
		return "cannot tell: too few blocks"
	}
	return say.Verdict(c.Cell())
}

// changes writes a table.
func (p *printer) changes(t changeTable) {
	p.blank()
	p.wrap("", t.Heading)
	var mode, before, after int
	for _, r := range t.Rows {
		mode, before, after = max(mode, say.Width(r.Mode)), max(before, say.Width(r.Before)), max(after, say.Width(r.After))
	}
	mode = min(mode, p.width/3)
	for _, r := range t.Rows {
		lead := gap + say.Pad(say.CutMiddle(r.Mode, mode), mode) + gap + say.Pad(r.Before, before) + gap + say.Pad(r.After, after) + gap
		room := p.width - say.Width(lead)
		switch {
		case room < 0: // not even the figures fit
			p.wide(gap + r.Mode)
			p.wrap(gap+gap, r.Before+", now "+r.After)
			lead = gap + gap
		case room < 24:
			p.wide(lead)
			lead = gap + gap
		}
		room = p.width - say.Width(lead)
		for i, l := range say.Wrap(r.Verdict, room) {
			if i > 0 {
				lead = strings.Repeat(" ", say.Width(lead))
			}
			p.buf.WriteString(strings.TrimRight(lead+p.paint(r.Tone, l), " ") + "\n")
		}
	}
}
