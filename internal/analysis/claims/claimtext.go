package claims

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/study/published"
)

// concluded is a claim with its outcome and why.
func (e *evaluation) concluded(c *claimed) result.Claim {
	out := c.Claim
	for _, p := range c.points {
		if p.Outcome == "" {
			p.Outcome = result.ClaimCannotTell
		}
		if p.reason == "" && (out.N == 0 || p.found.N < out.N) {
			out.N = p.found.N
		}
	}
	with := func(o result.ClaimOutcome) []*claimPoint {
		return slices.DeleteFunc(slices.Clone(c.points), func(p *claimPoint) bool { return p.Outcome != o })
	}
	failed, open := with(result.ClaimDoesNotHold), with(result.ClaimCannotTell)
	switch {
	case len(c.points) == 0:
	case len(failed) > 0:
		out.Outcome, out.Reason = result.ClaimDoesNotHold, e.reasons(c, failed)
	case len(open) > 0:
		out.Reason, out.BlocksNeeded = e.reasons(c, open), neededFor(open)
	default:
		out.Outcome, out.Reason = result.ClaimHolds, e.reasons(c, c.points)
	}
	if len(c.points) == 1 {
		p := c.points[0]
		out.Value, out.CI = p.Value, p.CI
	} else {
		for _, p := range c.points {
			out.Points = append(out.Points, p.ClaimPoint)
		}
	}
	out.Differs = e.differs(c)
	return out
}

// neededFor is the number of further blocks for an outcome: the most of the points if all are
// found as claimed, else the fewest of those that are not. It is nil if it is unknown.
func neededFor(open []*claimPoint) *int {
	var needed *int
	against := slices.ContainsFunc(open, func(p *claimPoint) bool { return !p.inside() && p.needed != nil })
	for _, p := range open {
		switch {
		case against && (p.inside() || p.needed == nil):
		case p.needed == nil:
			return nil
		case needed == nil || (*p.needed > *needed) != against:
			needed = p.needed
		}
	}
	return needed
}

// reasons says why the points have their common outcome.
func (e *evaluation) reasons(c *claimed, points []*claimPoint) string {
	first := e.reason(c, points[0])
	if len(c.points) == 1 {
		return first
	}
	if points[0].Outcome == result.ClaimHolds {
		points = slices.DeleteFunc(slices.Clone(points), func(p *claimPoint) bool { return p.zeros != "" })
		if len(points) == 0 {
			return fmt.Sprintf("all %d parts are as claimed: all values are 0", len(c.points))
		}
		return fmt.Sprintf("all %d parts are as claimed, %s", len(c.points), e.corrected(points))
	}
	alike := !slices.ContainsFunc(points, func(p *claimPoint) bool { return p.reason == "" || p.reason != points[0].reason })
	if alike && len(points) == len(c.points) {
		return first
	}
	text := points[0].Label + ": " + first
	if points[0].kind == published.HoldsOrder {
		text = first
	}
	if more := len(points) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more of %d parts", more, len(c.points))
	}
	return text
}

// reason says why one point has its outcome.
func (e *evaluation) reason(c *claimed, p *claimPoint) string {
	if p.reason != "" {
		return p.reason
	}
	if p.bounded {
		return "the generator limits a value, which is only a lower bound"
	}
	if p.zeros != "" {
		return p.zeros
	}
	what, is := "the ratio", p.text
	switch {
	case p.kind == published.HoldsOrder:
		what, is, _ = strings.Cut(p.text, " ")
	case len(c.Of) == 1:
		what = "the value"
	case p.Value == nil:
		what, is = "the difference", strings.ReplaceAll(is, " than 1", " than 0")
	}
	switch p.Outcome {
	case result.ClaimHolds:
		return fmt.Sprintf("%s is %s, %s", what, is, e.corrected([]*claimPoint{p}))
	case result.ClaimDoesNotHold:
		return fmt.Sprintf("%s is not %s, %s", what, is, e.corrected([]*claimPoint{p}))
	}
	margin := verdict.Percent(e.Rule.Margin)
	logs := p.Value != nil && len(c.Of) > 1
	switch {
	case logs && p.kind == published.HoldsSame && p.found.P() < 0.05:
		return "a difference is shown, but not whether it exceeds the margin of " + margin
	case logs && p.kind != published.HoldsSame && p.kind != published.HoldsWithin && p.found.Equivalent(e.Rule.Margin):
		return "no difference is shown, and the two are the same within the margin of " + margin
	case p.kind == published.HoldsOrder:
		return fmt.Sprintf("neither %s nor the opposite is shown", p.text)
	}
	return fmt.Sprintf("it is not shown whether %s is %s", what, is)
}

// corrected is the largest p of points, and of how many tests it is one.
func (e *evaluation) corrected(points []*claimPoint) string {
	most := 0.0
	for _, p := range points {
		most = max(most, p.p)
	}
	text := fmt.Sprintf("p = %.2g", most)
	if most < 0.001 {
		text = "p < 0.001"
	}
	if e.tests > 1 {
		text += fmt.Sprintf(" corrected for %d tests", e.tests)
	}
	return text
}

// differs lists reasons why the published value and ours may differ: that of the study, then
// what the run shows.
func (e *evaluation) differs(c *claimed) []string {
	var out []string
	add := func(text string) {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, of := range e.study.Claims {
		if of.ID == c.ID {
			add(of.Differs)
		}
	}
	if len(c.sides) == 0 {
		return out
	}
	var terms []result.Side
	for i := range c.sides {
		for _, t := range c.sides[i].Terms() {
			terms = append(terms, *t)
		}
	}
	for _, l := range e.run.LinkLimited {
		if slices.ContainsFunc(terms, func(t result.Side) bool { return t.Workload == l.Workload }) {
			add(fmt.Sprintf("the link of %s limited every mode in %s, which hides a difference", verdict.Rounded(l.Link, "bit/s"), l.Workload))
		}
	}
	for _, t := range terms {
		if t.AtLeast {
			add(fmt.Sprintf("the generator limited %s in %s: the value is a lower bound", t.Mode, t.Workload))
		}
	}
	add(e.kernels(c))
	if e.Rule.Indicative {
		add("the profile is quick, so that values are indicative")
	}
	return out
}

// kernels tells the kernels of the hosts beside the year of the claim, empty if neither is known.
func (e *evaluation) kernels(c *claimed) string {
	var all []string
	for _, h := range e.run.Hosts {
		for _, f := range h.Facts {
			if f.Name == "kernel" && f.Value != "" && !slices.Contains(all, f.Value) {
				all = append(all, f.Value)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	text := "kernel " + strings.Join(all, " and ") + " here"
	if year := regexp.MustCompile(`\b(19|20)[0-9]{2}\b`).FindString(c.Source); year != "" {
		text += "; the claim is of " + year
	}
	return text
}
