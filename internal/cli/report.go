package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/warning"
	"tare/internal/wording"
)

// shownFlags choose how much of a result is printed.
type shownFlags struct {
	full, quiet, claims bool
	unitFlags
}

func (f *shownFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.full, "full", false, "print the whole report instead of one screen")
	f.addQuiet(c)
}

// addClaims adds the flag that shows the claims instead of the modes.
func addClaims(c *cobra.Command, claims *bool) {
	c.Flags().BoolVar(claims, "claims", false, "print which published claims of the study hold, instead of the table of modes")
}

func (f *shownFlags) addQuiet(c *cobra.Command) {
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print the table alone")
}

func (a App) reportCommand() *cobra.Command {
	var f shownFlags
	var out string
	c := &cobra.Command{
		Use: "report DIR|-", Short: "Render the report of a run again",
		Example: "  tare report tare-runs/20261121-101500-default\n  kubectl logs -n tare -f job/tare | tare report -",
		Args:    exactly(1),
		Long: "Render report.html, report.md and the figures of a run's directory again, and print the\n" +
			"results on one screen, or with --full the whole report. This also works for interrupted runs.\n" +
			"With - instead of a directory, read a run from stdin, as tare run --archive prints it, and put it into a new\n" +
			"directory first.",
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] == "-" {
				path, err := a.importRun(out)
				if err != nil {
					return err
				}
				args[0] = path
			} else if out != "" {
				return usage(errors.New("--out is the directory of a run that is read from stdin; leave it out, or name - as the run"))
			}
			dir, err := store.Open(args[0])
			if err != nil {
				return notReadable(err)
			}
			defer dir.Close()
			if f.claims && f.full {
				return usage(errors.New("--claims prints one screen; --full prints all, with the claims: leave one of the two out"))
			}
			in, err := a.input(dir)
			if err != nil {
				return notReadable(err)
			}
			if f.claims && len(in.Run.Claims) == 0 {
				return usage(fmt.Errorf("--claims: the run %s has no claims", args[0]))
			}
			if in.Units, err = f.units(); err != nil {
				return err
			}
			network, err := a.network(c.Context(), f.unitFlags, f.quiet)
			if err != nil {
				return err
			}
			in = translated(in, network)
			prepared := report.Prepare(in)
			if err := a.write(dir, prepared); err != nil {
				return errors.Join(a.text(prepared, f), unwritten(dir.Path(), err)) // the table is printed all the same
			}
			return a.table(prepared, dir.Path(), f)
		},
	}
	f.add(c)
	f.addUnit(c)
	f.addRTT(c)
	addClaims(c, &f.claims)
	c.Flags().StringVar(&out, "out", "", "with -: directory of the run (default: tare-runs/DATE-STUDY)")
	return c
}

// importRun reads a run from stdin and puts it into a new directory.
func (a App) importRun(out string) (path string, failed error) {
	files, err := store.ReadArchive(a.Stdin)
	if errors.Is(err, store.ErrNoArchive) {
		err = fmt.Errorf("%w; tare run --archive prints one at its end, and a Job only when it has completed", err)
	}
	if err != nil {
		return "", usage(fmt.Errorf("read a run from stdin: %w", err))
	}
	dir, err := createDir(out, studyfile.NameOf(files[store.StudyFile]))
	if err != nil {
		return "", usage(err)
	}
	defer func() { failed = errors.Join(failed, dir.Close()) }()
	return dir.Path(), dir.Unpack(files)
}

// write writes the reports of a run into its directory.
func (a App) write(dir *store.Dir, prepared report.Prepared) error {
	var page, text bytes.Buffer
	if err := errors.Join(prepared.HTML(&page), prepared.Markdown(&text)); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	figures, err := prepared.Figures()
	if err != nil {
		return fmt.Errorf("render figures: %w", err)
	}
	files := map[string][]byte{store.PageFile: page.Bytes(), store.TextFile: text.Bytes(), store.AnswerFile: []byte(prepared.Answer() + "\n")}
	for name, svg := range figures {
		files[store.FiguresDir+"/"+name] = svg
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := dir.WriteFile(name, files[name]); err != nil {
			return err // the others would fail alike
		}
	}
	return nil
}

