package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/export"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/wording"
)

func (a commands) exportCommand() *cobra.Command {
	var format, out string
	var most int
	var names []string
	long := "Write a run to stdout, or to a file, in the format of another program, as UTF-8. RUN is the run's\ndirectory, or its id if it is in $TARE_RUNS or tare-runs.\n\nFormats:"
	for _, f := range export.All() {
		names = append(names, f.Name)
		long += fmt.Sprintf("\n  %-10s %s", f.Name, f.What)
	}
	c := &cobra.Command{
		Use: "export RUN", Short: "Export a run for other programs", Long: long, Args: command.Exactly(1),
		Example: "  tare export tare-runs/20261121-101500-default >trials.csv\n  tare export --format openmetrics --out tare.prom 2fa57c4b",
		RunE: func(_ *cobra.Command, args []string) error {
			f, ok := export.Named(format)
			if !ok {
				return command.Usage(fmt.Errorf("--format is %q; allowed: %s", format, strings.Join(names, ", ")))
			}
			if most < 0 || most > 0 && f.Name != "md" {
				return command.Usage(errors.New("--max-bytes is for --format md, which can be cut, and at least 1"))
			}
			return a.export(args[0], f, most, out)
		},
	}
	c.Flags().StringVar(&out, "out", "", "write to this file instead of stdout")
	c.Flags().IntVar(&most, "max-bytes", 0, "cut Markdown before a section to at most so many bytes; 0 for all of it")
	c.Flags().StringVar(&format, "format", "csv", "how to write them: "+strings.Join(names, ", "))
	command.CompleteArguments(c, rundir.Names)
	command.CompleteFormats(c, names...)
	return c
}

func (a commands) export(name string, f export.Format, most int, out string) error {
	dir, err := rundir.Find(name)
	if err != nil {
		return command.NotReadable(err)
	}
	defer dir.Close()
	run, trials, err := dir.LoadPartial()
	if err != nil {
		return command.NotReadable(err)
	}
	a.runs.NoteMixed(run, dir.Path())
	if changed := a.runs.ChangedStudy(dir); changed != "" {
		fmt.Fprintf(a.Stderr, "tare: warning: %s: %s was changed after the run, whose results are of what was measured: %s\n", wording.Clean(dir.Path()), store.StudyFile, wording.Clean(changed))
	}
	run = a.runs.Judge(run, trials, dir.Path())
	if out == "" {
		return writeExport(a.Stdout, f, run, trials, most)
	}
	if err := command.WriteFile(out, func(to io.Writer) error { return writeExport(to, f, run, trials, most) }); err != nil {
		return fmt.Errorf("write export %s: %w", out, err)
	}
	return nil
}

// writeExport writes a run in a format, cut to so many bytes; 0 is all of it.
func writeExport(to io.Writer, f export.Format, run result.Run, trials []result.Trial, most int) error {
	if most == 0 {
		return f.Write(to, run, trials)
	}
	var text bytes.Buffer
	if err := f.Write(&text, run, trials); err != nil {
		return err
	}
	_, err := to.Write(export.Cut(text.Bytes(), most))
	return err
}
