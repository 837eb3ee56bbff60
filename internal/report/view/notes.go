package view

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/wording"
)

// notes are the remarks on a row's value: two bands of trials, the number of lossy trials.
func (r row) notes(s wording.Scale) []string {
	if r.Cell == nil || unmeasured(r.Mode) {
		return nil
	}
	var out []string
	if b := r.Cell.Bands; b != nil {
		out = append(out, fmt.Sprintf("two bands: %s near %s, %d near %s; the mean is between them and describes neither",
			wording.Count(b.Low.N, "trial", "trials"), s.Number(b.Low.Value), b.High.N, s.Number(b.High.Value)))
	}
	if l := r.Cell.Lossy; l != nil {
		out = append(out, wording.Lossy(l.Lossy, l.Trials, "trials"))
	}
	return out
}

// doubt returns why a row's verdict is "cannot tell" where the interval is not the reason;
// empty where it is.
func (r row) doubt() string {
	switch c := r.Cell; {
	case c == nil || c.Verdict != result.CannotTell:
		return ""
	case r.Noisy:
		return "cannot tell: too noisy" + andRange(*c)
	case r.Zero && c.Ratio == nil:
		return "cannot tell: a 0 has no ratio"
	case r.Bounded && !c.AtLeast:
		return "cannot tell: the value of " + c.Baseline + " is only a lower bound"
	}
	return ""
}

func andRange(c result.Cell) string {
	if r := wording.Range(c); r != "" {
		return ": " + r
	}
	return ""
}

// control describes the row of the A/A control, whose difference is noise; beside is set where
// the ratio is shown next to it.
func (r row) control(beside bool) string {
	c := *r.Cell
	head := "A/A control"
	if !beside && c.Ratio != nil {
		head += ": " + wording.Ratio(c.Ratio, c.RatioCI)
	}
	if r.strange() {
		return head + ": is " + wording.Word(c.Verdict) + ", although it is " + c.Baseline + " measured twice: do not rely on differences of this size"
	}
	head += ": " + c.Baseline + " against itself"
	if floor, ok := noise(c); ok && !c.AtLeast && !r.Bounded {
		return head + "; differences below " + floor + " are noise here"
	}
	return head + "; the size of the noise is unknown"
}

// strange reports whether a control differs from the mode that it copies.
func (r row) strange() bool {
	return r.Mode.Control && r.Cell != nil && (r.Cell.Verdict == result.Worse || r.Cell.Verdict == result.Better)
}

// leastNoise is the smallest noise that is reported.
const leastNoise = 0.001

// noise is the largest difference from 1 within a control's interval.
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

// withNotes are the remarks on the secondary metrics, grouped by text. Bands are only named;
// the full reports describe them.
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
		out = append(out, "Trials in two bands, whose mean describes neither: "+strings.Join(banded, "; "))
	}
	return out
}