// unwritten is why no report could be written into a run's directory, with what to do
// about it.
func unwritten(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) {
		return environment(fmt.Errorf("%w: make %s writable, or copy the run to a writable place; only the table was printed", err, dir))
	}
	return fmt.Errorf("%w: remove the file that is in the way", err)
}

// input reads what the report of a run needs.
func (a App) input(dir *store.Dir) (report.Input, error) {
	run, trials, err := dir.LoadPartial()
	if err != nil {
		return report.Input{}, err
	}
	if len(run.Cells) == 0 && len(trials) > 0 {
		run = a.judge(run, trials, dir.Path())
	}
	if changed := a.changedStudy(dir); changed != "" {
		run.Warnings = append(slices.Clip(run.Warnings), result.Warning{Code: string(warning.StudyChanged), Scope: "run",
			Text: fmt.Sprintf("%s was changed after the run, whose results are of what was measured: %s", store.StudyFile, changed)})
	}
	in := report.Input{Run: run, Trials: trials}
	in.Title, in.Description = titles(dir.Path())
	if src, err := store.ReadStudy(dir.Path()); err == nil {
		in = translated(in, studyfile.NetworkOf(src))
	}
	in.Page, in.Full = filepath.Join(dir.Path(), store.PageFile), "tare report --full "+quote(dir.Path())
	in.ClaimsCommand = "tare report --claims " + quote(dir.Path())
	in.Command = fmt.Sprintf("tare run %s --out NEW_DIRECTORY", quote(filepath.Join(dir.Path(), store.StudyFile)))
	return in, nil
}

// judge computes the cells of a run whose controller was killed. Its trials are complete, and
// its study lists the comparisons. Without a readable study the run stays without cells.
func (a App) judge(run result.Run, trials []result.Trial, dir string) result.Run {
	a, s, err := a.resumed(dir, false)
	if err != nil {
		return run
	}
	run.Profile, run.Seed = s.Profile, s.Seed
	run.Modes = a.modesOf(s, run.Modes)
	return analysis.Evaluate(run, analysis.Evidence{Study: plan.Decided(s, run), Trials: trials, Lab: !s.Target().Given(), Elsewhere: !driver.AllLocal(a.target.Hosts)})
}

// modesOf completes the modes of a run that has only trials, from the study and the drivers,
// in the order of the study.
func (a App) modesOf(s study.Study, told []result.Mode) []result.Mode {
	names := s.ModeNames()
	out := slices.Clone(told)
	slices.SortStableFunc(out, func(x, y result.Mode) int { return slices.Index(names, x.ID) - slices.Index(names, y.ID) })
	for i, m := range out {
		if m.Title != m.ID {
			continue // recorded by the run itself
		}
		asked, _ := s.ModeNamed(m.ID)
		if _, known, err := a.target.Drivers.For(asked.Mode); err == nil {
			out[i] = analysis.ModeOf(s, m.ID, known.Title, known.Baseline)
			out[i].Status, out[i].Reason, out[i].Like = m.Status, m.Reason, known.Like
		}
	}
	return out
}

// titles reads the title and description of the study. They are empty without a study, or for
// one of a later version.
func titles(dir string) (title, description string) {
	src, err := store.ReadStudy(dir)
	if err != nil {
		return "", ""
	}
	return studyfile.Titles(src)
}

// table prints the results. The whole report ends with the file of its page, which the
// first screen names anyway.
func (a App) table(prepared report.Prepared, dir string, f shownFlags) error {
	if err := a.text(prepared, f); err != nil || !f.full || f.quiet {
		return err
	}
	_, err := fmt.Fprintf(a.Stderr, "report: %s\n", filepath.Join(dir, store.PageFile))
	return err
}

