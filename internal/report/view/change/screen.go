package change

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/verdict"
	"tare/internal/printable"
	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Overview returns the first screen of what changed from one run to another. The
// command prints all of it; the empty units are [UnitBoth].
func Overview(c result.Changes, command string, units model.Units) doc.Overview {
	v := changesView{printable.Value(c)}
	columns := v.mainColumns()
	o := doc.Overview{
		Title: "Changes from run " + piece.OrUnknown(v.Before.ID) + " to run " + piece.OrUnknown(v.After.ID), Measured: v.measured(),
		Notes: v.notes(), Sentence: v.conclusion(columns), Command: wording.Clean(command),
	}
	if v.Basis != nil {
		o.Title = "Run " + piece.OrUnknown(v.After.ID) + " against its history"
	}
	var modes []string
	for _, cell := range v.Cells {
		if !slices.Contains(modes, cell.Mode) {
			modes = append(modes, cell.Mode)
		}
	}
	for i, k := range columns {
		var ratios []*float64
		var times []*result.Added
		for _, c := range v.Cells {
			if c.Workload == k.Workload && c.Metric == k.metric.Name && c.Ratio != nil {
				ratios, times = append(ratios, c.Ratio), append(times, c.Added)
			}
		}
		columns[i].ChangeForm = model.ChangeFormOf(units, ratios, times)
		if k.Legend = columns[i].TimeLegend(k.metric); k.Legend != "" {
			k.Legend += " more than before"
		}
		o.Columns = append(o.Columns, k.OverviewColumn)
	}
	g := doc.OverviewGroup{}
	for _, m := range modes {
		r := doc.OverviewRow{Mode: m}
		for _, k := range columns {
			i := slices.IndexFunc(v.Cells, func(c result.Change) bool {
				return c.Mode == m && c.Workload == k.Workload && c.Metric == k.metric.Name
			})
			cell := doc.OverviewCell{Tone: chart.Plain, Change: wording.Unknown}
			if i >= 0 {
				cell = changeCell(v.Cells[i], k.ChangeForm)
			}
			r.Cells = append(r.Cells, cell)
		}
		g.Rows = append(g.Rows, r)
	}
	for _, m := range v.Modes {
		if m.Lost() && !slices.Contains(modes, m.Mode) {
			g.Rows = append(g.Rows, doc.OverviewRow{Mode: m.Mode, Out: strings.TrimSpace("now " + statusWord(m.After))})
		}
	}
	o.Groups = []doc.OverviewGroup{g}
	var cells []result.Cell
	own := false
	for _, c := range v.Cells {
		cells, own = append(cells, c.Cell()), own || c.Own
	}
	o.Legend = model.OverviewLegend(o, cells)
	if own {
		o.Legend = append(o.Legend, "a baseline changes with the machine: no verdict")
	}
	return o
}

func statusWord(s result.ModeStatus) string {
	if s == "" {
		return "not in the run"
	}
	return string(s)
}

// measured says what the two runs are.
func (v changesView) measured() string {
	if v.Basis != nil {
		return v.basis() + "; " + v.After.Started + ", tare " + piece.OrUnknown(v.After.Tare.Version)
	}
	var parts []string
	for _, r := range []result.RunRef{v.Before, v.After} {
		text := r.Started + ", tare " + piece.OrUnknown(r.Tare.Version)
		if r.Status != result.RunComplete {
			text += ", " + string(r.Status)
		}
		parts = append(parts, text)
	}
	if parts[0] == parts[1] {
		return parts[0]
	}
	return parts[0] + "; " + parts[1]
}

// changeColumn is a metric of a workload on the first screen.
type changeColumn struct {
	doc.OverviewColumn
	model.ChangeForm
	metric result.Metric
}

// mainColumns are the metrics of the first screen, as for a run: main metrics, CPU costs and
// 99th percentiles; all that there are where there is none of these.
func (v changesView) mainColumns() []changeColumn {
	var all, chosen []changeColumn
	const others = 3
	for _, c := range v.Cells {
		if slices.ContainsFunc(all, func(k changeColumn) bool { return k.Workload == c.Workload && k.metric.Name == c.Metric }) {
			continue
		}
		m := piece.MetricOf(c.Metric, "", c.Better)
		class := min(piece.MetricClass(m), others)
		k := changeColumn{OverviewColumn: doc.OverviewColumn{Workload: c.Workload, Metric: piece.ShortTitle(m), Rank: class}, metric: m}
		all = append(all, k)
		if class < others {
			chosen = append(chosen, k)
		}
	}
	if len(chosen) == 0 {
		chosen = all
	}
	piece.Rank(chosen, func(c *changeColumn) *int { return &c.Rank })
	return chosen
}

func changeCell(c result.Change, form model.ChangeForm) doc.OverviewCell {
	tone := piece.ToneOf(c.Verdict)
	out := doc.OverviewCell{Tone: tone, Mark: piece.MarkOf(tone)}
	switch {
	case c.Verdict == result.Same && c.Ratio == nil:
		return doc.OverviewCell{Tone: chart.Plain, Change: "none in either"}
	case c.Verdict == "" && c.Ratio == nil: // a maximum
		return doc.OverviewCell{Tone: chart.Plain, Change: wording.Unknown}
	case c.Ratio == nil && c.BeforeN == 0 && c.AfterN > 0:
		out.Change = "(new)"
		return out
	case c.Ratio == nil && !c.Own:
		out.Change = "(0 in one)"
		return out
	}
	shown := form.Cell(c.Ratio, c.RatioCI, c.Added)
	out.Change, out.Interval, out.Time = shown.Change, shown.Interval, shown.Time
	if c.Own {
		out.Tone, out.Mark = chart.Plain, ""
	}
	if c.Verdict == result.CannotTell && !c.Own || c.Added != nil && open(c.Added.CI) {
		out.Time = "" // there is no room for its interval
	}
	return out
}

