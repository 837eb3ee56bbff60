package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/report"
	"tare/internal/report/wording"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
)

type compareFlags struct {
	format  string
	margin  string
	metrics []string
	shown   shownFlags
}

func (f *compareFlags) add(c *cobra.Command) {
	f.shown.add(c)
	c.Flags().StringVar(&f.format, "format", "text", "output format: text, md or json")
	c.Flags().StringVar(&f.margin, "margin", "", "the largest change that counts as the same (default: the margin of the later run's study)")
	c.Flags().StringSliceVar(&f.metrics, "metrics", nil, "metrics to compare, separated by commas (default: all)")
}

func (a App) compareCommand() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use: "compare BEFORE AFTER", Short: "Report what changed from one run to another", Args: exactly(2),
		Long: "Compare two runs of one study: whether the cost of each mode changed, by the noise\n" +
			"of both runs. Parts that are not comparable are refused.\n" +
			"A run is its directory, or its id if it is in $TARE_RUNS or tare-runs.",
		Example: "  tare compare before after\n  tare compare --format md before after >changes.md",
		RunE: func(_ *cobra.Command, args []string) error {
			changes, err := a.changes(args[0], args[1], f)
			if err != nil {
				return err
			}
			return a.printChanges(changes, f, "tare compare --full "+quote(args[0])+" "+quote(args[1]))
		},
	}
	f.add(c)
	return c
}

// changes compares two runs by their names.
func (a App) changes(before, after string, f compareFlags) (result.Changes, error) {
	formats := []string{"text", "md", "json"}
	if !slices.Contains(formats, f.format) {
		return result.Changes{}, usage(fmt.Errorf("--format is %q; allowed: %s", f.format, strings.Join(formats, ", ")))
	}
	for _, name := range f.metrics {
		if _, ok := result.MetricNamed(name); !ok {
			return result.Changes{}, usage(fmt.Errorf("--metrics: unknown metric %q; docs/results.md lists all metrics", name))
		}
	}
	b, err := a.takeRun(before, comparedMemory)
	if err != nil {
		return result.Changes{}, err
	}
	n, err := a.takeRun(after, comparedMemory-b.memory)
	if err != nil {
		return result.Changes{}, err
	}
	margin := n.study.Margin
	if f.margin != "" {
		if margin, err = share(f.margin); err != nil {
			return result.Changes{}, usage(fmt.Errorf("--margin %w", err))
		}
	}
	differences := study.Differences(b.study, n.study)
	out := analysis.Across(b.RunTrials, n.RunTrials, refusals(differences), margin)
	for _, d := range differences {
		if !d.Decides {
			out.Environment = append(out.Environment, result.Difference{Scope: d.Scope, Name: d.Key, Before: d.Before, After: d.After})
		}
	}
	if len(f.metrics) > 0 {
		out.Cells = slices.DeleteFunc(out.Cells, func(c result.Change) bool { return !slices.Contains(f.metrics, c.Metric) })
	}
	return out, nil
}

// takenRun is a run with its study.
type takenRun struct {
	analysis.RunTrials
	study  study.Study
	memory int64 // that its trials take, in bytes
}

// comparedMemory is how many bytes the trials of two runs may take together.
const comparedMemory = 180 << 20

// takeRun reads a run, whose trials may take so many bytes, and its study.
func (a App) takeRun(name string, memory int64) (takenRun, error) {
	dir, err := findRun(name)
	if err != nil {
		return takenRun{}, notReadable(err)
	}
	defer dir.Close()
	dir.LimitMemory(memory)
	run, trials, err := dir.LoadPartial()
	if err != nil {
		return takenRun{}, notReadable(err)
	}
	_, s, err := a.resumed(dir.Path(), false)
	if err != nil {
		return takenRun{}, notReadable(fmt.Errorf("compare %s: cannot read its study: %w", name, err))
	}
	if changed := a.changedStudy(dir); changed != "" {
		return takenRun{}, usage(fmt.Errorf("compare %s: its %s was changed after the run: %s; restore it", name, store.StudyFile, changed))
	}
	a.noteMixed(run, dir.Path())
	if len(run.Cells) == 0 && len(trials) > 0 {
		run = a.judge(run, trials, dir.Path())
	}
	kept := store.DropJudged(run, trials)
	return takenRun{analysis.RunTrials{Run: run, Trials: trials}, s, kept}, nil
}

