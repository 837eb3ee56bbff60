package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// rateShare is the reliability of the rate that a search found for one goal: how many of the
// steps at that rate lost more than the goal allows.
type rateShare struct {
	Mode, Goal string
	Text       string
}

// curve is the loss of one mode over the loads that its searches offered.
type curve struct {
	Mode, Unit string
	Searches   int
	Points     []curvePoint
}

// curvePoint is one load.
type curvePoint struct {
	Load          string // payload, in the curve's unit
	Steps         int
	Seconds       string
	Median, Worst string // loss of the steps but those that were limited
	Lossy         int
	Limited       int // steps in which the sender did not reach the load
}

// searchLegend explains the lossy steps of searches.
const searchLegend = "A trial is a whole search, and a step is one load of it. A lossy step lost more than the goal allows. At the rate found, the " +
	"median step meets the goal, and in a strict search every step does."

// searchResults are the rates of the searches of a workload and the loss over load, by mode.
type searchResults struct {
	Rates  []rateShare
	Curves []curve
}

func foundIn(w model.Workload, modes []result.Mode) searchResults {
	var f searchResults
	for _, m := range modes {
		if !model.Unmeasured(m) {
			f.add(m.ID, w.Trials[m.ID])
		}
	}
	return f
}

// add adds the results of a mode's searches.
func (f *searchResults) add(mode string, trials []*result.Trial) {
	var goals []result.SearchGoal // by metric, with the steps of all searches counted together
	c := curve{Mode: mode}
	var steps []result.Step
	payload := 0
	for _, t := range trials {
		if t.Search == nil || t.Status != result.TrialOK {
			continue
		}
		for _, g := range t.Search.Goals {
			if g.Throughput == nil {
				continue
			}
			i := slices.IndexFunc(goals, func(o result.SearchGoal) bool { return o.Metric == g.Metric })
			if i < 0 {
				goals = append(goals, g)
				continue
			}
			goals[i].Lossy, goals[i].Trials = goals[i].Lossy+g.Lossy, goals[i].Trials+g.Trials
		}
		c.Searches++
		payload = t.Search.Payload
		steps = append(steps, t.Steps...)
	}
	for _, g := range goals {
		if g.Trials > 0 {
			f.Rates = append(f.Rates, rateShare{mode, goalText(g), wording.Lossy(g.Lossy, g.Trials, "steps")})
		}
	}
	if len(steps) > 0 && payload > 0 {
		c.points(steps, 8*float64(payload))
		f.Curves = append(f.Curves, c)
	}
}

// goalText is a loss goal: "without loss, median step".
func goalText(g result.SearchGoal) string {
	text := "at " + wording.Plain(100*g.LossGoal) + " % loss"
	if g.LossGoal == 0 {
		text = "without loss"
	}
	switch g.ExceedRatio {
	case 0:
		return text + ", strict"
	case 0.5:
		return text + ", median step"
	}
	return text + ", at most " + wording.Percent(g.ExceedRatio) + " of the steps' time lossier"
}

// points gathers steps by their load, from the lowest on. Loads with the same text are merged;
// bits are the size of a datagram.
func (c *curve) points(steps []result.Step, bits float64) {
	var loads []float64
	for _, s := range steps {
		loads = append(loads, s.Load*bits)
	}
	scale := wording.ScaleFor("bit/s", loads...)
	c.Unit = scale.Unit
	sorted := slices.Clone(steps)
	slices.SortStableFunc(sorted, func(a, b result.Step) int { return cmp.Compare(a.Load, b.Load) })
	for len(sorted) > 0 {
		p := curvePoint{Load: scale.Number(sorted[0].Load * bits)}
		var losses []float64
		sum := 0.0
		for len(sorted) > 0 && scale.Number(sorted[0].Load*bits) == p.Load {
			s := sorted[0]
			sorted = sorted[1:]
			p.Steps++
			sum += s.Duration
			if s.Limited {
				p.Limited++ // and does not describe the path
				continue
			}
			if s.LossRatio > 0 {
				p.Lossy++
			}
			losses = append(losses, s.LossRatio)
		}
		p.Seconds, p.Median, p.Worst = piece.Seconds(sum), wording.Unknown, wording.Unknown
		if len(losses) > 0 {
			slices.Sort(losses)
			p.Median, p.Worst = piece.Loss(piece.Median(losses)), piece.Loss(losses[len(losses)-1])
		}
		c.Points = append(c.Points, p)
	}
}

