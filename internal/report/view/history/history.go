// Package history shows how the results of a study changed over time.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/printable"
	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Options say how a history is shown. Full shows all of it on a terminal, and Command is
// what prints that. Version is that of tare. Terminal makes only what a terminal shows.
type Options struct {
	Full, Terminal   bool
	Command, Version string
}

// What a terminal shows of a history unless all of it is asked for.
const (
	mostHistoryChanges = 8
	mostHistoryRows    = 24
	mostHistoryMarks   = 6
)

// mostHistoryFigures is how many figures a page of a history has: those of series that changed,
// and of the most important others. The tables have all series.
const mostHistoryFigures = 60

// mostHistoryLeftOut is how many runs that are left out a page lists.
const mostHistoryLeftOut = 600

// mostDrawn is how many points all figures of a page have together, but for the first figure: each is drawn and listed.
const mostDrawn = 30_000

// Document is how the results of a study changed over time, as a document.
func Document(h result.History, opt Options) doc.Document {
	v := newHistoryView(printable.Value(h), opt)
	d := doc.Document{Title: "History of " + v.study(), Generator: wording.Clean(opt.Version), Particulars: v.particulars()}
	d.Blocks = append(d.Blocks, v.answer())
	d.Blocks = append(d.Blocks, v.terminal()...)
	if !opt.Terminal {
		d.Blocks = append(d.Blocks, v.pages()...)
	}
	return d
}

// Answer is the first sentence of a history: what changed, or that nothing did.
func Answer(h result.History) string {
	return newHistoryView(printable.Value(h), Options{}).verdict()
}

// historySeries is a series with the machine that it is of.
type historySeries struct {
	result.HistorySeries
	machine int // index
	of      *result.MachineHistory
	metric  result.Metric
	class   int // 0 for main metrics, more for less important ones
}

// historyMark is a change of the environment. Its number is that on the axes of the figures.
type historyMark struct {
	machine, run int
	text         string
}

// historyFound is a change point of a series.
type historyFound struct {
	series *historySeries
	result.ChangePoint
	run *result.HistoryRun
}

// historyView is a history, prepared to be shown.
type historyView struct {
	result.History
	opt    Options
	series []historySeries // those to be shown, in order
	marks  []historyMark
	found  []historyFound // the worse ones first, then the latest
	layout string         // of dates: finer where all runs are within two days
}

func newHistoryView(h result.History, opt Options) *historyView {
	v := &historyView{History: h, opt: opt, layout: time.DateOnly}
	var begin, end time.Time
	for i := range v.Machines {
		m := &v.Machines[i]
		for _, s := range m.Series {
			s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p result.HistoryPoint) bool {
				return p.Run < 0 || p.Run >= len(m.Runs) || !piece.Finite(&p.Ratio) || p.Ratio <= 0
			})
			s.Changes = slices.DeleteFunc(slices.Clone(s.Changes), func(c result.ChangePoint) bool { return c.Point <= 0 || c.Point >= len(s.Points) })
			if len(s.Points) == 0 {
				continue
			}
			metric := piece.MetricOf(s.Metric, "", s.Better)
			v.series = append(v.series, historySeries{s, i, m, metric, piece.MetricClass(metric)})
		}
		for j, r := range m.Runs {
			if len(r.Changed) > 0 {
				v.marks = append(v.marks, historyMark{i, j, piece.Differences(r.Changed)})
			}
			if r.Started.IsZero() {
				continue
			}
			if begin.IsZero() || r.Started.Before(begin) {
				begin = r.Started
			}
			if r.Started.After(end) {
				end = r.Started
			}
		}
	}
	if end.Sub(begin) < 48*time.Hour {
		v.layout = "2006-01-02 15:04"
	}
	slices.SortStableFunc(v.series, func(a, b historySeries) int { return a.class - b.class })
	slices.SortStableFunc(v.marks, func(a, b historyMark) int { return v.run(a).Started.Compare(v.run(b).Started) })
	for i := range v.series {
		s := &v.series[i]
		for _, c := range s.Changes {
			v.found = append(v.found, historyFound{s, c, &s.of.Runs[s.Points[c.Point].Run]})
		}
	}
	slices.SortStableFunc(v.found, func(a, b historyFound) int {
		if a.Worse != b.Worse {
			if a.Worse {
				return -1
			}
			return 1
		}
		return cmp.Or(b.run.Started.Compare(a.run.Started), a.series.class-b.series.class)
	})
	return v
}

func (v *historyView) run(m historyMark) *result.HistoryRun {
	return &v.Machines[m.machine].Runs[m.run]
}

// runName is a run's id, short enough for a line.
func runName(r *result.HistoryRun) string { return piece.OrUnknown(wording.CutMiddle(r.ID, 24)) }

// study names the study.
func (v *historyView) study() string {
	return "study " + piece.OrText(wording.CutMiddle(v.Study, 60), "without a name")
}

// runs is how many runs the history has.
func (v *historyView) runs() int {
	n := 0
	for _, m := range v.Machines {
		n += len(m.Runs)
	}
	return n
}

// date is when a run started, as short as its neighbours allow.
func (v *historyView) date(t time.Time) string {
	if t.IsZero() {
		return "unknown date"
	}
	return t.UTC().Format(v.layout)
}

func (v *historyView) particulars() []string {
	out := []string{wording.Count(v.runs(), "run", "runs") + " on " + wording.Count(len(v.Machines), "machine", "machines")}
	var begin, end time.Time
	for _, m := range v.Machines {
		for _, r := range m.Runs {
			if !r.Started.IsZero() && (begin.IsZero() || r.Started.Before(begin)) {
				begin = r.Started
			}
			if r.Started.After(end) {
				end = r.Started
			}
		}
	}
	if !begin.IsZero() {
		out = append(out, v.date(begin)+" to "+v.date(end)+" UTC")
	}
	if v.Hash != "" {
		out = append(out, fmt.Sprintf("hash %.12s", v.Hash))
	}
	return out
}