// refusals are the differences between two studies that forbid a comparison.
func refusals(differences []study.Difference) []result.Refusal {
	var out []result.Refusal
	for _, d := range differences {
		if !d.Decides {
			continue
		}
		value := func(s string) string {
			if s == "" {
				return "not set"
			}
			return s
		}
		r := result.Refusal{Reason: fmt.Sprintf("%s was %s and is %s", d.Key, value(d.Before), value(d.After))}
		if name, ok := strings.CutPrefix(d.Scope, "workload "); ok {
			r.Workload = name
		} else if name, ok := strings.CutPrefix(d.Scope, "mode "); ok {
			r.Mode = name
		} else {
			r.Reason = d.Scope + " " + r.Reason
		}
		out = append(out, r)
	}
	return out
}

func (a App) printChanges(c result.Changes, f compareFlags, full string) error {
	switch f.format {
	case "json":
		enc := json.NewEncoder(raw(a.Stdout))
		enc.SetIndent("", "  ")
		return enc.Encode(c)
	case "md":
		return report.ChangesMarkdown(a.Stdout, c)
	}
	switch {
	case f.shown.quiet:
		for _, w := range c.Warnings { // the table has no place for it
			fmt.Fprintf(a.Stderr, "tare: warning: %s\n", wording.Clean(w.Text))
		}
		return report.ChangesTable(a.colours(), c, a.textOptions())
	case f.shown.full:
		return report.ChangesText(a.colours(), c, a.textOptions())
	}
	return report.ChangesOverview(a.colours(), c, full, a.textOptions())
}

func (a App) checkCommand() *cobra.Command {
	var f compareFlags
	var baseline string
	var failOn []string
	c := &cobra.Command{
		Use: "check --baseline RUN RUN", Short: "Fail if a run shows a regression against an earlier one", Args: exactly(1),
		Long: "Compare a run with an earlier one of the same study, as tare compare does, and exit with\n" +
			"10 if something is worse. The noise of both runs decides, not a fixed percentage. Only the\n" +
			"primary metrics of the workloads and the CPU cost count, unless --metrics lists others. A\n" +
			"baseline's own values do not count, because they change with the machine.\n\n" +
			"--fail-on lists what is a regression:\n" +
			"  worse        a mode costs more than the noise explains; with worse:5% a change that is\n" +
			"               shown to be within 5 % does not count\n" +
			"  lost         a mode was measured before and is not now\n" +
			"  cannot_tell  the runs are too noisy or too short to exclude a regression\n" +
			"  refused      something is not comparable",
		Example: "  tare check --baseline before after\n  tare check --baseline before --fail-on worse:5%,lost,refused after",
		RunE: func(_ *cobra.Command, args []string) error {
			if baseline == "" {
				return usage(errors.New("check: --baseline is missing: name the earlier run to compare with"))
			}
			g, err := gateOf(failOn)
			if err != nil {
				return usage(err)
			}
			if g.margin != "" {
				if f.margin != "" {
					return usage(errors.New("check: --margin and --fail-on worse:SHARE both set the margin; use one"))
				}
				f.margin = g.margin
			}
			changes, err := a.changes(baseline, args[0], f)
			if err != nil {
				return err
			}
			if len(f.metrics) == 0 {
				changes.Cells = slices.DeleteFunc(changes.Cells, func(c result.Change) bool { return !gateChanges(c) })
			}
			if err := a.printChanges(changes, f, "tare check --full --baseline "+quote(baseline)+" "+quote(args[0])); err != nil {
				return err
			}
			passed, err := g.verdict(changes)
			if err == nil && f.format == "text" {
				fmt.Fprintln(a.Stdout, passed)
			}
			return err
		},
	}
	f.add(c)
	c.Flags().StringVar(&baseline, "baseline", "", "the earlier run")
	c.Flags().StringSliceVar(&failOn, "fail-on", []string{"worse", "lost"}, "what is a regression, separated by commas")
	return c
}

