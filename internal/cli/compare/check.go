package compare

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/history"
	"tare/internal/result"
	"tare/internal/store"
)

// checkFlags are the flags of check.
type checkFlags struct {
	compareFlags
	baseline string
	history  []string
	last     int
	failOn   []string
	limits   []string
	junit    string
}

func (a commands) checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use: "check (--baseline RUN | --history DIR | --limit LIMIT) RUN", Short: "Fail if a run shows a regression against earlier ones, or exceeds a limit", Args: command.Exactly(1),
		Long: "Compare a run with an earlier one of the same study, as tare compare does, or with the last\n" +
			"runs of its history, and exit with 10 if something is worse. The noise of both runs decides,\n" +
			"or how much the ratios vary from run to run, not a fixed percentage. Only the primary metrics\n" +
			"of the workloads and the CPU cost count, unless --metrics lists others. A baseline's own\n" +
			"values do not count, because they change with the machine.\n\n" +
			"--history takes a run or a directory of runs, and may be repeated. Of these, the --last ones\n" +
			"count that started before the run, of the same study and on the same machine; at least 5 are\n" +
			"required. A run without any change fails with a probability of at most 0.25 %.\n\n" +
			"--fail-on lists what is a regression:\n" +
			"  worse        a mode costs more than the noise explains; with worse:5% a change that is\n" +
			"               shown to be within 5 % does not count\n" +
			"  lost         a mode, or a workload of it, was measured before and is not now\n" +
			"  refused      something is not comparable, such as a mode with other settings; see\n" +
			"               --across-settings\n" +
			"  cannot_tell  the runs are too noisy or too short to exclude a regression\n" +
			"If nothing but lost and refused fails, the exit code is 11.\n\n" +
			"--limit MODE.WORKLOAD.WHAT <= VALUE, or >=, is a bound without an earlier run: time with a value such\n" +
			"as +5us (what the mode adds to an exchange), change with one in percent, which is below 0 where a rate\n" +
			"falls (change >= -10%), or a metric with one in its unit. It may be repeated. The exit code is 10\n" +
			"if an interval is wholly beyond its limit, and 11 if one contains it or the run has no such value.",
		Example: "  tare check --baseline before after\n  tare check --baseline before --fail-on worse:5%,lost,refused,cannot_tell after\n  tare check --history tare-runs after\n" +
			"  tare check --limit 'docker/published.tcp_rr.time <= +5us' run",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.check(args[0], f)
		},
	}
	f.add(c)
	c.Flags().StringVar(&f.baseline, "baseline", "", "the earlier run")
	c.Flags().StringArrayVar(&f.history, "history", nil, "earlier runs: a run, or a directory of runs; may be repeated")
	c.Flags().IntVar(&f.last, "last", defaultLast, "with --history: how many comparable runs count")
	c.Flags().StringArrayVar(&f.limits, "limit", nil, "a limit of the run alone, such as 'docker/published.tcp_rr.time <= +5us'; may be repeated")
	c.Flags().StringVar(&f.junit, "junit", "", "write what was checked to this file, too, as JUnit XML: a test case for each change and limit")
	c.Flags().StringSliceVar(&f.failOn, "fail-on", []string{"worse", "lost", "refused"}, "what is a regression, separated by commas")
	command.CompleteArguments(c, rundir.Names)
	command.CompleteFlag(c, "baseline", rundir.Names)
	command.CompleteFlag(c, "fail-on", failures)
	return c
}

// defaultLast is how many runs of a history count: enough for a spread with a standard error of
// 16 %, and few enough to be of the recent past.
const defaultLast = 20

