package combination

import (
	"fmt"
	"strconv"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// pages is what pages show behind the answer: for each metric the forest plot and a table, then the runs, the machines, and what is
// left out.
func (v *combinationView) pages() []doc.Block {
	var out []doc.Block
	for i, k := range v.keys {
		s := doc.Section{ID: fmt.Sprintf("metric-%d", i+1), Head: doc.Heading{Name: k.workload, Text: piece.Noun(k.metric)}}
		if d := piece.Direction(k.metric); d != "" {
			s.Head.Small = "ratio to the baseline, " + d
		}
		if k.class < 3 {
			s.Nav = wording.Cut(k.workload+": "+piece.Noun(k.metric), 60)
		}
		if i < mostForestFigures {
			s.Blocks = append(s.Blocks, doc.Only{For: doc.HTML, Blocks: []doc.Block{v.forest(k, fmt.Sprintf("forest-%d", i+1))}})
		}
		s.Blocks = append(s.Blocks, v.table(k, s.ID))
		out = append(out, s)
	}
	for _, t := range []struct {
		id, title string
		table     *doc.Table
	}{{"runs", "Runs", v.runTable()}, {"machines", "Machines", v.machineTable()}, {"left-out", "Left out", v.leftOutTable()}} {
		if t.table == nil {
			continue
		}
		t.table.By = t.id
		out = append(out, doc.Section{ID: t.id, Head: doc.Heading{Text: t.title}, Nav: t.title, Blocks: []doc.Block{*t.table}})
	}
	return out
}

// forest is the forest plot of a metric: below each mode the ratio on each machine with its interval, then the combined one, then the
// range of the next machine.
func (v *combinationView) forest(k combinedKey, id string) doc.Block {
	one := 1.0
	panel := chart.Panel{Title: "Ratio to the baseline", Axis: chart.Axis{Ratio: true, Ref: &one, RefTip: "as the baseline", Left: "less", Right: "more"}}
	if v.Margin > 0 {
		panel.Axis.Band = &[2]float64{1 / (1 + v.Margin), 1 + v.Margin}
		panel.Axis.RefTip = "same within " + wording.Percent(v.Margin)
	}
	switch k.metric.Better {
	case result.Higher:
		panel.Axis.Left, panel.Axis.Right = "worse", "better"
	case result.Lower:
		panel.Axis.Left, panel.Axis.Right = "better", "worse"
	}
	out := doc.Figure{Look: doc.Shown, ID: id, Behind: v.behind(k)}
	var desc []string
	for _, r := range k.ratios {
		for i, p := range r.Units {
			if i == mostCombinedUnits && len(r.Units) > mostCombinedUnits+1 {
				panel.Rows = append(panel.Rows, chart.Row{Label: fmt.Sprintf("%d more", len(r.Units)-i), Tone: chart.Absent, Absent: "in the table"})
				break
			}
			row := chart.Row{Label: v.unit(r, p), Note: wording.Ratio(&p.Ratio, p.RatioCI), Tone: chart.Plain, Estimate: &p.Ratio, Interval: piece.Limits(p.RatioCI)}
			if i == 0 {
				row.Heading = r.Mode
			}
			panel.Rows = append(panel.Rows, row)
		}
		panel.Rows = append(panel.Rows, chart.Row{Label: "combined", Note: wording.Ratio(r.Ratio, r.RatioCI) + ", " + wording.Word(r.Verdict), Tone: piece.ToneOf(r.Verdict), Estimate: r.Ratio, Interval: piece.Limits(r.RatioCI)})
		if next := piece.Limits(r.Next); next != nil {
			lo, hi := wording.Apart(next[0], next[1])
			panel.Rows = append(panel.Rows, chart.Row{Label: v.next(), Note: lo + "-" + hi + ", " + wording.Word(r.NextVerdict), Tone: piece.ToneOf(r.NextVerdict), Interval: next})
		}
		text := r.Mode + ": combined " + wording.Ratio(r.Ratio, r.RatioCI) + ", " + wording.Word(r.Verdict)
		if r.Next != nil {
			text += "; " + v.next() + " " + k.rangeOf(r)
		}
		desc = append(desc, text)
	}
	out.Caption = "Each row is a " + string(k.ratios[0].Unit) + " with its 95 % interval; below them are their mean with its interval and, without a mark, the range of the " + v.next() + "."
	out.Drawings = []doc.Drawing{chart.Figure{Title: wording.Cut(k.workload+", "+piece.Noun(k.metric)+": "+v.counted(), 120), Desc: wording.Cut(strings.Join(desc, ". "), 1500), Panels: []chart.Panel{panel}}}
	return out
}

// behind is the table behind a forest plot.
func (v *combinationView) behind(k combinedKey) *doc.Table {
	t := &doc.Table{Kind: doc.Behind, Label: k.workload + " " + piece.Noun(k.metric) + ", " + string(k.ratios[0].Unit) + " by " + string(k.ratios[0].Unit), Groups: []doc.Group{{}},
		Columns: []doc.Column{{Head: "Mode", Row: true, Names: true}, {Head: "Of", Names: true}, {Head: "Runs", Names: true}, {Head: "Ratio", Number: true}, {Head: "95 % interval", Number: true}}}
	for _, r := range k.ratios {
		for i, p := range r.Units {
			if i == mostCombinedListed {
				break
			}
			var runs []string
			for _, n := range p.Runs {
				runs = append(runs, v.run(v.Runs[n]))
			}
			ratio, interval, _ := strings.Cut(wording.Ratio(&p.Ratio, p.RatioCI), " (")
			t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: r.Mode}, {Text: v.unit(r, p)}, {Text: someOf(runs, piece.MostListed)}, {Text: ratio}, {Text: strings.TrimSuffix(interval, ")")}}})
		}
	}
	return t
}

