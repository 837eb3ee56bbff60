package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/engine"
	"tare/internal/facts"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/study"
)

// diagnosis is what doctor finds, as --json prints it.
type diagnosis struct {
	Lab      string           `json:"lab"` // "ok as root", "ok in a user namespace", or why none can be made
	Ready    bool             `json:"ready"`
	Rights   []result.Fact    `json:"rights"`
	Machine  []result.Fact    `json:"machine"`
	Engines  engines          `json:"engines"`
	Modes    []probed         `json:"modes"`
	Warnings []result.Warning `json:"warnings"`
}

// engines is which Docker Engines there are to use: private ones, which tare starts
// for a run, and the one that the docker command would use.
type engines struct {
	Private  string        `json:"private"` // "ok", or what is lacking
	Programs []result.Fact `json:"programs"`
	Existing string        `json:"existing"` // its name, or why there is none
	Versions []result.Fact `json:"versions"`
}

func (a App) doctorCommand() *cobra.Command {
	var asJSON bool
	var only []string
	c := &cobra.Command{
		Use: "doctor", Short: "Say whether this machine can weigh, and what would bias it",
		Example: "  tare doctor\n  tare doctor --modes docker/overlay,netns/vxlan\n  tare doctor --json >doctor.json",
		Args:    exactly(0),
		Long: "Try whether labs and each mode can be made here, and list what a careful reader should know\n" +
			"of this machine. Each mode is built and taken down again, engines included: that takes seconds.\n" +
			"Exit code 3 if no lab can be made.",
		RunE: func(c *cobra.Command, _ []string) error {
			names, err := a.chosen(only)
			if err != nil {
				return err
			}
			done, code, err := enter(c.Context())
			if done {
				return exitWith(code)
			}
			d := a.diagnose(c.Context(), names, err)
			if asJSON {
				enc := json.NewEncoder(a.Stdout)
				enc.SetIndent("", "  ")
				return errors.Join(enc.Encode(d), err)
			}
			return errors.Join(a.printDiagnosis(d), err)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().StringSliceVar(&only, "modes", nil, "modes to try, separated by commas; all when absent")
	return c
}

func (a App) diagnose(ctx context.Context, modes []string, noLab error) diagnosis {
	machine := facts.Machine("/")
	d := diagnosis{
		Lab: "ok, as root", Ready: noLab == nil, Rights: facts.ReadRights("/").Facts(), Machine: machine.Facts, Engines: findEngines(ctx),
		Warnings: append([]result.Warning{}, machine.Warnings...), Modes: []probed{},
	}
	if noLab != nil {
		d.Lab = noLab.Error()
		if !errors.Is(noLab, linuxnet.ErrSystem) {
			return d // each mode would say the same
		}
	} else if !linuxnet.RealRoot() {
		d.Lab = "ok, in a user namespace"
	}
	if cpus, err := facts.CPUs("/"); err == nil {
		d.Machine = append(d.Machine, result.Fact{Name: "cpus_for_trials", Value: fmt.Sprint(cpus)})
	}
	facts, warnings := weather(ctx, study.InvalidDefaults())
	d.Machine, d.Warnings = append(d.Machine, facts...), append(d.Warnings, warnings...)
	d.Modes = a.probe(ctx, modes)
	return d
}

// findEngines looks for what private engines are made of, and speaks to the engine
// that the docker command would use.
func findEngines(ctx context.Context) engines {
	found := engines{Private: probedOK, Programs: append([]result.Fact{}, engine.Programs(ctx)...), Versions: []result.Fact{}}
	if err := engine.Lacking(ctx); err != nil {
		found.Private = oneLine(err.Error())
	}
	e, err := engine.Connect(ctx, "")
	if err != nil {
		found.Existing = oneLine(err.Error())
		return found
	}
	found.Existing, found.Versions = e.Name, e.Versions.Facts()
	if err := e.Disconnect(); err != nil {
		found.Existing += ": " + oneLine(err.Error())
	}
	return found
}

// facts are the engines for people.
func (e engines) facts() []result.Fact {
	out := append([]result.Fact{{Name: "private", Value: e.Private}}, e.Programs...)
	return append(append(out, result.Fact{Name: "existing", Value: e.Existing}), e.Versions...)
}

func (a App) printDiagnosis(d diagnosis) error {
	fmt.Fprintf(a.Stdout, "lab: %s\n\n", d.Lab)
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODES")
	for _, m := range d.Modes {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", m.Mode, m.Status, m.Reason)
	}
	for _, part := range []struct {
		title string
		facts []result.Fact
	}{{"DOCKER ENGINES", d.Engines.facts()}, {"RIGHTS", d.Rights}, {"MACHINE", d.Machine}} {
		fmt.Fprintf(w, "\n%s\n", part.title)
		for _, f := range part.facts {
			fmt.Fprintf(w, "  %s\t%s\n", f.Name, f.Value)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, "\nWARNINGS")
	if len(d.Warnings) == 0 {
		fmt.Fprintln(a.Stdout, "  none")
	}
	for _, warning := range d.Warnings {
		fmt.Fprintf(a.Stdout, "  %s: %s\n", warning.Code, warning.Text)
	}
	return nil
}
