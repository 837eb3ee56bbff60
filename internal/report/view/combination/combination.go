// Package combination shows runs of several machines or days in one answer.
package combination

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/printable"
	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Options say how a combination is shown. Full shows all of it on a terminal, and Command is what prints that.
// Version is that of tare.
type Options struct {
	Full             bool
	Command, Version string
}

// What a terminal shows of a combination unless all of it is asked for, and what a figure has.
const (
	mostCombinedNotes  = 6
	mostCombinedModes  = 4  // of a sentence
	mostCombinedUnits  = 40 // of a mode in a figure, and in a table of a terminal
	mostCombinedRows   = 60 // of a terminal
	mostForestFigures  = 20
	mostCombinedListed = 200 // runs and left out parts in a table of a page
)

// Document is runs of several machines or days in one answer, as a document.
func Document(c result.Combination, opt Options) doc.Document {
	v := newCombinationView(printable.Value(c), opt)
	d := doc.Document{Title: v.title(), Generator: wording.Clean(opt.Version), Particulars: v.particulars()}
	for _, n := range v.notes() {
		d.Notices = append(d.Notices, doc.Notice{Text: n})
	}
	d.Blocks = append(d.Blocks, v.answer(), doc.Only{For: doc.Terminal, Blocks: v.terminal()}, doc.Only{For: doc.Pages, Blocks: v.pages()})
	return d
}

// combinationView is a combination, prepared to be shown.
type combinationView struct {
	result.Combination
	opt  Options
	keys []combinedKey // the main metrics first
}

// combinedKey is a metric of a workload with its combined ratios.
type combinedKey struct {
	workload string
	metric   result.Metric
	class    int
	ratios   []*result.CombinedRatio
}

func newCombinationView(c result.Combination, opt Options) *combinationView {
	v := &combinationView{Combination: c, opt: opt}
	at := map[[2]string]int{}
	for i := range v.Ratios {
		r := &v.Ratios[i]
		if !piece.Finite(r.Ratio) || *r.Ratio <= 0 {
			continue
		}
		name := [2]string{r.Workload, r.Metric}
		k, known := at[name]
		if !known {
			metric := piece.MetricOf(r.Metric, "", r.Better)
			k = len(v.keys)
			at[name], v.keys = k, append(v.keys, combinedKey{workload: r.Workload, metric: metric, class: piece.MetricClass(metric)})
		}
		r.Units = slices.DeleteFunc(r.Units, func(p result.CombinedPart) bool {
			return p.Machine < 0 || p.Machine >= len(v.Machines) || !piece.Finite(&p.Ratio) || p.Ratio <= 0 || len(p.Runs) == 0 ||
				slices.ContainsFunc(p.Runs, func(i int) bool { return i < 0 || i >= len(v.Runs) })
		})
		v.keys[k].ratios = append(v.keys[k].ratios, r)
	}
	slices.SortStableFunc(v.keys, func(a, b combinedKey) int { return a.class - b.class })
	return v
}

func (v *combinationView) title() string {
	return "Combined: study " + piece.OrText(wording.CutMiddle(v.Study, 60), "without a name")
}

// counted says how many runs there are of how many machines.
func (v *combinationView) counted() string {
	return wording.Count(len(v.Runs), "run", "runs") + " of " + wording.Count(len(v.Machines), "machine", "machines")
}

func (v *combinationView) particulars() []string {
	out := []string{v.counted()}
	var begin, end time.Time
	for _, r := range v.Runs {
		if !r.Started.IsZero() && (begin.IsZero() || r.Started.Before(begin)) {
			begin = r.Started
		}
		if r.Started.After(end) {
			end = r.Started
		}
	}
	switch from, to := begin.UTC().Format(time.DateOnly), end.UTC().Format(time.DateOnly); {
	case begin.IsZero():
	case from == to:
		out = append(out, from)
	default:
		out = append(out, from+" to "+to)
	}
	return out
}

// notes are what limits the whole answer.
func (v *combinationView) notes() []string {
	var out []string
	switch n := len(v.Machines); {
	case n == 1:
		out = append(out, "All runs are of one machine: the answer holds for that machine, from one run to the next, and not for another. Machines of one model "+
			"cannot be told apart; where they are several, --distinct counts each run as a machine.")
	case v.Distinct:
		out = append(out, "Each run counts as a machine of its own, as requested: runs of one machine make the intervals too narrow.")
	case n == 2:
		out = append(out, "Two machines show no range for the next one, and no verdict: their difference is one number, which does not show a spread. "+
			"A third machine gives both.")
	case len(v.Runs) > n:
		out = append(out, "A machine counts once: several runs of one machine are taken together first.")
	}
	var parts []string
	for _, r := range v.Runs {
		if r.Status != result.RunComplete {
			parts = append(parts, v.run(r)+" ("+wording.Cut(string(r.Status), 20)+")")
		}
	}
	if len(parts) > 0 {
		out = append(out, "Not complete: "+someOf(parts, piece.MostListed)+".")
	}
	return out
}

