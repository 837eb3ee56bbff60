package results

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/report"
	"tare/internal/store"
	"tare/internal/study/studyfile"
)

func (a commands) reportCommand() *cobra.Command {
	var f rundir.ShownFlags
	var out string
	c := &cobra.Command{
		Use: "report DIR|-", Short: "Render the report of a run again",
		Example: "  tare report tare-runs/20261121-101500-default\n  kubectl logs -n tare -f job/tare | tare report -",
		Args:    command.Exactly(1),
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
				return command.Usage(errors.New("--out is the directory of a run that is read from stdin; leave it out, or name - as the run"))
			}
			dir, err := store.Open(args[0])
			if err != nil {
				return command.NotReadable(err)
			}
			defer dir.Close()
			if f.Claims && f.Full {
				return command.Usage(errors.New("--claims prints one screen; --full prints all, with the claims: leave one of the two out"))
			}
			in, err := a.runs.Input(dir)
			if err != nil {
				return command.NotReadable(err)
			}
			if f.Claims && len(in.Run.Claims) == 0 {
				return command.Usage(fmt.Errorf("--claims: the run %s has no claims", args[0]))
			}
			if in.Units, err = f.Units(); err != nil {
				return err
			}
			network, err := f.Network(c.Context(), a.Streams, f.Quiet)
			if err != nil {
				return err
			}
			in = rundir.Translated(in, network)
			prepared := report.Prepare(in)
			if err := rundir.WriteReports(dir, prepared); err != nil {
				return errors.Join(f.Text(a.Streams, prepared), rundir.Unwritten(dir.Path(), err)) // the table is printed all the same
			}
			return f.Table(a.Streams, prepared, dir.Path())
		},
	}
	f.Add(c)
	f.AddUnit(c)
	f.AddRTT(c)
	rundir.AddClaims(c, &f.Claims)
	c.Flags().StringVar(&out, "out", "", "with -: directory of the run (default: tare-runs/DATE-STUDY)")
	command.CompleteArguments(c, rundir.Names)
	return c
}

// importRun reads a run from stdin and puts it into a new directory.
func (a commands) importRun(out string) (path string, failed error) {
	files, err := store.ReadArchive(a.Stdin)
	if errors.Is(err, store.ErrNoArchive) {
		err = fmt.Errorf("%w; tare run --archive prints one at its end, and a Job only when it has completed", err)
	}
	if err != nil {
		return "", command.Usage(fmt.Errorf("read a run from stdin: %w", err))
	}
	dir, err := rundir.Create(out, studyfile.NameOf(files[store.StudyFile]))
	if err != nil {
		return "", command.Usage(err)
	}
	defer func() { failed = errors.Join(failed, dir.Close()) }()
	return dir.Path(), dir.Unpack(files)
}