// Caption describes a curve.
func (c curve) Caption() string {
	return c.Mode + ": loss over load, " + wording.Count(c.Searches, "search", "searches")
}

// rateLines are the shares of lossy steps for a terminal: one line for each goal, modes
// grouped.
func (f searchResults) rateLines() []string {
	var out, goals []string
	for _, r := range f.Rates {
		if !slices.Contains(goals, r.Goal) {
			goals = append(goals, r.Goal)
		}
	}
	for _, goal := range goals {
		var texts, parts []string
		modes := map[string][]string{}
		for _, r := range f.Rates {
			if r.Goal != goal {
				continue
			}
			if !slices.Contains(texts, r.Text) {
				texts = append(texts, r.Text)
			}
			modes[r.Text] = append(modes[r.Text], r.Mode)
		}
		for _, text := range texts {
			parts = append(parts, strings.Join(modes[text], ", ")+" "+text)
		}
		out = append(out, goal+": "+strings.Join(parts, "; "))
	}
	return out
}

// searches describe how reliable the rates found are, with the loss of the steps over the
// loads.
func searches(b *model.Builder, w model.Workload, id string) []doc.Block {
	var out []doc.Block
	f := foundIn(w, b.Modes)
	if len(f.Rates) > 0 {
		t := doc.Table{Kind: doc.Rates, By: id + "-rates", Columns: []doc.Column{{Head: "Mode", Row: true, Names: true}, {Head: "Goal"}, {Head: "Steps at the rate found"}}, Groups: make([]doc.Group, 1)}
		for _, r := range f.Rates {
			t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: r.Mode}, {Text: r.Goal}, {Text: r.Text, Tight: true}}})
		}
		legend := doc.Paragraph{Role: doc.Legend, Text: searchLegend}
		out = append(out, piece.ForHTML(doc.Section{ID: t.By, Look: doc.Metric, Head: doc.Heading{Text: "Reliability of the rates"}, Blocks: []doc.Block{legend, t}}))
		s := doc.Section{Head: doc.Heading{Text: "Steps at the rates found that lost more than the goal allows:", Depth: 1}}
		for _, text := range f.rateLines() {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: text, Depth: 2})
		}
		if len(s.Blocks) > 0 {
			out = append(out, piece.ForTerminal(s))
		}
	}
	for _, c := range f.Curves {
		out = append(out, piece.ForHTML(doc.Details{Name: c.Caption(), Blocks: []doc.Block{c.table()}}))
	}
	return out
}

func (c curve) table() doc.Table {
	t := doc.Table{Kind: doc.Steps, Label: c.Caption(), Groups: make([]doc.Group, 1), Columns: []doc.Column{
		{Head: "Load, " + c.Unit, Row: true, Number: true}, {Head: "Median loss", Number: true}, {Head: "Most", Number: true}, {Head: "Lossy", Number: true},
		{Head: "Steps", Number: true}, {Head: "Time", Number: true},
		{Head: "Sender short", Title: "Steps in which the sender did not reach the load, which do not describe the path", Number: true},
	}}
	for _, o := range c.Points {
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: o.Load}, {Text: o.Median}, {Text: o.Worst},
			{Text: fmt.Sprint(o.Lossy)}, {Text: fmt.Sprint(o.Steps)}, {Text: o.Seconds}, {Text: fmt.Sprint(o.Limited)}}})
	}
	return t
}
