package compare

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/judge"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
)

type judgeFlags struct {
	baseline, margin, pairing, better, modeBy, format string
	html, md                                          string
	modes                                             []string
	json, rank                                        bool
	shown                                             rundir.ShownFlags
}

func (a commands) judgeCommand() *cobra.Command {
	var f judgeFlags
	c := &cobra.Command{
		Use: "judge FILE...", Short: "Compare numbers that another program measured", Args: command.AtLeast(1),
		Long: "Compare numbers from any source by the rules of a run: how each mode differs from the\n" +
			"baseline, with an interval and a verdict. FILE (- for stdin) is a table with a header line\n" +
			"and the columns mode and value, and optionally block, workload, metric, unit, better (higher\n" +
			"or lower), baseline: CSV, Markdown or a grid; the output of go test -bench, as benchstat reads\n" +
			"it; the JSON of iperf3, fortio or k8s-netperf; or the CSV of netperf. A folder stands for the\n" +
			"files in it. tare export writes such a table of a run. --rank orders the modes instead,\n" +
			"compares each with each other, and says which of them cannot be told apart.",
		Example: "  tare judge numbers.csv\n  tare judge --baseline plain --margin 2% --pairing order numbers.csv\n" +
			"  tare judge --rank published.csv\n  tare judge host.txt bridge.txt\n  tare judge --mode 'host=h-*.json' --mode 'pod=p-*.json' results\n  go test -bench . -count 10 | tare judge --mode-by /net -",
		RunE: func(_ *cobra.Command, args []string) error { return a.judgeNumbers(args, f) },
	}
	c.Flags().StringVar(&f.baseline, "baseline", "", "the mode to compare with (default: as in the file, else host, else the first)")
	c.Flags().StringVar(&f.margin, "margin", "5%", "the largest difference that counts as the same")
	c.Flags().StringVar(&f.pairing, "pairing", "", "which values belong together: block, order or none (default: block if there is such a column)")
	c.Flags().StringVar(&f.better, "better", "", "higher or lower, for metrics whose direction is not known from their name or unit")
	c.Flags().StringVar(&f.modeBy, "mode-by", "", "where the mode of a Go benchmark comes from: .file, /KEY of its name, KEY of its configuration")
	c.Flags().StringArrayVar(&f.modes, "mode", nil, "NAME=PATTERN: the mode of files without a column mode whose name or folder matches; repeatable (default: the file's name)")
	c.Flags().StringVar(&f.format, "format", "auto", "format of the numbers: "+strings.Join(numberFormats(), ", "))
	c.Flags().BoolVar(&f.json, "json", false, "print the cells as in run.json instead of the table")
	c.Flags().BoolVar(&f.rank, "rank", false, "order the modes and say which cannot be told apart, without a baseline")
	f.shown.Add(c)
	c.Flags().StringVar(&f.html, "html", "", "also write the report as an HTML page to this file")
	c.Flags().StringVar(&f.md, "md", "", "also write the report as Markdown to this file")
	command.CompleteFormats(c, numberFormats()...)
	command.CompleteFlag(c, "pairing", func() []string { return []string{"block", "order", "none"} })
	command.CompleteFlag(c, "better", func() []string { return []string{string(result.Higher), string(result.Lower)} })
	return c
}

// options turns flags into what the reader is told.
func (f judgeFlags) options() (judge.Options, float64, error) {
	o := judge.Options{Format: judge.Format(f.format), Pairing: judge.Pairing(f.pairing), Baseline: f.baseline,
		Better: result.Direction(f.better), ModeBy: f.modeBy, NoBaseline: f.rank}
	for _, text := range f.modes {
		m, err := judge.ParseNamedMode(text)
		if err != nil {
			return o, 0, fmt.Errorf("--mode %w", err)
		}
		o.Modes = append(o.Modes, m)
	}
	margin, err := share(f.margin)
	switch {
	case err != nil:
		return o, 0, fmt.Errorf("--margin %w", err)
	case f.pairing != "" && !slices.Contains(judge.Pairings(), o.Pairing):
		return o, 0, command.OneOf("pairing", o.Pairing, judge.Pairings()...)
	case !slices.Contains(judge.Formats(), o.Format):
		return o, 0, command.OneOf("format", o.Format, judge.Formats()...)
	case f.rank && f.baseline != "":
		return o, 0, errors.New("--rank compares each mode with each other, so --baseline has no effect: leave one of them out")
	case f.rank && (f.shown.Full || f.shown.Quiet):
		return o, 0, errors.New("--rank has one form of output: leave out --full and --quiet")
	case f.better != "" && o.Better != result.Higher && o.Better != result.Lower:
		return o, 0, fmt.Errorf("--better is %q; allowed: higher, lower", f.better)
	}
	return o, margin, nil
}

