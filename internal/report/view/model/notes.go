package model

import (
	"fmt"
	"math"

	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Notes are the remarks on a row's value: two bands of trials, the number of lossy trials.
func (r Row) Notes(s wording.Scale) []string {
	if r.Cell == nil || Unmeasured(r.Mode) {
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
func (r Row) doubt() string {
	switch c := r.Cell; {
	case c == nil || c.Verdict != result.CannotTell:
		return ""
	case r.Noisy:
		return "cannot tell: too noisy" + piece.AndRange(*c)
	case r.Zero && c.Ratio == nil:
		return "cannot tell: a 0 has no ratio"
	case r.Bounded && !c.AtLeast:
		return "cannot tell: the value of " + c.Baseline + " is only a lower bound"
	}
	return ""
}

// control describes the row of the A/A control, whose difference is noise; beside is set where
// the ratio is shown next to it.
func (r Row) control(beside bool) string {
	c := *r.Cell
	head := "A/A control"
	if !beside && c.Ratio != nil {
		head += ": " + wording.Ratio(c.Ratio, c.RatioCI)
	}
	if r.Strange() {
		return head + ": is " + wording.Word(c.Verdict) + ", although it is " + c.Baseline + " measured twice: do not rely on differences of this size"
	}
	head += ": " + c.Baseline + " against itself"
	if floor, ok := noise(c); ok && !c.AtLeast && !r.Bounded {
		return head + "; differences below " + floor + " are noise here"
	}
	return head + "; the size of the noise is unknown"
}

// Strange reports whether a control differs from the mode that it copies.
func (r Row) Strange() bool {
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
	return piece.Change(max(d, leastNoise)), true
}
