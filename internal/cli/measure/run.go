package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/cli/selection"
	"tare/internal/driver"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/runid"
	"tare/internal/runner"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/studies"
)

type runFlags struct {
	selection.StudyFlags
	out, resume          string
	force                bool
	json, verbose, quiet bool
	claims               bool
	archive              bool
	reader               study.Network // of the flags
	rundir.UnitFlags
}

func (a commands) runCommand() *cobra.Command {
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
		Args: command.AtMostOne(),
		RunE: func(c *cobra.Command, args []string) error { return a.run(c, args, f) },
	}
	f.Register(c)
	f.registerOutput(c, "STUDY")
	f.AddUnit(c)
	f.AddRTT(c)
	c.Flags().StringVar(&f.resume, "resume", "", "resume the interrupted run in this directory")
	rundir.AddClaims(c, &f.claims)
	c.Flags().BoolVar(&f.archive, "archive", false, "print the run's files to stdout, too, as text that tare report - reads: for a run whose output is all that is kept")
	c.Flags().BoolVar(&f.force, "force", false, "with --resume: continue although the study, the program or a mode changed, and set the earlier trials apart")
	command.CompleteArguments(c, studies.Names)
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

func (a commands) run(c *cobra.Command, args []string, f runFlags) error {
	if _, err := f.Units(); err != nil {
		return err
	}
	if f.claims && (f.json || f.verbose) {
		return command.Usage(errors.New("--claims prints one screen; --json and --verbose print all, with the claims: leave one of the two out"))
	}
	if f.archive && f.json {
		return command.Usage(errors.New("--archive and --json both print the run to stdout; leave out one of them"))
	}
	var s study.Study
	var err error
	if f.resume != "" {
		if len(args) > 0 || f.out != "" || f.Changed(c) {
			return command.Usage(errors.New("--resume takes the study, seed and directory from the run; it allows no other choice"))
		}
		a.hosts, s, err = a.hosts.Resumed(f.resume, f.Yes)
	} else if f.force {
		return command.Usage(errors.New("--force is only for --resume"))
	} else {
		if len(args) == 0 && c.Flags().NFlag() == 0 && firstRun(a.Streams) {
			if f.Purpose, err = askTraffic(c.Context(), a.Streams); err != nil {
				return err
			}
			if f.Purpose != "" { // for where this command is run again as root of a user namespace
				a.hosts.Args = append(slices.Clone(a.hosts.Args), "--for="+f.Purpose)
			}
		}
		a.hosts, s, err = f.Load(c, args, a.hosts)
	}
	if err != nil {
		return err
	}
	if f.claims && len(s.Claims) == 0 {
		return command.Usage(fmt.Errorf("--claims: %w", rundir.NoClaims(s.Name)))
	}
	if f.reader, err = f.Network(c.Context(), a.Streams, f.quiet); err != nil {
		return err
	}
	if f.reader.RTT > 0 {
		s.Network, a.hosts = f.reader, a.hosts.WithRTT(f.reader.RTT.Std())
	}
	_, err = a.measure(c.Context(), s, f)
	return err
}

// measure runs a study and reports it. It returns the directory of the run.
func (a commands) measure(background context.Context, s study.Study, f runFlags) (at string, failed error) {
	// The user namespace is entered after the command line is checked and before anything is
	// created.
	if err := a.hosts.Reach(background); err != nil {
		return "", err
	}
	ctx, stop := a.Ending(background)
	defer stop()
	defer func() { failed = errors.Join(failed, a.hosts.Target.Close()) }()
	if err := a.hosts.Lacks(ctx, s); err != nil {
		return "", err
	}
	if f.Chosen != "" && !f.quiet {
		fmt.Fprintln(a.Stderr, "tare:", f.Chosen)
	}
	dir, done, err := a.openRun(f, s)
	if err != nil {
		return "", command.Usage(err)
	}
	defer dir.Close()
	err = a.execute(ctx, s, dir, done, f)
	return dir.Path(), err // which may have been moved
}

