package report

import (
	"fmt"
	"html/template"
	"time"

	"tare/internal/report/chart"
)

// htmlShown is a chart of a page with the table behind it.
type htmlShown struct {
	Drawing template.HTML
	Caption string
	Keys    []htmlLine
	Behind  *behind
}

// htmlLine is a key of lines.
type htmlLine struct {
	Key, Group int
	Name       string
}

// draw is a chart with the table behind it, nil where the table is elsewhere.
func (s shown) draw(id, workload string, of *behind) htmlShown {
	f := chart.Figure{Title: workload + ": " + s.Plane.Title, Desc: s.Desc, Planes: []chart.Plane{s.Plane}}
	// The chart escapes all text that it is given.
	h := htmlShown{Drawing: template.HTML(f.Inline(id)), Caption: s.Caption, Behind: of}
	for i, name := range s.Keys {
		l := htmlLine{Key: i, Name: name}
		if lanes := s.Plane.Lanes; len(lanes) == 1 && i < len(lanes[0].Lines) {
			l.Group = lanes[0].Lines[i].Group
		}
		h.Keys = append(h.Keys, l)
	}
	return h
}

// mostTimes is how many times of a window the table behind a series has.
const mostTimes = 12

// htmlCharts are what a workload has beside its figures: when its trials ran, what went
// on within them, its percentiles and its loss over load.
func (w workload) htmlCharts(anchor string, begin time.Time) []htmlShown {
	var out []htmlShown
	id := func() string { return fmt.Sprintf("%s-g%d", anchor, len(out)+1) }
	if len(w.Tables) > 0 {
		main := w.Tables[0]
		if s, ok := main.strip(begin); ok {
			out = append(out, s.draw(id(), w.ID, nil)) // the table of trials is behind it
		}
		if t, ok := main.timedOf(mostSlots); ok {
			coarse, _ := main.timedOf(mostTimes)
			b := coarse.tableOf()
			out = append(out, t.chart().draw(id(), w.ID, &b))
		}
	}
	for _, c := range w.percentileCurves() {
		b := c.tableOf()
		out = append(out, c.chart().draw(id(), w.ID, &b))
	}
	if s, ok := w.lossCurve(); ok {
		out = append(out, s.draw(id(), w.ID, nil)) // the tables of the search are behind it
	}
	return out
}

// began is when the first trial did; the run's own time where none is known.
func began(v view) time.Time {
	var first time.Time
	for _, t := range v.Trials {
		if !t.Started.IsZero() && (first.IsZero() || t.Started.Before(first)) {
			first = t.Started
		}
	}
	return first
}
