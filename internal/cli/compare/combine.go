package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/combine"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/study"
)

type combineFlags struct {
	format, html, margin string
	metrics              []string
	full, distinct       bool
}

func (a commands) combineCommand() *cobra.Command {
	var f combineFlags
	c := &cobra.Command{
		Use: "combine RUN RUN...", Short: "Combine runs of several machines or days into one answer", Args: atLeastTwo,
		Long: "Combine runs of one study on several machines: the change of each mode on average over them,\n" +
			"how much it differs between them, and the range in which a run on the next machine will be.\n" +
			"Several runs of one machine count as one machine. Runs with other settings, baselines or\n" +
			"metrics are refused, with the reasons; so is the same run twice.\n" +
			"A run is its directory, or its id if it is in $TARE_RUNS or tare-runs.",
		Example: "  tare combine web1 web2 web3\n  tare combine --html forest.html web1 web2 web3",
		RunE:    func(_ *cobra.Command, args []string) error { return a.combine(args, f) },
	}
	c.Flags().StringVar(&f.format, "format", "text", "output format: text, md or json")
	c.Flags().StringVar(&f.html, "html", "", "also write an HTML page with the forest plot to this file")
	c.Flags().StringVar(&f.margin, "margin", "", "the largest change that counts as the same (default: the margin of the first run's study)")
	c.Flags().StringSliceVar(&f.metrics, "metrics", nil, "metrics to combine, separated by commas (default: all)")
	c.Flags().BoolVar(&f.full, "full", false, "print all metrics with the ratio on each machine, instead of the main ones")
	c.Flags().BoolVar(&f.distinct, "distinct", false, "count every run as of a machine of its own: for machines of one model, which tare cannot tell apart")
	command.CompleteArguments(c, rundir.Names)
	command.CompleteFormats(c, "text", "md", "json")
	return c
}

// atLeastTwo refuses a command with fewer than two arguments.
func atLeastTwo(c *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return command.Usage(fmt.Errorf("%s: the runs are missing; use %s", c.CommandPath(), c.UseLine()))
	case 1:
		return command.Usage(fmt.Errorf("%s: %s is one run, and there is nothing to combine it with; name at least two, or see it with tare report", c.CommandPath(), args[0]))
	}
	return nil
}

func (a commands) combine(names []string, f combineFlags) error {
	if err := (&compareFlags{format: f.format, metrics: f.metrics}).valid(); err != nil {
		return err
	}
	if f.full && f.format != "text" {
		return command.Usage(errors.New("--full is for --format text: the other formats have all"))
	}
	set := combine.Set{Options: combine.Options{Metrics: f.metrics, Distinct: f.distinct}}
	first, err := a.addAll(&set, names)
	if err != nil {
		return err
	}
	set.Margin = first.Margin
	if f.margin != "" {
		if set.Margin, err = share(f.margin); err != nil {
			return command.Usage(fmt.Errorf("--margin %w", err))
		}
	}
	combined := set.Combined(first.Name)
	if len(combined.Ratios) == 0 {
		why := "no mode with a baseline has the same workload and metric in two of them"
		if len(combined.LeftOut) > 0 {
			l := combined.LeftOut[0]
			why += "; the first that is left out, of " + combined.Runs[l.Run].Path + ": " + strings.TrimSpace(l.Mode+" "+l.Workload) + ": " + l.Reason
		}
		return command.Usage(fmt.Errorf("the runs have nothing to combine: %s", why))
	}
	prepared := report.PrepareCombination(combined, report.CombinationOptions{Full: f.full, Command: f.command(names), Version: a.runs.Build.Version})
	if f.html != "" {
		if err := command.WriteFile(f.html, prepared.HTML); err != nil {
			return fmt.Errorf("write the page %s: %w; choose another file with --html", f.html, err)
		}
	}
	return a.printCombination(combined, prepared, f.format)
}

