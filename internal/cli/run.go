package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/driver"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/runid"
	"tare/internal/runner"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/studyfile"
)

type runFlags struct {
	studyFlags
	out, resume          string
	force                bool
	json, verbose, quiet bool
	claims               bool
	archive              bool
	network              study.Network // of the flags
	unitFlags
}

func (a App) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "run [STUDY]", Short: "Measure the modes of a study",
		Long: "Measure the modes of a study file or of a built-in study. Without either, and without --modes, this machine decides: Docker's networks in private engines\n" +
			"(study docker) if dockerd is installed and you are root, else those of the engine that runs here and that you may use (study engine), else namespaces\n" +
			"(study default), to which an engine adds. The first run at a terminal that is given nothing asks which traffic is yours; Enter takes the study's workloads.\n\n" +
			"The results go to stdout, on one screen; progress and warnings go to stderr, and everything\n" +
			"goes into the run's directory. Requires root or unprivileged user namespaces; docker modes\n" +
			"require root, or with --engine access to an existing engine.\n\n" +
			"With --claims the exit code is 10 if a claim of the study does not hold, and 11 if none of these but one cannot be told.",
		Example: "  tare run\n  tare run --modes host,netns/vxlan --workloads tcp_rr\n  tare run my-study.yaml --profile standard --out results/monday\n" +
			"  tare run overlays\n  tare run --engine docker\n  tare run sdn --engine docker:left=192.0.2.1 --engine docker:right=192.0.2.2",
		Args: atMostOne(),
		RunE: func(c *cobra.Command, args []string) error { return a.run(c, args, f) },
	}
	f.register(c)
	f.registerOutput(c, "STUDY")
	f.addUnit(c)
	f.addRTT(c)
	c.Flags().StringVar(&f.resume, "resume", "", "resume the interrupted run in this directory")
	addClaims(c, &f.claims)
	c.Flags().BoolVar(&f.archive, "archive", false, "print the run's files to stdout, too, as text that tare report - reads: for a run whose output is all that is kept")
	c.Flags().BoolVar(&f.force, "force", false, "with --resume: continue although the study or the program changed, and set the earlier trials apart")
	return c
}

// registerOutput adds the flags that say where the results go; study ends the name of the
// default directory.
func (f *runFlags) registerOutput(c *cobra.Command, study string) {
	c.Flags().StringVar(&f.out, "out", "", "directory of this run (default: tare-runs/DATE-"+study+")")
	c.Flags().BoolVar(&f.json, "json", false, "print run.json to stdout instead of the table")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log every step and print the whole report")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print the table alone, and no progress")
}

func (a App) run(c *cobra.Command, args []string, f runFlags) error {
	if _, err := f.units(); err != nil {
		return err
	}
	if f.claims && (f.json || f.verbose) {
		return usage(errors.New("--claims prints one screen; --json and --verbose print all, with the claims: leave one of the two out"))
	}
	if f.archive && f.json {
		return usage(errors.New("--archive and --json both print the run to stdout; leave out one of them"))
	}
	var s study.Study
	var err error
	if f.resume != "" {
		if len(args) > 0 || f.out != "" || f.changed(c) {
			return usage(errors.New("--resume takes the study, seed and directory from the run; it allows no other choice"))
		}
		a, s, err = a.resumed(f.resume, f.yes)
	} else if f.force {
		return usage(errors.New("--force is only for --resume"))
	} else {
		if len(args) == 0 && c.Flags().NFlag() == 0 && a.firstRun() {
			if f.purpose, err = a.askTraffic(c.Context()); err != nil {
				return err
			}
			if f.purpose != "" { // for where this command is run again as root of a user namespace
				a.args = append(slices.Clone(a.args), "--for="+f.purpose)
			}
		}
		a, s, err = f.load(c, args, a)
	}
	if err != nil {
		return err
	}
	if f.claims && len(s.Claims) == 0 {
		return usage(fmt.Errorf("--claims: %w", noClaims(s.Name)))
	}
	if f.network, err = a.network(c.Context(), f.unitFlags, f.quiet); err != nil {
		return err
	}
	if f.network.RTT > 0 {
		s.Network, a = f.network, a.withRTT(f.network.RTT.Std())
	}
	_, err = a.measure(c.Context(), s, f)
	return err
}

// measure runs a study and reports it. It returns the directory of the run, empty if another
// process did the work.
func (a App) measure(background context.Context, s study.Study, f runFlags) (at string, failed error) {
	// The user namespace is entered after the command line is checked and before anything is
	// created.
	if done, code, err := a.reach(background); err != nil || done {
		return "", errors.Join(err, exitWith(code))
	}
	ctx, stop := a.ending(background)
	defer stop()
	defer func() { failed = errors.Join(failed, a.target.Close()) }()
	if err := a.lacks(ctx, s); err != nil {
		return "", err
	}
	if f.chosen != "" && !f.quiet {
		fmt.Fprintln(a.Stderr, "tare:", f.chosen)
	}
	dir, done, err := a.openRun(f, s)
	if err != nil {
		return "", usage(err)
	}
	defer dir.Close()
	err = a.execute(ctx, s, dir, done, f)
	return dir.Path(), err // which may have been moved
}

