package compare

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/export"
	"tare/internal/history"
	"tare/internal/live/web"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/wording"
)

type historyFlags struct {
	study, since, format, out, machine string
	metrics, modes, workloads          []string
	full                               bool
}

// historyFormats are the forms of a history.
func historyFormats() []string {
	return []string{"text", "md", "html", "csv", "openmetrics", "json"}
}

func (a commands) historyCommand() *cobra.Command {
	var f historyFlags
	c := &cobra.Command{
		Use: "history [DIR]", Short: "Report how the results of a study changed over time", Args: command.AtMostOne(),
		Long: "Show the ratios of each mode to its baseline in all runs of one study below a directory\n" +
			"($TARE_RUNS or tare-runs when absent), by time and by machine: where they changed, by how\n" +
			"much, and what changed in the environment with them. Results of different machines are\n" +
			"never put into one series, and neither are those of a study whose settings changed.\n" +
			"The changes are found by a test with a stated rate of false alarms.\n\n" +
			"openmetrics has the time of each run, for promtool tsdb create-blocks-from openmetrics.",
		Example: "  tare history\n  tare history results --study overlays --since 90d\n  tare history --format html --out history.html",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.history(args, f)
		},
	}
	c.Flags().StringVar(&f.study, "study", "", "the name of the study, or the beginning of its hash (default: the only study)")
	c.Flags().StringSliceVar(&f.metrics, "metric", nil, "metrics to show, separated by commas (default: the main metric of each workload, and CPU costs)")
	c.Flags().StringSliceVar(&f.modes, "mode", nil, "modes to show, separated by commas (default: all)")
	c.Flags().StringSliceVar(&f.workloads, "workload", nil, "workloads to show, separated by commas (default: all)")
	c.Flags().StringVar(&f.machine, "machine", "", "show only machines whose name or properties contain this")
	c.Flags().StringVar(&f.since, "since", "", "leave out runs that began before this date, such as 2026-09-01, or longer ago than this, such as 90d")
	c.Flags().StringVar(&f.format, "format", "text", "output format: "+strings.Join(historyFormats(), ", "))
	c.Flags().StringVar(&f.out, "out", "", "write to this file instead of stdout")
	c.Flags().BoolVar(&f.full, "full", false, "print all series, changes and runs instead of the most important ones")
	command.CompleteFormats(c, historyFormats()...)
	return c
}

func (a commands) history(args []string, f historyFlags) error {
	dir := rundir.Under(args)
	since, err := f.check(time.Now())
	if err != nil {
		return command.Usage(err)
	}
	runs, err := store.List(dir)
	if err != nil {
		return rundir.NoneYet(a.Streams, args, err)
	}
	all := studiesOf(runs)
	chosen, err := f.choose(all, dir)
	if errors.Is(err, errSeveral) && f.format == "text" && f.out == "" {
		return a.listStudies(all, dir)
	}
	if err != nil {
		return command.Usage(err)
	}
	h, err := historyOf(dir, chosen, since, f.metrics)
	if err != nil {
		return command.NotReadable(err)
	}
	if err := f.filter(&h); err != nil {
		return command.Usage(err)
	}
	return a.printHistory(h, dir, f)
}

// check checks the flags and returns the time before which runs are left out.
func (f historyFlags) check(now time.Time) (since time.Time, err error) {
	if err := command.OneOf("format", f.format, historyFormats()...); err != nil {
		return since, err
	}
	for _, name := range f.metrics {
		if _, ok := result.MetricNamed(name); !ok {
			return since, fmt.Errorf("--metric: unknown metric %q; docs/metrics.md lists all metrics", name)
		}
	}
	if f.full && f.format != "text" {
		return since, errors.New("--full is for --format text: the other formats have all series")
	}
	return sinceOf(f.since, now)
}

// sinceOf reads a date, a time, or an age in hours, days or weeks. The zero time is no limit.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	for unit, hours := range map[string]int{"h": 1, "d": 24, "w": 7 * 24} {
		number, has := strings.CutSuffix(text, unit)
		if n, err := strconv.Atoi(number); has && err == nil && n > 0 && n < 10_000 {
			return now.Add(-time.Duration(n*hours) * time.Hour), nil
		}
	}
	return time.Time{}, fmt.Errorf("--since is %q; write a date such as 2026-09-01, a time such as 2026-09-01T10:00:00Z, or an age such as 90d or 12w", text)
}

