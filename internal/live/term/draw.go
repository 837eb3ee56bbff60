package term

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/result"
	"tare/internal/wording"
)

// frame is the area to draw in.
type frame struct {
	width, height int
	ascii         bool
	now           time.Time
}

const gap = 2 // columns between columns

// draw returns the whole drawing, no larger than the frame. If space is short, it first
// removes the empty lines, then warnings, then the rates of interleaved modes, then
// modes.
func (s *state) draw(f frame) []line {
	head := []line{s.head(f), s.bar(f)}
	matrix, now, warnings := s.matrix(f, 1<<10), s.now(f), s.messages()
	room := f.height - len(head)
	if room < 4 {
		return fit(head, f)
	}
	spaced := slices.DeleteFunc([][]line{matrix, now, warnings}, func(part []line) bool { return len(part) == 0 })
	if len(matrix)+len(now)+len(warnings)+len(spaced) <= room {
		for _, part := range spaced {
			head = append(append(head, line{}), part...)
		}
		return fit(head, f)
	}
	least := func(part []line, n int) int { return min(len(part), n) }
	rows := min(len(matrix), room-least(now, 2)-least(warnings, 1))
	if rows < len(matrix) {
		matrix = s.matrix(f, rows)
	}
	now = now[:max(0, min(len(now), room-len(matrix)-least(warnings, 1)))]
	if n := max(0, room-len(matrix)-len(now)); n < len(warnings) {
		warnings = warnings[len(warnings)-n:] // the newest
	}
	return fit(slices.Concat(head, matrix, now, warnings), f)
}

// fit cuts whatever is still too wide or too high.
func fit(lines []line, f frame) []line {
	lines = lines[:min(len(lines), max(0, f.height))]
	for i, l := range lines {
		lines[i] = l.cut(f.width)
	}
	return lines
}

// narrow reports whether the frame has space only for a short head.
func (f frame) narrow() bool { return f.width < 60 }

// head shows the position in the run and the remaining time.
func (s *state) head(f frame) line {
	right := s.remaining(f)
	var left line
	for i, piece := range s.pieces(f) {
		before := strings.Repeat(" ", min(i, 1)*gap)
		if left.width()+len(before)+wording.Width(piece)+gap+wording.Width(right) > f.width {
			break
		}
		left = append(left, span{text: before + piece})
	}
	return left.to(f.width-wording.Width(right), span{strong, right})
}

// pieces are the parts of the head that fit, the more important first.
func (s *state) pieces(f frame) []string {
	of := func(what string, n, total int) string {
		switch {
		case total <= 0:
			return fmt.Sprintf("%s %d", what, n)
		case f.narrow():
			return fmt.Sprintf("%s %d/%d", what, min(n, total), total)
		}
		return fmt.Sprintf("%s %d of %d", what, min(n, total), total)
	}
	var out []string
	switch t := s.trial; {
	case s.began.IsZero():
		out = append(out, of("modes", len(s.settled), len(s.modes())))
	case t.Block == 0:
		out = append(out, "pilots", of("trial", s.done+1, t.Total))
	default:
		out = append(out, of("block", t.Block, t.Blocks), of("trial", s.done+1, t.Total))
	}
	if s.plan.Profile != "" {
		out = append(out, s.plan.Profile)
	}
	if s.plan.RunID != "" {
		out = append(out, "run "+s.plan.RunID)
	}
	return out
}

// remaining is the text for the remaining time, which is a maximum for a run that may
// stop early.
func (s *state) remaining(f frame) string {
	left, ok := s.left(f.now)
	about := "about "
	if s.plan.MinBlocks > 0 && s.plan.MinBlocks < s.plan.Blocks {
		about = "at most "
	}
	if f.narrow() {
		about = ""
	}
	switch {
	case !ok:
		return ""
	case left < time.Second:
		return "ending now"
	}
	return about + wording.Duration(left.Truncate(time.Second)) + " left"
}

// bar is the progress bar of the run's trials.
func (s *state) bar(f frame) line {
	full, empty := "━", "─"
	if f.ascii {
		full, empty = "=", "-"
	}
	filled := 0
	if s.trial.Total > 0 {
		filled = min(f.width, f.width*s.done/s.trial.Total)
	}
	return line{{rate, strings.Repeat(full, filled)}, {quiet, strings.Repeat(empty, f.width-filled)}}
}

// now shows the running trial, with the rate of each of its modes.
func (s *state) now(f frame) []line {
	t := s.trial
	if s.began.IsZero() {
		return nil
	}
	title := "now: " + t.Workload
	if len(t.Modes) > 1 {
		title += fmt.Sprintf(", %d interleaved modes", len(t.Modes))
	}
	if t.Attempt > 1 {
		title += fmt.Sprintf(" (attempt %d)", t.Attempt)
	}
	out := []line{words(strong, title)}
	const least = 38 // columns for a mode
	across := max(1, min(len(t.Modes), (f.width+gap)/(least+gap)))
	each := (f.width+gap)/across - gap
	for i := 0; i < len(t.Modes); i += across {
		var l line
		for j, mode := range t.Modes[i:min(i+across, len(t.Modes))] {
			l = l.to(j*(each+gap), s.pulse(f, mode, each)...)
		}
		out = append(out, l)
	}
	return out
}

// pulse shows one mode's rate: its name, its history as a sparkline, and the current
// value.
func (s *state) pulse(f frame, mode string, width int) []span {
	const value, indent, least, most = 12, 2, 6, 20
	names := 0
	for _, m := range s.trial.Modes {
		names = max(names, wording.Width(m))
	}
	room := width - indent - gap - 1 - value
	names = max(4, min(names, room-least))
	bars := min(max(least, room-names), most)
	out := []span{{text: strings.Repeat(" ", indent) + wording.Pad(wording.CutMiddle(mode, names), names+gap)}}
	p := s.rates[mode]
	if len(p.rates) == 0 {
		return append(out, span{quiet, "no rate yet"})
	}
	last := p.rates[len(p.rates)-1]
	return append(out, span{rate, sparkline(p.rates, bars, f.ascii)}, span{text: " " + wording.Value(last, p.unit)})
}

// messages shows the latest decision of the run and its warnings.
func (s *state) messages() []line {
	const most = 3
	var out []line
	if s.decision != "" {
		out = append(out, words(quiet, s.decision))
	}
	n := min(most, len(s.warnings))
	if more := s.warned - n; more > 0 {
		out = append(out, words(quiet, wording.Count(more, "earlier warning", "earlier warnings")))
	}
	for _, w := range s.warnings[len(s.warnings)-n:] {
		out = append(out, line{{warning, "warning:"}, {text: " " + w}})
	}
	return out
}

// nameWidth is the width of the column of mode names.
func (s *state) nameWidth(f frame) int {
	longest := 12 // width of the column's title
	for _, m := range s.modes() {
		longest = max(longest, wording.Width(m))
	}
	return min(longest, max(12, f.width/4+4))
}

// settledAs is the status of a mode that is not measured.
func settledAs(status result.ModeStatus, reason string) line {
	if reason == "" {
		reason = "no reason given"
	}
	return line{{bad, name(string(status)) + ":"}, {text: " " + reason}}
}