func orName(name string) string {
	if name == "" {
		return "study"
	}
	return name
}

// runsDir is where runs go and are looked for.
func runsDir() string {
	if dir := os.Getenv("TARE_RUNS"); dir != "" {
		return dir
	}
	return "tare-runs"
}

// createDir makes the directory of a new run, named by the time and the study
// unless out says how.
func createDir(out, name string) (*store.Dir, error) {
	if out != "" {
		return store.Create(out)
	}
	base := filepath.Join(runsDir(), time.Now().Format("20060102-150405")+"-"+orName(name))
	dir, err := store.Create(base)
	// Two runs can start within a second.
	for n := 2; errors.Is(err, store.ErrExists); n++ {
		dir, err = store.Create(fmt.Sprintf("%s-%d", base, n))
	}
	return dir, err
}

// openRun makes a run's directory, or opens it again with the trials it has.
func (a App) openRun(f runFlags, s study.Study) (*store.Dir, store.Resumption, error) {
	var none store.Resumption
	if f.resume != "" {
		return a.reopen(f.resume, s, f.force)
	}
	dir, err := createDir(f.out, s.Name)
	if err != nil {
		return nil, none, err
	}
	text, err := studyfile.Marshal(s)
	if err == nil {
		err = dir.WriteStudy(text)
	}
	if err != nil {
		dir.Close()
		return nil, none, err
	}
	return dir, none, nil
}

// execute runs the study and reports it.
func (a App) execute(ctx context.Context, s study.Study, dir *store.Dir, done store.Resumption, f runFlags) error {
	id, err := runid.New()
	if err != nil {
		return environment(err)
	}
	defer id.Release()
	ground, err := a.target.Begin(driver.Run{ID: id.ID, Study: s})
	if err != nil {
		return environment(err)
	}
	view := a.view(f)
	defer view.close() // after a panic, too
	run, err := runner.Run(ctx, runner.Config{
		Study: s, RunID: id.ID, Machines: ground, Drivers: a.target.Drivers, Dir: dir, Build: a.Build,
		Listener: view.Listener, Progress: view.progress, Resumed: done, Force: done.Forced,
	})
	view.close() // the table comes in its place
	if err != nil && !errors.Is(err, runner.ErrNothing) {
		return err
	}
	published := a.publish(dir, f)
	if published != nil && !a.unread(published) {
		rerr := errors.Join(err, published)
		if run.Status == result.RunInterrupted { // often because nobody reads the output
			rerr = &codeError{exitInterrupted, rerr}
		}
		return rerr
	}
	if err := a.ended(run, err, dir.Path()); err != nil {
		return err
	}
	if f.claims && published == nil {
		return claimsOutcome(run.Claims)
	}
	return published
}

// ended is the error of a run that was recorded in a directory, with its exit code, from the error that it ended with.
func (a App) ended(run result.Run, err error, dir string) error {
	switch {
	case run.Status == result.RunInterrupted:
		fmt.Fprintf(a.Stderr, "tare: interrupted; results so far are in %s; tare run --resume %s continues\n", dir, quote(dir))
		return &codeError{exitInterrupted, errSilent}
	case err != nil && run.Trials.Invalid > 0 && (run.Trials.OK == 0 || run.Noisy != ""):
		return &codeError{exitUnfit, fmt.Errorf("%w; stop other programs, or allow them (invalid: {others: off, steal: off} in the study), then run again; the trials are in %s", err, dir)}
	case err != nil:
		return environment(err)
	case run.Noisy != "":
		fmt.Fprintf(a.Stderr, "tare: measured, but too noisy to judge: %s; stop other programs, or allow them (invalid: {others: off, steal: off} in the study), then run again; the results are in %s\n",
			run.Noisy, dir)
		return &codeError{exitUnfit, errSilent}
	}
	return nil
}

// publish writes the reports of a run and prints one.
func (a App) publish(dir *store.Dir, f runFlags) error {
	in, err := a.input(dir)
	if err != nil {
		return err
	}
	if in.Units, err = f.units(); err != nil {
		return err
	}
	prepared := report.Prepare(translated(in, f.network))
	if err := a.write(dir, prepared); err != nil {
		return err
	}
	if !f.json {
		err := a.table(prepared, dir.Path(), shownFlags{full: f.verbose, quiet: f.quiet, claims: f.claims})
		if err == nil && f.archive {
			err = dir.WriteArchive(raw(a.Stdout))
		}
		return err
	}
	text, err := store.EncodeRun(in.Run)
	if err != nil {
		return fmt.Errorf("print run.json: %w", err)
	}
	_, err = raw(a.Stdout).Write(text)
	return err
}

// quote makes an argument safe to paste into a shell.
func quote(arg string) string {
	if arg != "" && strings.Trim(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,=@") == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