// openRun makes a run's directory, or opens it again with the trials it has.
func (a commands) openRun(f runFlags, s study.Study) (*store.Dir, store.Resumption, error) {
	var none store.Resumption
	if f.resume != "" {
		return a.runs.Reopen(f.resume, s, f.force)
	}
	dir, err := rundir.Create(f.out, s.Name)
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
func (a commands) execute(ctx context.Context, s study.Study, dir *store.Dir, done store.Resumption, f runFlags) error {
	id, err := runid.New()
	if err != nil {
		return command.Environment(err)
	}
	defer id.Release()
	machines, err := a.hosts.Target.Begin(driver.Run{ID: id.ID, Study: s})
	if err != nil {
		return command.Environment(err)
	}
	view := a.view(f)
	defer view.close() // after a panic, too
	run, err := runner.Run(ctx, runner.Config{
		Study: s, RunID: id.ID, Machines: machines, Drivers: a.hosts.Target.Drivers, Dir: dir, Build: a.runs.Build,
		Listener: view.Listener, Progress: view.progress, Resumed: done, Force: f.force,
	})
	last, stop := command.LastSignals(context.WithoutCancel(ctx))
	defer stop()
	signalled := command.Signalled(ctx)
	view.close() // the table comes in its place
	if other, ok := errors.AsType[*runner.OtherExperimentError](err); ok {
		return command.Usage(errors.Join(rundir.Mixing(dir.Path(), other.Apart), other.Cleanup))
	}
	if err != nil && !errors.Is(err, runner.ErrNothing) {
		return err
	}
	published := a.publish(last, dir, f)
	if published != nil && !a.Unread(published) {
		rerr := errors.Join(err, published)
		if run.Status == result.RunInterrupted { // often because nobody reads the output
			rerr = command.WithCode(command.ExitInterrupted, rerr)
		}
		return rerr
	}
	if err := a.ended(run, err, dir.Path(), signalled); err != nil {
		return err
	}
	if f.claims && published == nil {
		return rundir.ClaimsOutcome(run.Claims)
	}
	return published
}

// ended is the error of a run that was recorded in a directory, with its exit code, from the error that it ended with. A signal that came
// after the last trial has changed nothing of the run.
func (a commands) ended(run result.Run, err error, dir string, signalled bool) error {
	switch {
	case run.Status == result.RunInterrupted:
		fmt.Fprintf(a.Stderr, "tare: interrupted; results so far are in %s; tare run --resume %s continues\n", dir, command.Quote(dir))
		return command.WithCode(command.ExitInterrupted, command.ErrSilent)
	case err != nil && run.Trials.Invalid > 0 && (run.Trials.OK == 0 || run.Noisy != ""):
		return command.WithCode(command.ExitUnfit, fmt.Errorf("%w; stop other programs, or allow them (invalid: {others: off, steal: off} in the study), then run again; the trials are in %s", err, dir))
	case err != nil:
		return command.Environment(err)
	case signalled:
		fmt.Fprintf(a.Stderr, "tare: interrupted after the last trial; the run in %s is complete\n", dir)
		return command.WithCode(command.ExitInterrupted, command.ErrSilent)
	case run.Noisy != "":
		fmt.Fprintf(a.Stderr, "tare: measured, but too noisy to judge: %s; stop other programs, or allow them (invalid: {others: off, steal: off} in the study), then run again; the results are in %s\n",
			run.Noisy, dir)
		return command.WithCode(command.ExitUnfit, command.ErrSilent)
	}
	return nil
}

// publish writes the reports of a run and prints one, unless a signal comes first.
func (a commands) publish(last context.Context, dir *store.Dir, f runFlags) error {
	in, err := a.runs.Input(dir)
	if err != nil {
		return err
	}
	if in.Units, err = f.Units(); err != nil {
		return err
	}
	prepared := report.Prepare(rundir.Translated(in, f.reader))
	if err := rundir.WriteReports(dir, prepared); err != nil {
		return err
	}
	whole, err := command.Printed(last, func() error { return a.print(dir, prepared, in.Run, f) })
	if !whole {
		return command.WithCode(command.ExitInterrupted, fmt.Errorf("interrupted while the results were printed; they are in %s; tare report %[1]s prints them", command.Quote(dir.Path())))
	}
	return err
}

// print prints the report of a run as the flags want it.
func (a commands) print(dir *store.Dir, prepared report.Prepared, run result.Run, f runFlags) error {
	if !f.json {
		err := rundir.ShownFlags{Full: f.verbose, Quiet: f.quiet, Claims: f.claims}.Table(a.Streams, prepared, dir.Path())
		if err == nil && f.archive {
			err = dir.WriteArchive(command.Raw(a.Stdout))
		}
		return err
	}
	text, err := store.EncodeRun(run)
	if err != nil {
		return fmt.Errorf("print run.json: %w", err)
	}
	_, err = command.Raw(a.Stdout).Write(text)
	return err
}
