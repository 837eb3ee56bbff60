package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/driver"
	"tare/internal/facts"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// diagnosis is what doctor finds, as --json prints it.
type diagnosis struct {
	Lab      string           `json:"lab"` // "ok as root", "ok in a user namespace", or why none can be made
	Ready    bool             `json:"ready"`
	Rights   []result.Fact    `json:"rights"`
	Machine  []result.Fact    `json:"machine"`
	Modes    []probed         `json:"modes"`
	Warnings []result.Warning `json:"warnings"`
}

type probed struct {
	Mode   string `json:"mode"`
	Status string `json:"status"` // ok, unsupported, failed
	Reason string `json:"reason,omitempty"`
}

func (a App) doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Say whether this machine can weigh, and what would bias it", Args: exactly(0),
		Long: "Try whether labs and each mode can be made here, and list what a careful reader should know\n" +
			"of this machine. Exit code 3 if no lab can be made.",
		RunE: func(c *cobra.Command, _ []string) error {
			done, code, err := enter(c.Context())
			if done {
				return exitWith(code)
			}
			d := a.diagnose(c, err)
			if asJSON {
				enc := json.NewEncoder(a.Stdout)
				enc.SetIndent("", "  ")
				return errors.Join(enc.Encode(d), err)
			}
			return errors.Join(a.printDiagnosis(d), err)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func (a App) diagnose(c *cobra.Command, noLab error) diagnosis {
	machine := facts.Machine("/")
	d := diagnosis{
		Lab: "ok, as root", Ready: noLab == nil, Rights: facts.ReadRights("/").Facts(), Machine: machine.Facts,
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
	answers := a.probe(c.Context())
	for i, m := range a.Drivers.Modes() {
		p, err := probed{Mode: m.ID, Status: "ok"}, answers[i]
		if u, lacking := driver.AsUnsupported(err); lacking {
			p.Status, p.Reason = "unsupported", u.Reason
		} else if err != nil {
			p.Status, p.Reason = "failed", err.Error()
		}
		d.Modes = append(d.Modes, p)
	}
	return d
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
	}{{"RIGHTS", d.Rights}, {"MACHINE", d.Machine}} {
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