// someOf lists the first so many and counts the others.
func someOf(parts []string, most int) string {
	if more := len(parts) - most; more > 1 {
		parts = append(slices.Clone(parts[:most]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// run is a short name of a run.
func (v *combinationView) run(r result.CombinedRun) string {
	return wording.CutMiddle(piece.OrUnknown(piece.OrText(r.Path, r.ID)), 40)
}

// machine is a short name of a machine.
func (v *combinationView) machine(i int) string {
	return piece.OrText(wording.CutMiddle(v.Machines[i].Machine, 48), fmt.Sprintf("machine %d", i+1))
}

// unit is the name of what was combined: a machine with its runs, or a run.
func (v *combinationView) unit(r *result.CombinedRatio, p result.CombinedPart) string {
	if r.Unit == result.UnitRun || v.Distinct {
		return v.run(v.Runs[p.Runs[0]])
	}
	if len(p.Runs) > 1 {
		return v.machine(p.Machine) + ", " + wording.Count(len(p.Runs), "run", "runs")
	}
	return v.machine(p.Machine)
}

// next names what the range is of.
func (v *combinationView) next() string {
	if len(v.Machines) == 1 {
		return "next run"
	}
	return "next machine"
}

// change is a combined ratio as a change with its interval.
func (k combinedKey) change(r *result.CombinedRatio) string {
	change, interval := k.form().Delta(r.Ratio, r.RatioCI)
	return strings.TrimSpace(change + " " + interval)
}

func (k combinedKey) form() wording.Form {
	var all []*float64
	for _, r := range k.ratios {
		all = append(all, r.Ratio)
	}
	return wording.FormOf(all...)
}

// rangeOf is the range of the next machine, "-25 % .. -2 %", or a dash.
func (k combinedKey) rangeOf(r *result.CombinedRatio) string {
	if r.Next == nil || !piece.Finite(&r.Next[0]) || !piece.Finite(&r.Next[1]) {
		return wording.Unknown
	}
	if wide := r.Next[0] < 0.01 && r.Next[1] > 100; wide {
		return "anything"
	}
	lo, _ := k.form().Delta(&r.Next[0], nil)
	hi, _ := k.form().Delta(&r.Next[1], nil)
	return lo + " .. " + hi
}

// spread is how much the true ratio differs between units.
func spreadOf(r *result.CombinedRatio) string {
	switch {
	case !piece.Finite(&r.Spread) || r.Spread < 0:
		return wording.Unknown
	case r.Spread == 0:
		return "none"
	}
	return wording.Percent(r.Spread)
}

// timesOf are what modes add in time, from the lowest to the highest unit, in one unit, which is returned; none where it is unknown.
func (k combinedKey) timesOf() (texts []string, unit string) {
	var all []float64
	for _, r := range k.ratios {
		if lo, hi, of, ok := timeOf(r); ok {
			all, unit = append(all, lo.Value, hi.Value), of
		}
	}
	if len(all) == 0 {
		return nil, ""
	}
	scale := wording.ScaleFor("s", all...)
	for _, r := range k.ratios {
		lo, hi, of, ok := timeOf(r)
		if !ok || of != unit {
			texts = append(texts, wording.Unknown)
			continue
		}
		from, _ := scale.Added(lo)
		to, _ := scale.Added(hi)
		from, to = strings.TrimSuffix(from, " "+scale.Unit), strings.TrimSuffix(to, " "+scale.Unit)
		if from != to {
			from += " .. " + to
		}
		texts = append(texts, from)
	}
	switch unit {
	case "":
	case "transaction", "connection", "query": // the workload says which
		unit = " each"
	default:
		unit = "/" + unit
	}
	return texts, wording.Cut(scale.Unit+unit, 40)
}

// timeOf is the lowest and the highest added time in seconds, for one of what it is for.
func timeOf(r *result.CombinedRatio) (lo, hi result.Amount, of string, ok bool) {
	if r.Time == nil || !piece.Finite(&r.Time[0]) || !piece.Finite(&r.Time[1]) {
		return lo, hi, "", false
	}
	lo, _ = wording.Each(result.Added{Amount: result.Amount{Value: r.Time[0]}, Unit: r.TimeUnit})
	hi, of = wording.Each(result.Added{Amount: result.Amount{Value: r.Time[1]}, Unit: r.TimeUnit})
	return lo, hi, of, true
}

// marked is a text with the mark of a verdict before it.
func marked(v result.Verdict, text string) string {
	return strings.TrimSpace(wording.Pad(piece.MarkOf(piece.ToneOf(v)), 1) + " " + text)
}

// verdictOf is the verdict on the mean in words.
func (k combinedKey) verdictOf(v *combinationView, r *result.CombinedRatio) string {
	switch r.Verdict {
	case result.Worse, result.Better:
		return string(r.Verdict)
	case result.Same:
		return "same within " + wording.Percent(v.Margin)
	case result.Small:
		return "different, but less than " + wording.Percent(v.Margin)
	}
	text := "cannot tell"
	if r.Needed != nil && *r.Needed > 0 && *r.Needed < 1000 {
		text += "; about " + wording.Count(*r.Needed, "more "+string(r.Unit), "more "+string(r.Unit)+"s")
	}
	return text
}

// answer is the first part of every form: a sentence for each workload.
func (v *combinationView) answer() doc.Block {
	l := doc.List{Role: doc.Summary, Tight: true, Apart: true}
	seen := map[string]bool{}
	for _, primary := range []bool{true, false} { // a workload whose main metric is not combined has its first
		for _, k := range v.keys {
			if !seen[k.workload] && k.metric.Primary == primary {
				seen[k.workload] = true
				l.Items = append(l.Items, v.sentence(k))
			}
		}
	}
	s := doc.Section{ID: "answer", Head: doc.Heading{Text: "Answer", Untold: true}, Nav: "Answer"}
	if len(l.Items) == 0 {
		s.Blocks = []doc.Block{doc.Paragraph{Role: doc.Lead, Text: "Nothing was combined."}}
		return s
	}
	s.Blocks = []doc.Block{l, doc.Only{For: doc.Pages, Blocks: []doc.Block{doc.Paragraph{Role: doc.Legend, Text: v.legend()}}}}
	return s
}

// sentence is the answer for a workload.
func (v *combinationView) sentence(k combinedKey) doc.Item {
	over := wording.Count(k.ratios[0].N, string(k.ratios[0].Unit), string(k.ratios[0].Unit)+"s")
	item := doc.Item{Name: wording.CutMiddle(k.workload, 40) + ":", Text: fmt.Sprintf("%s, on average over %s: ", piece.Noun(k.metric), over)}
	for i, r := range k.ratios {
		if i == mostCombinedModes && len(k.ratios) > mostCombinedModes+1 {
			item.Clauses = append(item.Clauses, doc.Clause{Tone: chart.Plain, Text: fmt.Sprintf("%d more modes", len(k.ratios)-i)})
			break
		}
		text := wording.CutMiddle(r.Mode, 60) + " " + k.verdictOf(v, r) + ", " + k.change(r)
		if r.N != k.ratios[0].N {
			text += " over " + strconv.Itoa(r.N)
		}
		if r.Next != nil {
			where := "on"
			if len(v.Machines) == 1 {
				where = "in"
			}
			text += ", " + where + " the " + v.next() + " " + k.rangeOf(r)
			if r.NextVerdict == result.CannotTell && (r.Verdict == result.Worse || r.Verdict == result.Better) {
				text += ", where it may not be " + string(r.Verdict)
			}
		}
		item.Clauses = append(item.Clauses, doc.Clause{Tone: piece.ToneOf(r.Verdict), Text: text})
	}
	return item
}

func (v *combinationView) legend() string {
	unit, where := "machines", "on the next machine"
	if len(v.Machines) == 1 {
		unit, where = "runs", "on this machine"
	}
	text := fmt.Sprintf("Combined is the mean over the %s with its 95 %% interval, which has the verdict. The next run of this study %s is in the range with a probability of 95 %%; the "+
		"mark says what all of the range is. Spread is the standard deviation of the true ratio between the %s.", unit, where, unit)
	if slices.ContainsFunc(v.Ratios, func(r result.CombinedRatio) bool { return r.Time != nil }) {
		text += " An added time belongs to the speed of a machine, so that it has no mean: the lowest and the highest are shown."
	}
	return text
}

// heading is that of a metric on a terminal.
func (k combinedKey) heading() string {
	text := wording.CutMiddle(k.workload, 40) + ": " + piece.Noun(k.metric) + ", change from the baseline"
	if d := piece.Direction(k.metric); d != "" {
		text += ", " + d
	}
	return text
}

// terminal is what a terminal shows behind the answer.
func (v *combinationView) terminal() []doc.Block {
	var out []doc.Block
	rows, more := 0, 0
	for _, k := range v.keys {
		if !v.opt.Full && (k.class > 1 || rows+len(k.ratios) > mostCombinedRows && rows > 0) {
			more++
			continue
		}
		rows += len(k.ratios)
		s := doc.Section{Head: doc.Heading{Text: k.heading()}, Blocks: []doc.Block{v.grid(k)}}
		if v.opt.Full {
			for _, r := range k.ratios {
				s.Blocks = append(s.Blocks, doc.List{Items: v.unitLines(r)})
			}
		}
		out = append(out, s)
	}
	out = append(out, v.leftOutLines()...)
	if len(v.keys) > 0 {
		out = append(out, doc.Paragraph{Role: doc.Lead, Text: v.legend()})
	}
	if (more > 0 || !v.opt.Full) && v.opt.Command != "" {
		text := "More: " + wording.Clean(v.opt.Command)
		if more > 0 {
			text += " (" + wording.Count(more, "more metric", "more metrics") + ")"
		}
		out = append(out, doc.Paragraph{Role: doc.Lead, Text: text})
	}
	return out
}

// grid is a line for each mode.
func (v *combinationView) grid(k combinedKey) doc.Grid {
	g := doc.Grid{Corner: "mode", Columns: []doc.GridColumn{{Head: "combined"}, {Head: v.next()}, {Head: "spread"}, {Head: "runs"}, {Head: "machines"}}}
	times, unit := k.timesOf()
	if times != nil {
		g.Columns = append(g.Columns, doc.GridColumn{Head: "adds, " + unit, Uncut: true})
	}
	for n, r := range k.ratios {
		g.Names = append(g.Names, r.Mode)
		runs, machines := counts(r)
		cells := []string{marked(r.Verdict, k.change(r)), k.rangeOf(r), spreadOf(r), strconv.Itoa(runs), strconv.Itoa(machines)}
		if r.Next != nil {
			cells[1] = marked(r.NextVerdict, cells[1])
		}
		if times != nil {
			cells = append(cells, times[n])
		}
		for i, text := range cells {
			g.Columns[i].Cells = append(g.Columns[i].Cells, text)
		}
	}
	return g
}

// counts are the runs and the machines of a combined ratio.
func counts(r *result.CombinedRatio) (runs, machines int) {
	seen := map[int]bool{}
	for _, p := range r.Units {
		runs += len(p.Runs)
		seen[p.Machine] = true
	}
	return runs, len(seen)
}

// unitLines are the ratios that were combined, one by one.
func (v *combinationView) unitLines(r *result.CombinedRatio) []doc.Item {
	out := []doc.Item{{Text: wording.CutMiddle(r.Mode, 60) + ":"}}
	for i, p := range r.Units {
		if i == mostCombinedUnits && len(r.Units) > mostCombinedUnits+1 {
			out = append(out, doc.Item{Text: fmt.Sprintf("  %d more", len(r.Units)-i)})
			break
		}
		change, interval := wording.Delta(&p.Ratio, p.RatioCI)
		out = append(out, doc.Item{Text: "  " + v.unit(r, p) + ": " + strings.TrimSpace(change+" "+interval)})
	}
	return out
}

// left are the parts that are in no combined ratio, each with its runs and the reason.
func (v *combinationView) left() [][2]string {
	type part struct{ mode, workload, reason string }
	var order []part
	runs := map[part][]string{}
	for _, l := range v.LeftOut {
		if l.Run < 0 || l.Run >= len(v.Runs) {
			continue
		}
		p := part{l.Mode, l.Workload, l.Reason}
		if runs[p] == nil {
			order = append(order, p)
		}
		runs[p] = append(runs[p], v.run(v.Runs[l.Run]))
	}
	var out [][2]string
	for _, p := range order {
		where := piece.OrText(strings.TrimSpace(wording.CutMiddle(p.mode, 60)+" "+wording.CutMiddle(p.workload, 40)), "everything")
		out = append(out, [2]string{where + " of " + someOf(runs[p], piece.MostListed), piece.OrText(wording.Cut(p.reason, 200), "no reason is recorded")})
	}
	return out
}

func (v *combinationView) leftOutLines() []doc.Block {
	lines := v.left()
	if len(lines) == 0 {
		return nil
	}
	l := doc.List{}
	for i, line := range lines {
		if !v.opt.Full && i == mostCombinedNotes && len(lines) > mostCombinedNotes+1 {
			l.Items = append(l.Items, doc.Item{Text: fmt.Sprintf("%d more", len(lines)-i)})
			break
		}
		l.Items = append(l.Items, doc.Item{Text: line[0] + ": " + line[1]})
	}
	return []doc.Block{doc.Section{Head: doc.Heading{Text: "Left out"}, Blocks: []doc.Block{l}}}
}
