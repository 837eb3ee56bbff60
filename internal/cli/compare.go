package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/export"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/wording"
)

type compareFlags struct {
	format  string
	most    int // bytes of Markdown, 0 for all
	margin  string
	metrics []string
	across  bool // compare modes whose settings differ
	shown   shownFlags
}

func (f *compareFlags) add(c *cobra.Command) {
	f.shown.add(c)
	f.shown.addUnit(c)
	c.Flags().StringVar(&f.format, "format", "text", "output format: text, md or json")
	c.Flags().IntVar(&f.most, "max-bytes", 0, "cut Markdown before a section to at most so many bytes; 0 for all of it")
	c.Flags().StringVar(&f.margin, "margin", "", "the largest change that counts as the same (default: the margin of the later run's study)")
	c.Flags().StringSliceVar(&f.metrics, "metrics", nil, "metrics to compare, separated by commas (default: all)")
	c.Flags().BoolVar(&f.across, "across-settings", false, "compare modes also where the study sets something else for them, such as another number of rules")
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

// valid checks what the flags name.
func (f *compareFlags) valid() error {
	formats := []string{"text", "md", "json"}
	if !slices.Contains(formats, f.format) {
		return usage(fmt.Errorf("--format is %q; allowed: %s", f.format, strings.Join(formats, ", ")))
	}
	if f.most < 0 || f.most > 0 && f.format != "md" {
		return usage(errors.New("--max-bytes is for --format md, which can be cut, and at least 1"))
	}
	if _, err := f.shown.units(); err != nil {
		return err
	}
	for _, name := range f.metrics {
		if _, ok := result.MetricNamed(name); !ok {
			return usage(fmt.Errorf("--metrics: unknown metric %q; docs/results.md lists all metrics", name))
		}
	}
	return nil
}

// changes compares two runs by their names.
func (a App) changes(before, after string, f compareFlags) (result.Changes, error) {
	if err := f.valid(); err != nil {
		return result.Changes{}, err
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
	if f.across {
		for i, d := range differences {
			differences[i].Decides = d.Decides && (!strings.HasPrefix(d.Scope, modeScope) || d.Key == "mode") // which is another network
		}
	}
	out := analysis.Across(b.RunTrials, n.RunTrials, refusals(differences), margin)
	for _, d := range differences {
		if !d.Decides {
			out.Environment = append(out.Environment, result.Difference{Scope: d.Scope, Name: d.Key, Before: orNotSet(d.Before), After: orNotSet(d.After)})
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
		return takenRun{}, notReadable(fmt.Errorf("run %s: cannot read its study: %w", name, err))
	}
	if changed := a.changedFrom(dir, s); changed != "" {
		return takenRun{}, usage(fmt.Errorf("run %s: its %s was changed after the run: %s; restore it", name, store.StudyFile, changed))
	}
	a.noteMixed(run, dir.Path())
	if len(run.Cells) == 0 && len(trials) > 0 {
		run = a.judge(run, trials, dir.Path())
	}
	kept := store.DropJudged(run, trials)
	return takenRun{analysis.RunTrials{Run: run, Trials: trials, Serial: analysis.SerialWorkloads(s)}, s, kept}, nil
}

// modeScope begins the scope of a difference of a mode.
const modeScope = "mode "

// refusals are the differences between two studies that forbid a comparison.
func refusals(differences []study.Difference) []result.Refusal {
	var out []result.Refusal
	for _, d := range differences {
		if !d.Decides {
			continue
		}
		r := result.Refusal{Reason: fmt.Sprintf("%s was %s and is %s", d.Key, orNotSet(d.Before), orNotSet(d.After))}
		if name, ok := strings.CutPrefix(d.Scope, "workload "); ok {
			r.Workload = name
		} else if name, ok := strings.CutPrefix(d.Scope, modeScope); ok {
			r.Mode = name
			if d.Key != "mode" {
				r.Reason += " (--across-settings judges it)"
			}
		} else {
			r.Reason = d.Scope + " " + r.Reason
		}
		out = append(out, r)
	}
	return out
}

// orNotSet is a value of a study, or that there is none.
func orNotSet(value string) string { return cmp.Or(value, "not set") }

func (a App) printChanges(c result.Changes, f compareFlags, full string) error {
	switch f.format {
	case "json":
		enc := json.NewEncoder(raw(a.Stdout))
		enc.SetIndent("", "  ")
		return enc.Encode(c)
	case "md":
		if f.most == 0 {
			return report.ChangesMarkdown(a.Stdout, c)
		}
		var text bytes.Buffer
		if err := report.ChangesMarkdown(&text, c); err != nil {
			return err
		}
		_, err := a.Stdout.Write(export.Cut(text.Bytes(), f.most))
		return err
	}
	units, err := f.shown.units()
	if err != nil {
		return err
	}
	switch {
	case f.shown.quiet:
		for _, w := range c.Warnings { // the table has no place for it
			fmt.Fprintf(a.Stderr, "tare: warning: %s\n", wording.Clean(w.Text))
		}
		return report.ChangesTable(a.colours(), c, units, a.textOptions())
	case f.shown.full:
		return report.ChangesText(a.colours(), c, a.textOptions())
	}
	return report.ChangesOverview(a.colours(), c, full, units, a.textOptions())
}