// text prints a report as suits the terminal: one screen, or what the flags ask for.
func (a App) text(prepared report.Prepared, f shownFlags) error {
	out := a.colours()
	switch {
	case f.quiet && f.claims:
		return prepared.ClaimsTable(out, a.textOptions())
	case f.claims:
		return prepared.Claims(out, a.textOptions())
	case f.quiet:
		return prepared.Table(out, a.textOptions())
	case f.full:
		return prepared.Text(out, a.textOptions())
	}
	return prepared.Overview(out, a.textOptions())
}

// colours is stdout for a report, which has cleaned its texts: on a terminal its own colours pass.
func (a App) colours() io.Writer {
	if a.textOptions().Color {
		return raw(a.Stdout)
	}
	return a.Stdout
}

func (a App) textOptions() report.TextOptions {
	tty, width, _ := terminal(a.Stdout)
	if width == 0 {
		width = report.MaxWidth
	}
	return report.TextOptions{Width: min(width, report.MaxWidth), Color: tty && os.Getenv("NO_COLOR") == ""}
}

func (a App) lsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls [DIR]", Short: "List the runs below a directory",
		Example: "  tare ls\n  tare ls results",
		Args:    atMostOne(),
		Long:    "List the runs below a directory, newest first, each with its answer. Without one, $TARE_RUNS or tare-runs.",
		RunE: func(_ *cobra.Command, args []string) error {
			dir := runsDir()
			if len(args) > 0 {
				dir = args[0]
			}
			runs, err := store.List(dir)
			if errors.Is(err, fs.ErrNotExist) && len(args) == 0 {
				fmt.Fprintf(a.Stderr, "no runs yet: there is no directory %s\n", dir)
				return nil
			}
			if err != nil {
				return notReadable(err)
			}
			return a.list(runs)
		},
	}
}

// whatOf says what a run measured: the title of its study, its modes and workloads.
func whatOf(r store.Summary) string {
	title, _ := titles(r.Path)
	modes := strings.Join(r.Modes, ", ")
	if modes != "" && len(r.Workloads) > 0 {
		modes += "; " + strings.Join(r.Workloads, ", ")
	}
	switch {
	case title == "":
		title = modes
	case modes != "":
		title += ": " + modes
	}
	return wording.Cut(wording.Clean(title), 120)
}

func (a App) list(runs []store.Summary) error {
	if len(runs) == 0 {
		fmt.Fprintln(a.Stderr, "no runs here")
		return nil
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STARTED\tSTATUS\tPROFILE\tTRIALS\tWHAT\tDIRECTORY")
	for _, r := range runs {
		if r.Problem != "" {
			fmt.Fprintf(w, "unknown\tunreadable: %s\t\t\t\t%s\n", wording.Clean(r.Problem), wording.Clean(r.Path))
			continue
		}
		started := "unknown"
		if !r.Started.IsZero() {
			started = r.Started.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", started, wording.Clean(r.Outcome()), orDash(wording.Clean(r.Profile)), r.Trials, orDash(whatOf(r)), wording.Clean(r.Path))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	head, rows, _ := strings.Cut(table.String(), "\n")
	fmt.Fprintln(a.Stdout, head)
	a.withAnswers(rows, runs, func(r store.Summary) []string { return []string{answerOf(r)} })
	return nil
}

// withAnswers prints the lines of a table, each with what is told of its run below it.
func (a App) withAnswers(lines string, runs []store.Summary, told func(store.Summary) []string) {
	i := 0
	for line := range strings.Lines(lines) {
		fmt.Fprint(a.Stdout, line)
		for _, text := range told(runs[i]) {
			if text != "" {
				fmt.Fprintln(a.Stdout, "    "+text)
			}
		}
		i++
	}
}

// mostAnswer is how many columns the answer of a run takes in a list.
const mostAnswer = 300

// answerOf is the answer of a run for a list, empty if it is unknown.
func answerOf(r store.Summary) string { return wording.Cut(wording.Clean(r.Answer), mostAnswer) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