func (a commands) printCombination(c result.Combination, prepared report.Prepared, format string) error {
	switch format {
	case "json":
		return a.PrintJSON(c)
	case "md":
		return prepared.Markdown(a.Stdout)
	}
	return prepared.Text(a.Colours(), a.TextOptions())
}

// mostRefused is how many refused runs a message names, each with so many reasons.
const (
	mostRefused = 8
	mostReasons = 4
)

// addAll reads the runs one after the other and adds them. It returns the study of the first. All that cannot be combined are named in
// the error.
func (a commands) addAll(set *combine.Set, names []string) (first study.Study, err error) {
	var refused []string
	add := func(name string, reasons []string) {
		if more := len(reasons) - mostReasons; more > 0 {
			reasons = append(slices.Clone(reasons[:mostReasons]), fmt.Sprintf("and %d more", more))
		}
		refused = append(refused, "- "+name+": "+strings.Join(reasons, "; "))
	}
	known := false
	for _, name := range names {
		run, err := a.runs.Take(name, rundir.ComparedMemory)
		if err != nil {
			if isEnvironment(err) {
				return first, err
			}
			add(name, []string{err.Error()})
			continue
		}
		if !known {
			first, known = run.Study, true
		}
		decide, others := settings(study.Differences(first, likeMachines(run.Study, first)))
		if len(decide) > 0 {
			add(name, decide)
			continue
		}
		if reasons := set.Add(name, run.Run, others); len(reasons) > 0 {
			add(name, reasons)
		}
	}
	if len(refused) == 0 {
		return first, nil
	}
	n := len(refused)
	if n > mostRefused {
		refused = append(refused[:mostRefused], fmt.Sprintf("- and %d more", n-mostRefused))
	}
	return first, command.Usage(fmt.Errorf("%d of %d runs cannot be combined with the first:\n%s\nLeave them out, or run the study of the first run on their machines", n, len(names), strings.Join(refused, "\n")))
}

// isEnvironment says whether an error is that of a missing permission.
func isEnvironment(err error) bool {
	return command.ExitCode(err) == command.ExitEnvironment
}

// likeMachines is a study with the machines of another one, where both name machines, engines or nodes: that they differ is what is combined.
func likeMachines(s, other study.Study) study.Study {
	if len(s.Hosts) > 0 && slices.EqualFunc(s.Hosts, other.Hosts, func(a, b study.Host) bool { return (a.Engine == "") == (b.Engine == "") }) {
		s.Hosts = other.Hosts
	}
	if s.Cluster != nil && other.Cluster != nil {
		c := *s.Cluster
		c.Nodes, c.Selector, c.Namespace = other.Cluster.Nodes, other.Cluster.Selector, other.Cluster.Namespace
		s.Cluster = &c
	}
	return s
}

// settings divides the differences between two studies into the reasons against a combination and the others.
func settings(differences []study.Difference) (decide []string, others []result.Difference) {
	for _, d := range differences {
		if d.Decides {
			decide = append(decide, fmt.Sprintf("%s: %s is %s, and %s in the first run", d.Scope, d.Key, orNotSet(d.After), orNotSet(d.Before)))
			continue
		}
		others = append(others, result.Difference{Scope: d.Scope, Name: d.Key, Before: orNotSet(d.Before), After: orNotSet(d.After)})
	}
	return decide, others
}

// command prints all of a combination.
func (f combineFlags) command(names []string) string {
	text := "tare combine --full"
	if len(f.metrics) > 0 {
		text += " --metrics " + command.Quote(strings.Join(f.metrics, ","))
	}
	if f.margin != "" {
		text += " --margin " + command.Quote(f.margin)
	}
	if f.distinct {
		text += " --distinct"
	}
	for i, name := range names {
		if i == mostRefused && len(names) > mostRefused+1 {
			return text + " ..."
		}
		text += " " + command.Quote(name)
	}
	return text
}
