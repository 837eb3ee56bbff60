package compare

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis/changes"
	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/export"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/wording"
)

type compareFlags struct {
	format  string
	most    int // bytes of Markdown, 0 for all
	margin  string
	metrics []string
	across  bool // compare modes whose settings differ
	shown   rundir.ShownFlags
}

func (f *compareFlags) add(c *cobra.Command) {
	f.shown.Add(c)
	f.shown.AddUnit(c)
	c.Flags().StringVar(&f.format, "format", "text", "output format: text, md or json")
	command.CompleteFormats(c, "text", "md", "json")
	c.Flags().IntVar(&f.most, "max-bytes", 0, "cut Markdown before a section to at most so many bytes; 0 for all of it")
	c.Flags().StringVar(&f.margin, "margin", "", "the largest change that counts as the same (default: the margin of the later run's study)")
	c.Flags().StringSliceVar(&f.metrics, "metrics", nil, "metrics to compare, separated by commas (default: all)")
	c.Flags().BoolVar(&f.across, "across-settings", false, "compare modes also where the study sets something else for them, such as another number of rules")
}

func (a commands) compareCommand() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use: "compare BEFORE AFTER", Short: "Report what changed from one run to another", Args: command.Exactly(2),
		Long: "Compare two runs of one study: whether the cost of each mode changed, by the noise\n" +
			"of both runs. Parts that are not comparable are refused.\n" +
			"A run is its directory, or its id if it is in $TARE_RUNS or tare-runs.",
		Example: "  tare compare before after\n  tare compare --format md before after >changes.md",
		RunE: func(_ *cobra.Command, args []string) error {
			changes, err := a.changes(args[0], args[1], f)
			if err != nil {
				return err
			}
			return a.printChanges(changes, f, "tare compare --full "+command.Quote(args[0])+" "+command.Quote(args[1]))
		},
	}
	f.add(c)
	command.CompleteArguments(c, rundir.Names)
	return c
}

// valid checks what the flags name.
func (f *compareFlags) valid() error {
	if err := command.OneOf("format", f.format, "text", "md", "json"); err != nil {
		return err
	}
	if f.most < 0 || f.most > 0 && f.format != "md" {
		return command.Usage(errors.New("--max-bytes is for --format md, which can be cut, and at least 1"))
	}
	if _, err := f.shown.Units(); err != nil {
		return err
	}
	for _, name := range f.metrics {
		if _, ok := result.MetricNamed(name); !ok {
			return command.Usage(fmt.Errorf("--metrics: unknown metric %q; docs/results.md lists all metrics", name))
		}
	}
	return nil
}

// changes compares two runs by their names.
func (a commands) changes(before, after string, f compareFlags) (result.Changes, error) {
	if err := f.valid(); err != nil {
		return result.Changes{}, err
	}
	b, err := a.runs.Take(before, rundir.ComparedMemory)
	if err != nil {
		return result.Changes{}, err
	}
	n, err := a.runs.Take(after, rundir.ComparedMemory-b.Memory)
	if err != nil {
		return result.Changes{}, err
	}
	margin := n.Study.Margin
	if f.margin != "" {
		if margin, err = share(f.margin); err != nil {
			return result.Changes{}, command.Usage(fmt.Errorf("--margin %w", err))
		}
	}
	differences := study.Differences(b.Study, n.Study)
	if f.across {
		for i, d := range differences {
			differences[i].Decides = d.Decides && (!strings.HasPrefix(d.Scope, modeScope) || d.Key == "mode") // which is another network
		}
	}
	out := changes.Across(b.RunTrials, n.RunTrials, refusals(differences), margin)
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

func (a commands) printChanges(c result.Changes, f compareFlags, full string) error {
	switch f.format {
	case "json":
		return a.PrintJSON(c)
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
	units, err := f.shown.Units()
	if err != nil {
		return err
	}
	switch {
	case f.shown.Quiet:
		for _, w := range c.Warnings { // the table has no place for it
			fmt.Fprintf(a.Stderr, "tare: warning: %s\n", wording.Clean(w.Text))
		}
		return report.ChangesTable(a.Colours(), c, units, a.TextOptions())
	case f.shown.Full:
		return report.ChangesText(a.Colours(), c, a.TextOptions())
	}
	return report.ChangesOverview(a.Colours(), c, full, units, a.TextOptions())
}