// name is a series by its mode and metric, with its machine where there are several.
func (v *historyView) name(s *historySeries) string {
	name := wording.CutMiddle(s.Mode, 60) + " " + wording.CutMiddle(s.Workload, 40) + " " + wording.Cut(piece.Noun(s.metric), 40)
	if len(v.Machines) > 1 {
		name += " on " + v.machine(s.machine)
	}
	return name
}

// machine is the short name of a machine.
func (v *historyView) machine(i int) string {
	return piece.OrText(wording.CutMiddle(v.Machines[i].Machine, 48), fmt.Sprintf("machine %d", i+1))
}

// tone is the verdict on a change point.
func (f historyFound) tone() chart.Tone {
	if f.Worse {
		return chart.Worse
	}
	return chart.Better
}

// levels are the levels before and after a change, with enough digits to differ.
func (f historyFound) levels() string {
	if !piece.Finite(&f.Before) || !piece.Finite(&f.After) {
		return wording.Unknown
	}
	before, after := wording.Apart(f.Before, f.After)
	return before + " -> " + after
}

// words is the change: "worse, 0.53 -> 0.47 (-11 %)".
func (f historyFound) words() string {
	text := string(f.tone()) + ", " + f.levels()
	if piece.Finite(&f.Before) && f.Before > 0 && piece.Finite(&f.After) {
		text += " (" + wording.Change(f.After/f.Before) + ")"
	}
	return text
}

// since says from which run on the change holds, and what changed in the environment with it.
func (v *historyView) since(f historyFound) string {
	text := "since run " + runName(f.run) + " of " + v.date(f.run.Started)
	if with := f.with(); with != "" {
		text += ", when the environment changed: " + with
	}
	return text
}

// with is what changed in the environment between the last point before a change and the first
// after it: runs between them may lack the series.
func (f historyFound) with() string {
	var all []result.Difference
	from, to := f.series.Points[f.Point-1].Run, f.series.Points[f.Point].Run
	for i := from + 1; i <= to; i++ {
		all = append(all, f.series.of.Runs[i].Changed...)
	}
	if len(all) == 0 {
		return ""
	}
	return piece.Differences(all)
}

// verdict is the answer in one sentence.
func (v *historyView) verdict() string {
	series := wording.Count(len(v.series), "series", "series")
	switch changed := v.changedSeries(); {
	case v.runs() == 0:
		return "There is no run to show."
	case len(v.series) == 0:
		return "No run has a ratio to a baseline."
	case len(v.found) == 0 && v.short() == len(v.series):
		return fmt.Sprintf("%s: too few to find a change, which takes at least %d on one machine.", wording.Count(v.runs(), "run", "runs"), v.MinRuns)
	case len(v.found) == 0:
		return fmt.Sprintf("No change found in %s: %s.", wording.Count(v.runs(), "run", "runs"), series)
	default:
		return fmt.Sprintf("%s found in %s: %d of %s changed.", wording.Count(len(v.found), "change", "changes"), wording.Count(v.runs(), "run", "runs"), changed, series)
	}
}

func (v *historyView) changedSeries() int {
	n := 0
	for _, s := range v.series {
		if len(s.Changes) > 0 {
			n++
		}
	}
	return n
}

// reliability states the rate of false alarms, and what the history cannot show.
func (v *historyView) reliability() string {
	if len(v.series) == 0 {
		return ""
	}
	var parts []string
	if v.FalseAlarms > 0 && v.FalseAlarms < 1 {
		parts = append(parts, fmt.Sprintf("False alarms: a history without any change shows one, in any of its series, with a probability of at most %s.", wording.Percent(v.FalseAlarms)))
	}
	if short := v.short(); short > 0 && short < len(v.series) {
		parts = append(parts, fmt.Sprintf("%d of %d series have fewer than %d runs, too few to find a change.", short, len(v.series), v.MinRuns))
	}
	return strings.Join(parts, " ")
}

// short is how many series have too few points to find a change.
func (v *historyView) short() int {
	n := 0
	for _, s := range v.series {
		if len(s.Points) < v.MinRuns {
			n++
		}
	}
	return n
}

// answer is the first part of every form: the verdict and the changes.
func (v *historyView) answer() doc.Block {
	s := doc.Section{ID: "answer", Head: doc.Heading{Text: "Answer", Untold: true}, Nav: "Answer",
		Blocks: []doc.Block{doc.Paragraph{Role: doc.Lead, Text: v.verdict()}}}
	list := func(most int) doc.List {
		l := doc.List{Role: doc.Summary, Tight: true}
		for i, f := range v.found {
			if most > 0 && i == most && len(v.found) > most+1 {
				l.Items = append(l.Items, doc.Item{Text: fmt.Sprintf("%d more changes.", len(v.found)-i)})
				break
			}
			l.Items = append(l.Items, doc.Item{Name: v.name(f.series) + ":", Clauses: []doc.Clause{{Tone: f.tone(), Text: f.words() + " " + v.since(f)}}})
		}
		return l
	}
	if len(v.found) > 0 {
		most := mostHistoryChanges
		if v.opt.Full {
			most = 0
		}
		s.Blocks = append(s.Blocks, doc.Only{For: doc.Terminal, Blocks: []doc.Block{list(most)}}, doc.Only{For: doc.Pages, Blocks: []doc.Block{list(4 * mostHistoryChanges)}})
	}
	if text := v.reliability(); text != "" {
		s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Legend, Text: text})
	}
	return s
}
