package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/history"
	"tare/internal/report"
	"tare/internal/report/wording"
	"tare/internal/result"
)

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