// studiesOf lists the studies among runs, that of the latest run first. Runs with one name and
// different hashes are of different studies; their latest hash comes first.
func studiesOf(runs []store.Summary) []web.Study {
	var out []web.Study
	for _, r := range runs {
		if r.Hash == "" || r.Problem != "" {
			continue
		}
		i := slices.IndexFunc(out, func(s web.Study) bool { return s.Hash == r.Hash })
		if i < 0 {
			i, out = len(out), append(out, web.Study{Name: r.Study, Hash: r.Hash, First: r.Started, Latest: r.Started})
		}
		s := &out[i]
		if s.Runs == 0 || s.Valid == 0 && r.Valid > 0 { // the runs are sorted, the newest first
			s.Newest = r
		}
		s.Runs++
		if r.Valid > 0 {
			s.Valid++
		}
		if r.Started.Before(s.First) && !r.Started.IsZero() {
			s.First = r.Started
		}
		if r.Started.After(s.Latest) {
			s.Latest = r.Started
		}
	}
	slices.SortStableFunc(out, func(x, y web.Study) int { return cmp.Or(y.Latest.Compare(x.Latest), strings.Compare(x.Hash, y.Hash)) })
	return out
}

// errSeveral is that a study has to be chosen.
var errSeveral = errors.New("several studies")

// minHash is how many characters of a hash name a study.
const minHash = 6

// choose returns the hash of the study that is meant: of a name, that of its latest run.
func (f historyFlags) choose(all []web.Study, dir string) (hash string, err error) {
	if len(all) == 0 {
		return "", fmt.Errorf("history: no run below %s records its study; tare ls lists the runs", dir)
	}
	if f.study != "" {
		for _, match := range []func(web.Study) bool{
			func(s web.Study) bool { return s.Name == f.study },
			func(s web.Study) bool { return len(f.study) >= minHash && strings.HasPrefix(s.Hash, f.study) },
		} {
			if i := slices.IndexFunc(all, match); i >= 0 {
				return all[i].Hash, nil
			}
		}
		return "", fmt.Errorf("--study is %q; there are: %s", f.study, strings.Join(studyNames(all), ", "))
	}
	if names := studyNames(all); len(names) > 1 {
		return "", fmt.Errorf("history: there are %w below %s; choose one with --study: %s", errSeveral, dir, strings.Join(names, ", "))
	}
	return all[0].Hash, nil
}

