package report

import (
	"strings"

	"tare/internal/report/say"
)

// scenarios lists the scenarios of the study by their ids, and below what each
// carried.
func (p *printer) scenarios(v view) {
	if len(v.Scenarios) == 0 {
		return
	}
	p.blank()
	p.buf.WriteString("Scenarios\n")
	id := 0
	for _, t := range v.Scenarios {
		for _, r := range t.Rows {
			id = max(id, say.Width(r.Scenario.ID))
		}
	}
	id = min(id, p.width/4)
	for _, t := range v.Scenarios {
		for _, r := range t.Rows {
			p.wrap(gap+say.Pad(say.CutMiddle(r.Scenario.ID, id), id)+gap, r.what())
		}
	}
	for _, t := range v.Scenarios {
		p.scenarioTable(t, id)
	}
}

func (p *printer) scenarioTable(t scenarioTable, id int) {
	p.blank()
	head := []string{t.heading(), "sent", "CPU"}
	cells := make([][]string, len(t.Rows))
	for i, r := range t.Rows {
		cells[i] = []string{r.value(t.Scale), r.sentText(t.Scale), r.cpuText()}
	}
	keep := []bool{true, t.sent(), t.cpu()}
	line := func(name string, texts []string) string {
		out := gap + say.Pad(name, id)
		for c, text := range texts {
			if !keep[c] {
				continue
			}
			width := say.Width(head[c])
			for _, row := range cells {
				width = max(width, say.Width(row[c]))
			}
			out += gap + say.Pad(text, width)
		}
		return out + gap
	}
	p.wide(strings.TrimRight(line("", head), " "))
	for i, r := range t.Rows {
		p.beside(line(say.CutMiddle(r.Scenario.ID, id), cells[i]), r.row, r.remarks(t.Scale))
	}
}

// comparisons words what the study asked to be compared: the main metric of each
// with its figures, the others in brief.
func (p *printer) comparisons(v view) {
	if len(v.Comparisons) == 0 {
		return
	}
	p.blank()
	p.buf.WriteString("Comparisons\n")
	for _, c := range v.Comparisons {
		p.wrap(gap, say.Cut(c.heading(), 4*p.width))
		if len(c.Lines) == 0 {
			p.wrap(gap+gap, c.without())
		}
		var brief []string
		for i, l := range c.Lines {
			switch {
			case i == 0 || l.Known.Primary:
				p.wrap(gap+gap, noun(l.Known)+" "+l.figures()+" in "+l.blocks()+"; "+l.inFull())
			case !l.Known.Detail && l.Ratio != nil:
				brief = append(brief, l.Known.Name+" "+say.BareRatio(*l.Ratio)+" "+say.Word(l.Verdict))
			}
		}
		if len(brief) > 0 {
			p.wrap(gap+gap, strings.Join(brief, "; "))
		}
	}
}

// sweeps writes one table for each sweep: a row a load, a column a mode.
func (p *printer) sweeps(v view) {
	for _, s := range v.Sweeps {
		p.blank()
		p.wrap("", say.Cut(s.ID, p.width/2)+": loss ratio, %; a row a load, a column a mode")
		rate := 0
		for _, r := range s.Rows {
			rate = max(rate, say.Width(r.Rate))
		}
		widths := make([]int, len(s.Modes))
		for c, mode := range s.Modes {
			widths[c] = min(say.Width(mode), p.width/3)
			for _, r := range s.Rows {
				widths[c] = max(widths[c], say.Width(r.Loss[c]))
			}
		}
		for from := 0; from < len(s.Modes); {
			to, used := from, len(gap)+rate
			for to < len(s.Modes) && (to == from || used+len(gap)+widths[to] <= p.width) {
				used += len(gap) + widths[to]
				to++
			}
			if from > 0 {
				p.blank()
			}
			p.sweepLine("", rate, s.Modes[from:to], widths[from:to])
			for _, r := range s.Rows {
				p.sweepLine(r.Rate, rate, r.Loss[from:to], widths[from:to])
			}
			from = to
		}
	}
}

func (p *printer) sweepLine(head string, rate int, cells []string, widths []int) {
	line := gap + say.Pad(head, rate)
	for i, c := range cells {
		line += gap + say.Pad(say.CutMiddle(c, widths[i]), widths[i])
	}
	p.wide(line)
}

// rates says how sure modes are of the rates that searches found.
func (p *printer) rates(w workload) {
	lines := w.rateLines()
	if len(lines) == 0 {
		return
	}
	p.blank()
	p.wrap(gap, "Steps at the rates found that lost more than the goal allows:")
	for _, l := range lines {
		p.wrap(gap+gap, l)
	}
}

// course says what the run decided about itself.
func (p *printer) course(v view) {
	for i, text := range v.Course {
		if i == 0 {
			p.blank()
			p.buf.WriteString("How the run went\n")
		}
		p.wrap("  - ", text)
	}
}
