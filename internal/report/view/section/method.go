package section

import (
	"fmt"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// about lists what identifies a run, for the full reports.
func about(v model.View) []result.Fact {
	r := v.Run
	if r.Source != "" {
		return []result.Fact{
			{Name: "numbers of", Value: r.Source},
			{Name: "compared", Value: model.Paired(r)},
			{Name: "judged by", Value: "tare " + model.Version(r)},
			{Name: "values", Value: v.TrialCounts.String()},
		}
	}
	finished := "unknown"
	if !r.Finished.IsZero() {
		finished = wording.Time(r.Finished)
		if d := model.Took(r); d != "" {
			finished += ", after " + d
		}
	}
	return []result.Fact{
		{Name: "run", Value: piece.OrUnknown(r.ID)},
		{Name: "status", Value: piece.OrUnknown(string(r.Status))},
		{Name: "started", Value: wording.Time(r.Started)},
		{Name: "finished", Value: finished},
		{Name: "profile", Value: piece.OrUnknown(r.Profile)},
		{Name: "seed", Value: model.Seed(r)},
		{Name: "tare", Value: model.Version(r)},
		{Name: "trials", Value: v.TrialCounts.String()},
	}
}

// methodText explains the statistics in short.
func methodText(v model.View) []string {
	if v.Run.Source != "" {
		return nil
	}
	text := "A trial gives one number. A block runs every mode once, with the baseline, in a random order given by the seed. " +
		"A ratio is the geometric mean, over the blocks, of a mode's trial to its baseline's, with the 95 % interval that Student's t gives the paired logarithms. "
	if m := marginOf(v); m > 0 {
		text += fmt.Sprintf("Modes are the same where two one-sided tests show the ratio to be within %s; ", wording.Percent(m))
	} else {
		text += "Modes are the same where two one-sided tests show the ratio to be within the margin; "
	}
	return []string{text + "probabilities are adjusted over the modes by Holm's method. A ratio that shows neither is \"cannot tell\"; the number of blocks that would settle it is an estimate."}
}

// ownShares says what the generator itself adds to the exchanges of each workload; empty for a run without.
func ownShares(run result.Run) string {
	var of []string
	for _, o := range run.OwnShares {
		of = append(of, o.Workload+" "+model.OwnShare(o))
	}
	if of == nil {
		return ""
	}
	return "The generator's own share: " + strings.Join(of, ", ") + "."
}

// marginOf is the margin of a run's verdicts, 0 where there are none or several.
func marginOf(v model.View) float64 {
	m := 0.0
	for _, c := range v.Run.Cells {
		switch {
		case c.Margin <= 0:
		case m == 0:
			m = c.Margin
		case m != c.Margin:
			return 0
		}
	}
	return m
}

// Method explains the statistics.
func Method(b *model.Builder) []doc.Block {
	var blocks []doc.Block
	for _, text := range methodText(b.View) {
		blocks = append(blocks, doc.Paragraph{Text: text, Tight: true})
	}
	if text := ownShares(b.Run); text != "" {
		blocks = append(blocks, doc.Paragraph{Text: text, Tight: true})
	}
	t := piece.FactTable(about(b.View))
	t.By, t.Caption = "method", "This run"
	return []doc.Block{doc.Section{ID: "method", Head: doc.Heading{Text: "Method and seed"}, Nav: "Method", Fold: true, Blocks: append(append(blocks, t), Decisions(b)...)}}
}

// runDecisions describes the run's decisions, a sentence each: when it stopped and why, what
// its pilot trials showed, and how long its trials were. Empty where nothing is recorded.
func runDecisions(run result.Run) []string {
	var out []string
	if run.Stopping != nil {
		out = append(out, stopping(*run.Stopping))
		if open := stillOpen(*run.Stopping); open != "" {
			out = append(out, open)
		}
	}
	if c := run.Congestion; c != nil {
		out = append(out, fmt.Sprintf("Congestion control of all modes: %s (%s).", c.Name, wording.Cut(c.Reason, piece.LongReason)))
	}
	for _, p := range run.Paces {
		out = append(out, paced(p))
	}
	if p := pilots(run.Pilots); p != "" {
		out = append(out, p)
	}
	for _, l := range run.Lengths {
		which := l.Workload
		if l.Mode != "" {
			which = l.Mode + " " + l.Workload + " in one piece"
		}
		text := fmt.Sprintf("%s from block %d on: %s warm-up, %s timed", which, l.FromBlock, piece.Seconds(l.Warmup), piece.Seconds(l.Duration))
		if l.Slice > 0 {
			text += ", in slices of " + wording.Value(l.Slice, "s")
		}
		if l.Reason != "" {
			text += " (" + wording.Cut(l.Reason, piece.LongReason) + ")"
		}
		out = append(out, text+".")
	}
	return out
}

// stopping returns the number of blocks and why there are no more.
func stopping(s result.Stopping) string {
	blocks := wording.Count(s.Blocks, "block", "blocks")
	switch s.Reason {
	case result.StopSettled:
		text := fmt.Sprintf("%s: settled after %d", blocks, s.SettledAt)
		if more := s.Blocks - s.SettledAt; more > 0 {
			text += fmt.Sprintf(", %d more run as planned", more)
		}
		return text + "; every ratio was then " + aim(s) + "."
	case result.StopCap:
		if s.SettledAt > 0 {
			return fmt.Sprintf("%s, the most allowed: settled after %d.", blocks, s.SettledAt)
		}
		return blocks + ", the most allowed: not every ratio is " + aim(s) + "."
	case result.StopTime:
		return fmt.Sprintf("%s of at most %d: one more would have passed the time limit.", blocks, s.MostBlocks)
	case result.StopInterrupted:
		return fmt.Sprintf("%s of at most %d: the run ended early.", blocks, s.MostBlocks)
	case result.StopFixed:
		return blocks + ", as fixed beforehand."
	}
	if s.Text == "" {
		return blocks + ": the reason is not recorded."
	}
	return blocks + ": " + strings.TrimRight(s.Text, ".") + "."
}

// aim is the goal for a ratio.
func aim(s result.Stopping) string {
	if s.Width <= 0 {
		return "settled"
	}
	return "known to within " + wording.Percent(s.Width) + ", or shown to be the same"
}

// stillOpen lists the ratios that missed the goal.
func stillOpen(s result.Stopping) string {
	var parts []string
	for _, u := range s.Unsettled {
		width := "no interval"
		if u.Width != nil {
			width = "known to within " + piece.Change(*u.Width)
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s): %s", u.Mode, u.Workload, u.Metric, width))
	}
	if len(parts) == 0 {
		return ""
	}
	text := "Still open: " + strings.Join(parts, "; ")
	if s.Width > 0 {
		text += "; the aim was " + wording.Percent(s.Width)
	}
	return text + "."
}

// paced describes at which rate a workload is paced.
func paced(p result.Pace) string {
	text := p.Workload + " is " + wording.Pace(p) + "."
	if p.Mode != "" {
		text += " The first trial received " + wording.Value(p.Reached, "bit/s") + "."
	}
	return text
}

// pilots describes the warm-up time of each mode. The resulting trial lengths are listed
// elsewhere.
func pilots(ps []result.Pilot) string {
	var parts []string
	longest, of := -1.0, result.Pilot{}
	for _, p := range ps {
		switch {
		case p.Warmup == nil:
			text := p.Mode + " is unknown"
			if p.Reason != "" {
				text += ": " + wording.Cut(p.Reason, piece.LongReason)
			}
			parts = append(parts, text)
			continue
		case p.Unsettled:
			parts = append(parts, p.Mode+" "+piece.Seconds(*p.Warmup)+", and was not steady after it")
		default:
			parts = append(parts, p.Mode+" "+piece.Seconds(*p.Warmup))
		}
		if *p.Warmup > longest {
			longest, of = *p.Warmup, p
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := "Warm-up in the pilot trials: " + strings.Join(parts, "; ")
	if longest >= 0 && len(ps) > 1 {
		text += fmt.Sprintf(". The longest, that of %s (%s, %s), counts for bulk trials that are not interleaved", of.Mode, of.Workload, piece.Seconds(of.Length))
	}
	return text + "."
}

// Decisions are the run's decisions.
func Decisions(b *model.Builder) []doc.Block {
	l := doc.List{Tight: true, Bullets: true}
	for _, text := range runDecisions(b.Run) {
		l.Items = append(l.Items, doc.Item{Text: text})
	}
	if len(l.Items) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "course", Head: doc.Heading{Text: "Decisions of the run"}, Blocks: []doc.Block{l}}}
}