// numberFormats lists the formats of numbers.
func numberFormats() []string {
	return command.Names(judge.Formats(), func(f judge.Format) judge.Format { return f })
}

// share reads 5% or 0.05.
func share(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return 0, fmt.Errorf("is %q; write a share between 0 and 1, such as 5%% or 0.05", text)
	}
	return v, nil
}

func (a commands) judgeNumbers(args []string, f judgeFlags) error {
	opt, margin, err := f.options()
	if err != nil {
		return command.Usage(err)
	}
	sources, err := a.sources(args)
	if err != nil {
		return command.Usage(err)
	}
	numbers, err := judge.Read(sources, opt)
	if err != nil {
		return command.Usage(err)
	}
	numbers.Input.Rule.Margin = margin
	in := judged(numbers, a.runs.Build, args)
	in.Page, in.Full = f.html, "the same command with --full"
	if err := f.write(in); err != nil {
		return err
	}
	if err := a.show(in, f); err != nil {
		return err
	}
	if f.rank {
		return notRanked(in.Run)
	}
	if len(in.Run.Modes) == 1 {
		return command.WithCode(command.ExitUnfit, fmt.Errorf("nothing could be judged: %s is the only mode; add a baseline", in.Run.Modes[0].ID))
	}
	if !slices.ContainsFunc(in.Run.Cells, func(c result.Cell) bool { return c.RatioCI != nil }) {
		return command.WithCode(command.ExitUnfit, errors.New("nothing could be judged: no mode and its baseline have at least two comparable values each"))
	}
	return nil
}

// notRanked is why numbers have no ranking, nil if they have one.
func notRanked(run result.Run) error {
	why := "a ranking takes more than two modes with a value in one metric"
	for _, r := range run.Rankings {
		if len(r.Modes) > 0 {
			return nil
		}
		why = r.Reason
	}
	return command.WithCode(command.ExitUnfit, fmt.Errorf("nothing could be ranked: %s", why))
}

// judged is what reports are made of.
func judged(n judge.Numbers, build result.Build, args []string) report.Input {
	names := make([]string, len(args))
	for i, name := range args {
		if names[i] = filepath.Base(name); name == "-" {
			names[i] = "stdin"
		}
	}
	run := analysis.EvaluateNumbers(result.Run{
		Schema: result.Schema, Status: result.RunComplete, Tare: build, Source: strings.Join(names, ", "), Pairing: string(n.Pairing), Warnings: n.Warnings,
	}, n.Input)
	return report.Input{Run: run, Trials: n.Input.Trials, Title: "Numbers of " + run.Source}
}

// write makes the files that were asked for.
func (f judgeFlags) write(in report.Input) error {
	for _, out := range []struct {
		name string
		make func(report.Prepared, io.Writer) error
	}{{f.html, report.Prepared.HTML}, {f.md, report.Prepared.Markdown}} {
		if out.name == "" {
			continue
		}
		if err := command.WriteFile(out.name, func(to io.Writer) error { return out.make(f.prepared(in), to) }); err != nil {
			return fmt.Errorf("write report %s: %w", out.name, err)
		}
	}
	return nil
}

// prepared is the report, or the ranking.
func (f judgeFlags) prepared(in report.Input) report.Prepared {
	if f.rank {
		return report.PrepareRanking(in)
	}
	return report.Prepare(in)
}

func (a commands) show(in report.Input, f judgeFlags) error {
	if !f.json {
		if in.Run.Trials.OK == len(in.Trials) {
			in.Trials = nil // the table needs none of them, and there may be very many
		}
		f.shown.Full = f.shown.Full || f.rank
		return f.shown.Text(a.Streams, f.prepared(in))
	}
	text, err := store.EncodeRun(in.Run)
	if err != nil {
		return fmt.Errorf("print the cells: %w", err)
	}
	_, err = command.Raw(a.Stdout).Write(text)
	return err
}