// studyNames are what --study takes, once for each study name, and the hash of one without a name.
func studyNames(all []web.Study) []string {
	var out []string
	for _, s := range all {
		if name := cmp.Or(s.Name, shortHash(s.Hash)); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// shortHash is the part of a hash that is shown.
func shortHash(hash string) string { return fmt.Sprintf("%.12s", hash) }

// listStudies lists the studies with the commands that show their histories.
func (a commands) listStudies(all []web.Study, dir string) error {
	fmt.Fprintln(a.Stdout, "There are several studies. The history of one:")
	var table bytes.Buffer
	var about []store.Summary
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, name := range studyNames(all) {
		runs, latest, newest := 0, time.Time{}, store.Summary{}
		for _, s := range all {
			if cmp.Or(s.Name, shortHash(s.Hash)) == name {
				if runs == 0 {
					newest = s.Newest
				}
				runs += s.Runs
				if s.Latest.After(latest) {
					latest = s.Latest
				}
			}
		}
		fmt.Fprintf(w, "  tare history --study %s %s\t%s\tlatest %s\n", command.Quote(wording.Clean(name)), command.Quote(wording.Clean(dir)), wording.Count(runs, "run", "runs"), wording.Time(latest))
		about = append(about, newest)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	rundir.WithAnswers(a.Stdout, table.String(), about, func(r store.Summary) []string { return []string{rundir.About(r), rundir.AnswerOf(r)} })
	return nil
}

// historyOf computes the history of the study with that hash among the runs below a directory.
// Runs that only have its name are left out of it, with the reason.
func historyOf(dir, hash string, since time.Time, metrics []string) (result.History, error) {
	runs, err := historyRuns(dir, hash, since, metrics)
	if err != nil {
		return result.History{}, err
	}
	return history.Of(runs, hash, metrics), nil
}

// historyRuns reads the runs below a directory that began at or after since: those of the study
// with that hash, of which a history of the metrics is made; of the others only what says why they are left out.
func historyRuns(dir, hash string, since time.Time, metrics []string) ([]history.Run, error) {
	kept := history.Kept{Metrics: metrics}
	var others []history.Run
	err := store.EachRecord(dir, func(s store.Summary) bool {
		recent := !s.Started.Before(since)
		if s.Problem == "" && s.Hash == hash {
			return recent
		}
		if s.Problem != "" || recent {
			others = append(others, history.Run{Path: s.Path, Study: s.Study, Hash: s.Hash, Problem: s.Problem, Run: result.Run{ID: s.ID, Started: s.Started}})
		}
		return false
	}, func(r store.Record) error { return kept.Add(runOf(r)) })
	return append(kept.Runs(), others...), err
}

// runOf is a run as a history takes it.
func runOf(r store.Record) history.Run {
	return history.Run{Path: r.Path, Study: r.Study, Hash: r.Hash, Problem: r.Problem, Run: r.Run}
}

// filter leaves the series and machines that were asked for. It does not change what is found in
// them.
func (f historyFlags) filter(h *result.History) error {
	if f.machine != "" {
		var names []string
		h.Machines = slices.DeleteFunc(h.Machines, func(m result.MachineHistory) bool {
			names = append(names, m.Machine)
			text := m.Machine
			for _, fact := range m.Facts {
				text += " " + fact.Value
			}
			return !strings.Contains(strings.ToLower(text), strings.ToLower(f.machine))
		})
		if len(h.Machines) == 0 {
			return fmt.Errorf("--machine: no machine has %q; there are: %s", f.machine, strings.Join(names, "; "))
		}
	}
	for _, by := range []struct {
		flag string
		want []string
		of   func(result.HistorySeries) string
	}{
		{"--mode", f.modes, func(s result.HistorySeries) string { return s.Mode }},
		{"--workload", f.workloads, func(s result.HistorySeries) string { return s.Workload }},
	} {
		if len(by.want) == 0 {
			continue
		}
		var has []string
		for i := range h.Machines {
			m := &h.Machines[i]
			m.Series = slices.DeleteFunc(m.Series, func(s result.HistorySeries) bool {
				if !slices.Contains(has, by.of(s)) {
					has = append(has, by.of(s))
				}
				return !slices.Contains(by.want, by.of(s))
			})
		}
		for _, name := range by.want {
			if !slices.Contains(has, name) {
				return fmt.Errorf("%s: there is no series of %q; there are: %s", by.flag, name, strings.Join(has, ", "))
			}
		}
	}
	return nil
}

// printHistory writes a history in the format that was asked for.
func (a commands) printHistory(h result.History, dir string, f historyFlags) error {
	prepared := func() report.Prepared {
		return report.PrepareHistory(h, report.HistoryOptions{Full: f.full, Terminal: f.format == "text", Command: f.command(dir), Version: a.runs.Build.Version})
	}
	write := map[string]func(io.Writer) error{
		"text":        func(w io.Writer) error { return prepared().Text(w, a.TextOptions()) },
		"md":          func(w io.Writer) error { return prepared().Markdown(w) },
		"html":        func(w io.Writer) error { return prepared().HTML(w) },
		"csv":         func(w io.Writer) error { return export.HistoryCSV(w, h) },
		"openmetrics": func(w io.Writer) error { return export.HistoryOpenMetrics(w, h) },
		"json":        func(w io.Writer) error { return store.WriteHistory(w, h) },
	}[f.format]
	if f.out == "" {
		out := a.Colours()
		if f.format == "html" || f.format == "json" {
			out = command.Raw(a.Stdout)
		}
		return write(out)
	}
	if err := command.WriteFile(f.out, write); err != nil {
		return fmt.Errorf("write the history to %s: %w; choose another file with --out", f.out, err)
	}
	fmt.Fprintf(a.Stderr, "%s\nhistory: %s\n", report.HistoryAnswer(h), f.out)
	return nil
}

// command prints all of a history.
func (f historyFlags) command(dir string) string {
	text := "tare history --full"
	for _, flag := range []struct {
		name  string
		value string
	}{{"--study", f.study}, {"--metric", strings.Join(f.metrics, ",")}, {"--mode", strings.Join(f.modes, ",")}, {"--workload", strings.Join(f.workloads, ",")},
		{"--machine", f.machine}, {"--since", f.since}} {
		if flag.value != "" {
			text += " " + flag.name + " " + command.Quote(flag.value)
		}
	}
	if dir != rundir.Default() {
		text += " " + command.Quote(dir)
	}
	return text
}

// Serve adds the comparisons of runs below a directory, and their histories, to what pages show.
func Serve(s *web.Server, r rundir.Reader, dir string) {
	s.Compare = func(before, after string) (result.Changes, error) {
		return commands{runs: r}.changes(before, after, compareFlags{format: "text"})
	}
	s.Studies = func() ([]web.Study, error) {
		runs, err := store.List(dir)
		return studiesOf(runs), err
	}
	s.History = func(hash string) (result.History, error) {
		runs, err := store.List(dir)
		if err == nil && !slices.ContainsFunc(studiesOf(runs), func(s web.Study) bool { return s.Hash == hash }) {
			err = fs.ErrNotExist
		}
		if err != nil {
			return result.History{}, err
		}
		return historyOf(dir, hash, time.Time{}, nil)
	}
}
