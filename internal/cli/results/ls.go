package results

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/store"
	"tare/internal/wording"
)

func (a commands) lsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls [DIR]", Short: "List the runs below a directory",
		Example: "  tare ls\n  tare ls results",
		Args:    command.AtMostOne(),
		Long:    "List the runs below a directory, newest first, each with its answer. Without one, $TARE_RUNS or tare-runs.",
		RunE: func(_ *cobra.Command, args []string) error {
			runs, err := store.List(rundir.Under(args))
			if err != nil {
				return rundir.NoneYet(a.Streams, args, err)
			}
			return a.list(runs)
		},
	}
}

func (a commands) list(runs []store.Summary) error {
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", started, wording.Clean(r.Outcome()), command.OrDash(wording.Clean(r.Profile)), r.Trials, command.OrDash(rundir.About(r)), wording.Clean(r.Path))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	head, rows, _ := strings.Cut(table.String(), "\n")
	fmt.Fprintln(a.Stdout, head)
	rundir.WithAnswers(a.Stdout, rows, runs, func(r store.Summary) []string { return []string{rundir.AnswerOf(r)} })
	return nil
}