func (a commands) check(name string, f checkFlags) error {
	limits, err := limitsOf(f.limits)
	if err != nil {
		return command.Usage(fmt.Errorf("check: %w", err))
	}
	if f.baseline == "" && len(f.history) == 0 && len(limits) > 0 {
		cases, err := a.checkLimits(name, limits, f.format == "text")
		return a.junit(f.junit, cases, err)
	}
	switch {
	case f.baseline == "" && len(f.history) == 0:
		return command.Usage(errors.New("check: --baseline and --history are missing: name the earlier run, or the directory of earlier runs, to compare with, or a --limit"))
	case f.baseline != "" && len(f.history) > 0:
		return command.Usage(errors.New("check: --baseline and --history are two kinds of comparison; use one"))
	case f.across && len(f.history) > 0:
		return command.Usage(errors.New("check: --across-settings is for --baseline: a history has runs of the same study only"))
	case f.last < history.MinEarlier:
		return command.Usage(fmt.Errorf("check: --last is %d; at least %d runs are required", f.last, history.MinEarlier))
	}
	g, err := gateOf(f.failOn)
	if err != nil {
		return command.Usage(err)
	}
	if g.margin != "" {
		if f.margin != "" {
			return command.Usage(errors.New("check: --margin and --fail-on worse:SHARE both set the margin; use one"))
		}
		f.margin = g.margin
	}
	var changes result.Changes
	full := "tare check --full"
	if f.baseline != "" {
		full += " --baseline " + command.Quote(f.baseline)
		changes, err = a.changes(f.baseline, name, f.compareFlags)
	} else {
		for _, h := range f.history {
			full += " --history " + command.Quote(h)
		}
		changes, err = a.changesInHistory(name, f)
	}
	if err != nil {
		return err
	}
	if len(f.metrics) == 0 {
		changes.Cells = slices.DeleteFunc(changes.Cells, func(c result.Change) bool { return !history.Counts(c.Metric) })
	}
	if err := a.printChanges(changes, f.compareFlags, full+" "+command.Quote(name)); err != nil {
		return err
	}
	passed, err := g.verdict(changes)
	if err == nil && f.format == "text" {
		fmt.Fprintln(a.Stdout, passed)
	}
	cases := g.cases(changes, err)
	if len(limits) > 0 {
		kept, lerr := a.checkLimits(name, limits, f.format == "text")
		cases, err = append(cases, kept...), worst(err, lerr)
	}
	return a.junit(f.junit, cases, err)
}

// junit writes the cases of a check to a file, if one is named. The outcome of the check is kept.
func (a commands) junit(path string, cases []checkCase, outcome error) error {
	if path == "" || len(cases) == 0 { // a run that could not be read has none
		return outcome
	}
	if err := command.WriteFile(path, func(w io.Writer) error { return writeJUnit(w, cases) }); err != nil {
		return errors.Join(outcome, command.Environment(fmt.Errorf("check --junit: cannot write %s: %w", path, err)))
	}
	return outcome
}

// changesInHistory compares a run with those of its history.
func (a commands) changesInHistory(name string, f checkFlags) (result.Changes, error) {
	if err := f.valid(); err != nil {
		return result.Changes{}, err
	}
	dir, err := rundir.Find(name)
	if err != nil {
		return result.Changes{}, command.NotReadable(err)
	}
	defer dir.Close()
	checked, err := readRun(dir.Path())
	if err != nil {
		return result.Changes{}, err
	}
	opt := history.CheckOptions{Last: f.last, Metrics: f.metrics, Within: f.margin != ""}
	if f.margin != "" {
		opt.Margin, err = share(f.margin)
	} else {
		opt.Margin, err = a.marginOf(dir.Path())
	}
	if err != nil {
		return result.Changes{}, command.Usage(fmt.Errorf("check %s: %w", name, err))
	}
	var runs []history.Run
	for _, h := range f.history {
		found, err := runsAt(h, checked, f.metrics)
		if err != nil {
			return result.Changes{}, command.NotReadable(fmt.Errorf("check --history %s: %w", h, err))
		}
		for _, r := range found {
			if !slices.ContainsFunc(runs, func(o history.Run) bool { return o.Path == r.Path }) {
				runs = append(runs, r)
			}
		}
	}
	return history.Check(runs, checked, opt), nil
}

// marginOf is the margin of a run's study.
func (a commands) marginOf(path string) (float64, error) {
	_, s, err := a.runs.Hosts.Resumed(path, false)
	if err != nil {
		return 0, fmt.Errorf("cannot read its study: %w", err)
	}
	return s.Margin, nil
}

// runsAt reads the runs below a directory, or the one with an id, for the history of a run.
func runsAt(name string, checked history.Run, metrics []string) ([]history.Run, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(name, filepath.Separator) {
		dir, err := rundir.Find(name)
		if err != nil {
			return nil, err
		}
		name = dir.Path()
		if err := dir.Close(); err != nil {
			return nil, err
		}
	}
	return historyRuns(name, checked.Hash, time.Time{}, metrics)
}

// readRun reads one run for a history.
func readRun(path string) (history.Run, error) {
	var out history.Run
	err := store.EachRecord(path, func(store.Summary) bool { return true }, func(r store.Record) error {
		out = runOf(r)
		return nil
	})
	if err == nil && out.Problem != "" {
		err = errors.New(out.Problem)
	}
	if err != nil {
		return out, command.NotReadable(err)
	}
	return out, nil
}