// table is a row for each mode.
func (v *combinationView) table(k combinedKey, by string) doc.Table {
	t := doc.Table{Kind: doc.Figures, By: by, Groups: []doc.Group{{}}, Columns: []doc.Column{{Head: "Mode", Row: true, Names: true, Strong: true}, {Head: "Baseline", Names: true},
		{Head: "Combined", Number: true}, {Head: piece.Capital(v.next()), Number: true}, {Head: "Spread", Title: "standard deviation of the true ratio", Number: true},
		{Head: "Runs", Number: true}, {Head: "Machines", Number: true}, {Head: "Adds", Title: "lowest and highest added time", Number: true}, {Head: "Verdict", Verdict: true}}}
	times, unit := k.timesOf()
	if times != nil {
		t.Columns[7].Note = unit
	}
	for i, r := range k.ratios {
		runs, machines := counts(r)
		added := wording.Unknown
		if times != nil {
			added = times[i]
		}
		verdict := doc.Cell{Tone: piece.ToneOf(r.Verdict), Text: k.verdictOf(v, r)}
		switch {
		case r.Next != nil:
			verdict.Notes = append(verdict.Notes, v.next()+": "+wording.Word(r.NextVerdict))
		case r.NoNext != "":
			verdict.Notes = append(verdict.Notes, "no "+v.next()+": "+wording.Cut(r.NoNext, 200))
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: r.Mode}, {Text: r.Baseline}, {Text: k.change(r), Tight: true}, {Text: k.rangeOf(r), Tight: true},
			{Text: spreadOf(r)}, {Text: strconv.Itoa(runs)}, {Text: strconv.Itoa(machines)}, {Text: added}, verdict}})
	}
	return t
}

func (v *combinationView) runTable() *doc.Table {
	if len(v.Runs) == 0 {
		return nil
	}
	t := piece.Plain("Run", "Id", "Started", "Machine", "tare", "Status", "Set otherwise than in the first")
	t.Columns[4].Kept = true
	for i, r := range v.Runs {
		if i == mostCombinedListed {
			piece.AddRow(t, fmt.Sprintf("%d more", len(v.Runs)-i), "", "", "", "", "", "")
			break
		}
		machine := wording.Unknown
		if r.Machine >= 0 && r.Machine < len(v.Machines) {
			machine = v.machine(r.Machine)
		}
		piece.AddRow(t, wording.CutMiddle(r.Path, 120), piece.OrUnknown(wording.CutMiddle(r.ID, 24)), wording.Time(r.Started), machine, piece.OrUnknown(r.Build.Version), string(r.Status), piece.Differences(r.Differs))
	}
	return t
}

func (v *combinationView) machineTable() *doc.Table {
	if len(v.Machines) == 0 {
		return nil
	}
	t := piece.Plain("Machine", "Runs", "Facts")
	for i, m := range v.Machines {
		if i == mostCombinedListed {
			piece.AddRow(t, fmt.Sprintf("%d more", len(v.Machines)-i), "", "")
			break
		}
		piece.AddRow(t, v.machine(i), strconv.Itoa(m.Runs), piece.OrText(piece.FactsInLine(m.Facts), "not recorded"))
	}
	return t
}

func (v *combinationView) leftOutTable() *doc.Table {
	lines := v.left()
	if len(lines) == 0 {
		return nil
	}
	t := piece.Plain("Run and part", "Reason")
	for i, line := range lines {
		if i == mostCombinedListed {
			piece.AddRow(t, fmt.Sprintf("%d more", len(lines)-i), "")
			break
		}
		piece.AddRow(t, line[0], line[1])
	}
	return t
}
