package view

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/report/wording"
	"tare/internal/result"
)

// notes are what must be read with a row's figure: that its trials fall into two
// bands, in how many of them anything was lost.
func (r row) notes(s wording.Scale) []string {
	if r.Cell == nil || unmeasured(r.Mode) {
		return nil
	}
	var out []string
	if b := r.Cell.Bands; b != nil {
		out = append(out, fmt.Sprintf("two bands: %s near %s, %d near %s; the mean lies between them and stands for neither",
			wording.Count(b.Low.N, "trial", "trials"), s.Number(b.Low.Value), b.High.N, s.Number(b.High.Value)))
	}
	if l := r.Cell.Lossy; l != nil {
		out = append(out, wording.Lossy(l.Lossy, l.Trials, "trials"))
	}
	return out
}

// doubt says why nothing but "cannot tell" is said of a row where the figures are not
// the reason; empty where they are.
func (r row) doubt() string {
	switch c := r.Cell; {
	case c == nil || c.Verdict != result.CannotTell:
		return ""
	case r.Noisy:
		return "cannot tell, because the run is noisy" + andRange(*c)
	case r.Zero && c.Ratio == nil:
		return "cannot tell: with a 0 there is no ratio"
	case r.Bounded && !c.AtLeast:
		return "cannot tell: the figure of " + c.Baseline + " is only a lower bound"
	}
	return ""
}

func andRange(c result.Cell) string {
	if r := wording.Range(c); r != "" {
		return ": " + r
	}
	return ""
}

// control words the row of the A/A control, whose difference is noise; beside says
// that its ratio stands next to it.
func (r row) control(beside bool) string {
	c := *r.Cell
	head := "A/A control"
	if !beside && c.Ratio != nil {
		head += ": " + wording.Ratio(c.Ratio, c.RatioCI)
	}
	if r.strange() {
		return head + ": comes out " + wording.Word(c.Verdict) + ", though it is " + c.Baseline + " once more: believe no difference of this size"
	}
	head += ": " + c.Baseline + " against itself"
	if floor, ok := noise(c); ok && !c.AtLeast && !r.Bounded {
		return head + "; differences below " + floor + " are noise here"
	}
	return head + "; how large the noise is here is not known"
}

// strange says that a control is told apart from what it is a copy of.
func (r row) strange() bool {
	return r.Mode.Control && r.Cell != nil && (r.Cell.Verdict == result.Worse || r.Cell.Verdict == result.Better)
}

// leastNoise is the smallest noise that is told of.
const leastNoise = 0.001

// noise is the largest difference from 1 that a control's interval holds.
func noise(c result.Cell) (string, bool) {
	if c.RatioCI == nil {
		return "", false
	}
	d := max(1-c.RatioCI[0], c.RatioCI[1]-1)
	if math.IsNaN(d) || math.IsInf(d, 0) || d < 0 {
		return "", false
	}
	return change(max(d, leastNoise)), true
}

// withNotes are the remarks on the metrics that stand beside the primary one, the
// modes with the same one together. Bands are only named: the long reports have them.
func withNotes(tables []table) []string {
	var out, banded []string
	for _, t := range tables {
		var texts []string
		modes := map[string][]string{}
		var split []string
		for _, r := range t.rows() {
			if r.Cell == nil || unmeasured(r.Mode) {
				continue
			}
			if r.Cell.Bands != nil {
				split = append(split, r.Mode.ID)
			}
			if l := r.Cell.Lossy; l != nil {
				text := wording.Lossy(l.Lossy, l.Trials, "trials")
				if !slices.Contains(texts, text) {
					texts = append(texts, text)
				}
				modes[text] = append(modes[text], r.Mode.ID)
			}
		}
		for _, text := range texts {
			out = append(out, strings.Join(modes[text], ", ")+": "+text)
		}
		if len(split) > 0 {
			banded = append(banded, t.Metric.Name+" ("+strings.Join(split, ", ")+")")
		}
	}
	if len(banded) > 0 {
		out = append(out, "Trials in two bands, whose mean stands for neither: "+strings.Join(banded, "; "))
	}
	return out
}
