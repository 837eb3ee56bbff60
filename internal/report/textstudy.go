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
		p.beside(line(say.CutMiddle(r.Scenario.ID, id), cells[i]), r.row)
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
				p.wrap(gap+gap, noun(l.Known)+" "+l.figures()+" in "+l.blocks()+"; "+l.verdict())
			case !l.Known.Detail && l.Ratio != nil:
				brief = append(brief, l.Known.Name+" "+say.BareRatio(*l.Ratio)+" "+say.Word(l.Verdict))
			}
		}
		if len(brief) > 0 {
			p.wrap(gap+gap, strings.Join(brief, "; "))
		}
	}
}