// gateChanges reports whether a cell counts for the gate by default.
func gateChanges(c result.Change) bool {
	m, ok := result.MetricNamed(c.Metric)
	return ok && (m.Primary || strings.HasPrefix(m.Name, "cpu_cost"))
}

// gate is what a check fails on.
type gate struct {
	on     []string
	margin string // of worse, as written
}

func gateOf(failOn []string) (gate, error) {
	var g gate
	for _, text := range failOn {
		name, margin, has := strings.Cut(strings.TrimSpace(text), ":")
		if !slices.Contains([]string{"worse", "lost", "cannot_tell", "refused"}, name) || has && name != "worse" {
			return g, fmt.Errorf("--fail-on is %q; allowed: worse, worse:SHARE such as worse:5%%, lost, cannot_tell, refused", text)
		}
		if has {
			if _, err := share(margin); err != nil {
				return g, fmt.Errorf("--fail-on %s: the share %w", text, err)
			}
			g.margin = margin
		}
		g.on = append(g.on, name)
	}
	return g, nil
}

// verdict is how a check ends: the line of one that passed, or the error of a regression
// or of runs of which nothing could be judged. Either says what would settle the changes
// that cannot be told.
func (g gate) verdict(c result.Changes) (passed string, err error) {
	var found []string
	judged, unsure, needed := 0, 0, 0
	for _, cell := range c.Cells {
		if cell.Own || cell.Verdict == "" { // the machine's, or a maximum
			continue
		}
		if cell.Verdict == result.Worse && slices.Contains(g.on, "worse") ||
			cell.Verdict == result.CannotTell && slices.Contains(g.on, "cannot_tell") {
			found = append(found, fmt.Sprintf("%s %s %s is %s", cell.Mode, cell.Workload, cell.Metric, report.ChangeVerdict(cell)))
		}
		if cell.Verdict != result.CannotTell {
			judged++
			continue
		}
		unsure++
		if by, blocks := analysis.Settle(cell.Cell(), false, c.Noisy != ""); by == analysis.SettleBlocks {
			needed = max(needed, blocks)
		}
	}
	open := ""
	if unsure > 0 {
		open = fmt.Sprintf("; %d of %d changes cannot be told", unsure, judged+unsure)
		if needed > 0 {
			open += ", which " + wording.Count(needed, "more block", "more blocks") + " in each run would settle"
		}
	}
	for _, m := range c.Modes {
		if m.Lost() && slices.Contains(g.on, "lost") {
			found = append(found, fmt.Sprintf("%s was measured and is now %s", m.Mode, orMissing(m.After)))
		}
	}
	if len(c.Refused) > 0 && slices.Contains(g.on, "refused") {
		found = append(found, fmt.Sprintf("%d parts of the study are not comparable", len(c.Refused)))
	}
	switch {
	case len(found) > 0:
		return "", &codeError{exitRegression, fmt.Errorf("check: %s%s", strings.Join(found, "; "), open)}
	case c.Noisy != "":
		return "", &codeError{exitUnfit, errors.New("check: " + c.Noisy)}
	case judged == 0:
		return "", &codeError{exitUnfit, errors.New("check: no mode could be judged" + open + "; the table and the notes above say why")}
	}
	return fmt.Sprintf("check passed: %s, no regression%s", wording.Count(judged, "change judged", "changes judged"), open), nil
}

func orMissing(s result.ModeStatus) string {
	if s == "" {
		return "not in the run"
	}
	return string(s)
}