// open says whether an interval of times is unknown or contains 0.
func open(ci *result.Interval) bool { return ci == nil || ci[0] <= 0 && ci[1] >= 0 }

// notes are what limits the comparison, the most important first.
func (v changesView) notes() []doc.Note {
	var out []doc.Note
	for _, w := range v.Warnings {
		out = append(out, doc.Note{Text: piece.Capital(w.Text)})
	}
	if v.Noisy != "" {
		out = append(out, doc.Note{Text: "Nothing can be told: " + v.Noisy})
	}
	for _, n := range v.basisNotes() {
		if len(n.Lines) == 1 {
			out = append(out, doc.Note{Text: strings.TrimPrefix(n.Heading, "! ") + ": " + n.Lines[0]})
			continue
		}
		out = append(out, doc.Note{Text: fmt.Sprintf("%s: %d, such as %s", n.Heading, len(n.Lines), n.Lines[len(n.Lines)-1])})
	}
	for _, r := range v.Refused {
		out = append(out, doc.Note{Text: "Not comparable: " + refused(r)})
	}
	for _, m := range v.Modes {
		text := fmt.Sprintf("%s: %s, now %s", m.Mode, statusWord(m.Before), statusWord(m.After))
		if m.Reason != "" {
			text += ": " + m.Reason
		}
		out = append(out, doc.Note{Text: text})
	}
	if n := len(v.Missing); n > 0 {
		out = append(out, doc.Note{Text: fmt.Sprintf("Measured before and not now: %s, such as %s", wording.Count(n, "workload", "workloads of modes"), v.Missing[0])})
	}
	if settings := v.settings(); len(settings) > 0 {
		var parts []string
		for _, d := range settings {
			parts = append(parts, difference(d.Scope, d.Name, d.Before, d.After))
		}
		what := "The runs differ in "
		if v.Basis != nil {
			what = "The run differs from the one before in "
		}
		out = append(out, doc.Note{Text: what + wording.Count(len(settings), "setting", "settings") + ": " + strings.Join(parts, "; ")})
	}
	return out
}

func refused(r result.Refusal) string {
	where := strings.TrimSpace(r.Mode + " " + r.Workload)
	if where == "" {
		where = "everything"
	}
	return where + ": " + r.Reason
}

// conclusion is the answer for the comparison as a whole, in one sentence.
func (v changesView) conclusion(columns []changeColumn) string {
	found := map[result.Verdict][]result.Change{}
	n := 0
	for _, c := range v.Cells {
		shown := slices.ContainsFunc(columns, func(k changeColumn) bool { return k.Workload == c.Workload && k.metric.Name == c.Metric })
		if !c.Own && c.Verdict != "" && (shown || c.Verdict == result.Worse || c.Verdict == result.Better) {
			found[c.Verdict] = append(found[c.Verdict], c)
			n++
		}
	}
	switch {
	case n == 0 && v.Basis != nil && v.Basis.Reason != "":
		return "Nothing was compared."
	case n == 0 && v.Basis != nil:
		return "Nothing was compared: no ratio of the run is in the earlier runs that count."
	case n == 0:
		return "Nothing was compared: no mode with a baseline is in both runs and comparable."
	}
	var parts []string
	for _, verdict := range []result.Verdict{result.Worse, result.Better} {
		if cells := found[verdict]; len(cells) > 0 {
			parts = append(parts, string(verdict)+" in "+listed(cells, changed))
		}
	}
	if len(found[result.Worse]) == 0 {
		parts = append([]string{"nothing is shown to be worse"}, parts...)
	}
	if same := len(found[result.Same]) + len(found[result.Small]); same > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d are the same within the margin", same, n))
	}
	if cells := found[result.CannotTell]; len(cells) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d cannot be told%s", len(cells), n, moreBlocks(cells)))
	}
	return piece.Capital(strings.Join(parts, "; ") + ".")
}

// moreBlocks says how many blocks would settle changes that cannot be told.
func moreBlocks(cells []result.Change) string {
	most := 0
	for _, c := range cells {
		if by, blocks := verdict.Settle(c.Cell(), false, false); by == verdict.SettleBlocks {
			most = max(most, blocks)
		}
	}
	if most == 0 {
		return ""
	}
	return " (about " + piece.More(most, "block", "blocks") + " in each run would settle it)"
}

func listed(cells []result.Change, word func(result.Change) string) string {
	var parts []string
	for i, c := range cells {
		if i == piece.MostListed && len(cells) > piece.MostListed+1 {
			parts = append(parts, fmt.Sprintf("%d more", len(cells)-i))
			break
		}
		parts = append(parts, word(c))
	}
	return strings.Join(parts, ", ")
}

// changed names a change: "netns/bridge tcp_stream goodput -10 % (-11 .. -9)".
func changed(c result.Change) string {
	change, interval := wording.Delta(c.Ratio, c.RatioCI)
	return strings.TrimSpace(c.Mode + " " + c.Workload + " " + c.Metric + " " + change + " " + interval)
}
