package plain

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/wording"
)

func planned(e live.Planned) []string {
	estimate := "unknown duration"
	if e.Estimate > 0 {
		estimate = "about " + wording.Duration(e.Estimate)
	}
	trials, blocks := wording.Count(e.Trials, "trial", "trials"), wording.Count(e.Blocks, "block", "blocks")
	if e.MinBlocks > 0 && e.MinBlocks < e.Blocks {
		// It ends when the stopping rule allows it.
		trials, blocks = "up to "+trials, fmt.Sprintf("%d to %s", e.MinBlocks, blocks)
		if e.Estimate > 0 && e.MinTime > 0 {
			estimate = fmt.Sprintf("about %s to %s", wording.Duration(e.MinTime), wording.Duration(e.Estimate))
		}
	}
	first := fmt.Sprintf("run %s: %s, %s in %s, profile %s, %s", orUnknown(e.RunID),
		wording.Count(len(e.Modes), "mode", "modes"), trials, blocks, orUnknown(e.Profile), estimate)
	out := []string{first}
	if len(e.Modes) > 0 {
		out = append(out, "modes: "+strings.Join(e.Modes, ", "))
	}
	if e.Dir != "" {
		out = append(out, "results: "+e.Dir)
	}
	return out
}

func settled(e live.ModeSettled) string {
	took := ""
	if e.Took > 0 {
		took = " (" + wording.Duration(e.Took) + ")"
	}
	if e.Status == result.ModeMeasured {
		return "ready: " + e.Mode + took
	}
	reason := e.Reason
	if reason == "" {
		reason = "no reason given"
	}
	return string(e.Status) + ": " + e.Mode + ": " + reason + took
}

// progress is a short text with the most important part first, because it may be cut.
func progress(e live.TrialStarted) string {
	s := fmt.Sprintf("%s  trial %d/%d  %s %s", place(e.Block, e.Blocks), e.Done+1, e.Total, turns(e.Modes), e.Workload)
	if e.Attempt > 1 {
		s += fmt.Sprintf(" (attempt %d)", e.Attempt)
	}
	if e.Remaining > 0 {
		s += "  about " + wording.Duration(e.Remaining) + " left"
	}
	return s
}

// place is the position of a trial in the run: its block, with the number of blocks if
// known, or the pilots.
func place(block, blocks int) string {
	switch {
	case block == 0:
		return "pilot"
	case blocks == 0:
		return fmt.Sprintf("block %d", block)
	}
	return fmt.Sprintf("block %d/%d", block, blocks)
}

// turns lists the modes that run now.
func turns(modes []string) string {
	if len(modes) == 1 {
		return modes[0]
	}
	return wording.Count(len(modes), "mode", "modes") + " in turn,"
}

// ended describes a trial. Only a valid trial is shown with its value.
func (l *Listener) ended(t result.Trial) string {
	s := place(t.Block, 0)
	if c := l.current; c.Total > 0 && slices.Contains(c.Modes, t.Mode) && c.Workload == t.Workload {
		s = fmt.Sprintf("%s  trial %d/%d", place(t.Block, c.Blocks), c.Done+1, c.Total)
	}
	s += "  " + t.Mode + " " + t.Workload
	if t.Attempt > 1 {
		s += fmt.Sprintf(" (attempt %d)", t.Attempt)
	}
	if t.Status == result.TrialOK {
		return s + "  " + figure(t)
	}
	reason := t.Reason
	if reason == "" {
		reason = "no reason given"
	}
	return s + "  " + string(t.Status) + ": " + reason
}

// figure is the value of a trial's primary metric, or else of its first.
func figure(t result.Trial) string {
	known := result.MetricsOf([]result.Trial{t})
	slices.SortStableFunc(known, func(a, b result.Metric) int {
		switch {
		case a.Primary == b.Primary:
			return 0
		case a.Primary:
			return -1
		}
		return 1
	})
	for _, m := range known {
		if v, ok := t.Metrics[m.Name]; ok {
			return m.Name + " " + wording.Value(v, m.Unit)
		}
	}
	return "ok"
}

// provisional is one line with the ratios so far, in the primary metrics, empty if there
// are none. It has no verdicts and no intervals, because these hold for one
// look, at the end.
func provisional(e live.Provisional) string {
	var ratios []string
	for _, c := range e.Cells {
		if m, ok := result.MetricNamed(c.Metric); ok && m.Primary && c.Ratio != nil {
			ratios = append(ratios, fmt.Sprintf("%s %s %s", c.Mode, c.Workload, wording.Ratio(c.Ratio, nil)))
		}
	}
	if len(ratios) == 0 {
		return ""
	}
	return fmt.Sprintf("provisional, after %s, without intervals and verdicts (ratios to the baseline): %s", wording.Count(e.Blocks, "block", "blocks"), strings.Join(ratios, ", "))
}

func recreated(e live.Recreated) string {
	return fmt.Sprintf("recreated for block %d: %s (%s)", e.Block, strings.Join(e.Modes, ", "), wording.Duration(e.Took))
}

func warned(w result.Warning) string {
	text := w.Text
	if text == "" {
		text = w.Code
	}
	if w.Scope != "" && w.Scope != "run" {
		text = w.Scope + ": " + text
	}
	return "warning: " + text
}

func ended(e live.Ended) string {
	s := "run " + orUnknown(string(e.Status))
	if e.Dir != "" {
		s += ": " + e.Dir
	}
	return s
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
