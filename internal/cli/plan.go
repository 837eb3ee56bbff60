package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/plan"
	"tare/internal/study"
)

func (a App) planCommand() *cobra.Command {
	var f studyFlags
	var order bool
	c := &cobra.Command{
		Use: "plan [STUDY]", Short: "Show what a run would do and how long it would take",
		Example: "  tare plan\n  tare plan overlays --profile standard\n  tare plan my-study.yaml",
		Args:    atMostOne(),
		Long: "Show what a run of this study would build, how long it would take and which rights it requires.\n" +
			"Nothing is built and no rights are required. A running engine is asked whether it has the networks of the modes.",
		RunE: func(c *cobra.Command, args []string) error {
			a, s, err := f.load(c, args, a)
			if err != nil {
				return err
			}
			if f.chosen != "" {
				fmt.Fprintln(a.Stderr, "tare:", f.chosen)
			}
			if err := a.foresee(c.Context(), s); err != nil {
				return err
			}
			return a.printPlan(plan.Make(s).WithSetupTimes(a.target.Drivers.SetupTimes(s)), s, order)
		},
	}
	f.register(c)
	c.Flags().BoolVar(&order, "order", false, "also print every trial in its order")
	return c
}

func (a App) printPlan(p plan.Plan, s study.Study, order bool) error {
	printTime(a.Stdout, p, s)
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODE\tBASELINE\tWHAT IS BUILT")
	for _, asked := range s.Modes {
		_, m, err := a.target.Drivers.For(asked.Mode)
		if err != nil {
			return err
		}
		title := cmp.Or(asked.Title, m.Title)
		fmt.Fprintf(w, "%s\t%s\t%s%s\n", asked.Name(), orDash(s.BaselineOf(asked, m.Baseline)), title, limited(asked.Limits))
	}
	fmt.Fprintln(w, "\nWORKLOAD\tWARM-UP\tTIMED\tSLICE\tPARAMETERS")
	for _, wl := range p.Workloads {
		slice := "all at once"
		if (plan.Trial{Workload: wl}).Sliced() {
			slice = wl.Slice.String()
		}
		timed := wl.Duration.String()
		if wl.Step > 0 {
			timed = "steps of " + wl.Step.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", wl.ID, wl.Warmup, timed, slice, parameters(wl))
	}
	printScenarios(w, s)
	if err := w.Flush(); err != nil {
		return err
	}
	printMethod(a.Stdout, p, s)
	for _, line := range a.target.DescribeChanges(s) {
		fmt.Fprintln(a.Stdout, line)
	}
	if !order {
		return nil
	}
	fmt.Fprintln(w, "\nTRIAL\tBLOCK\tWORKLOAD\tMODE")
	n := 0
	for t := range p.Trials() {
		block := fmt.Sprint(t.Block)
		if t.Pilot() {
			block = "pilot"
		}
		n++
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", n, block, t.Workload.ID, t.Mode)
	}
	return w.Flush()
}

// printScenarios lists the study's own names and what it compares.
func printScenarios(w io.Writer, s study.Study) {
	if len(s.Scenarios) > 0 {
		fmt.Fprintln(w, "\nSCENARIO\tMODE\tWORKLOAD\tWHAT IT IS")
		for _, sc := range s.Scenarios {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", sc.ID, sc.Mode, sc.Workload, sc.Title)
		}
	}
	if len(s.Compare) > 0 {
		fmt.Fprintln(w, "\nCOMPARISON\tOF\tTO\tWHAT IT ASKS")
		for _, c := range s.Compare {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Name(), c.A, c.B, c.Title)
		}
	}
}

// limited describes the limits of a mode's endpoints.
func limited(l study.Limits) string {
	if l == (study.Limits{}) {
		return ""
	}
	return fmt.Sprintf("; limits: client %s, server %s", l.Client, l.Server)
}

// parameters lists the settings of a workload other than its lengths.
func parameters(w study.Workload) string {
	var out []string
	for _, s := range w.Settings() {
		if !slices.Contains([]string{"id", "workload", "warmup", "duration", "duration_min", "duration_max", "every", "times", "slice"}, s.Key) {
			out = append(out, s.Key+"="+s.Value)
		}
	}
	return strings.Join(out, " ")
}
