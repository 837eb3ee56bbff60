package setup

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"tare/internal/cli/command"
	"tare/internal/facts"
	"tare/internal/result"
	"tare/internal/wording"
)

// backgroundLoadGroup is the title of the facts that take a second to be known.
const backgroundLoadGroup = "others"

// printMachine prints whether labs can be created, the rights and the machine, but not the background load.
func (d *diagnosis) printMachine(w io.Writer) error {
	fmt.Fprintf(w, "lab: %s\n", d.Lab)
	groups := append([]facts.Group{{Title: "rights", Facts: d.Rights}}, d.groups...)
	return printGroups(w, slices.DeleteFunc(groups, func(g facts.Group) bool { return g.Title == backgroundLoadGroup }))
}

// printBackgroundLoad prints the background load and the warnings.
func (d *diagnosis) printBackgroundLoad(w io.Writer) error {
	for _, g := range d.groups {
		if g.Title == backgroundLoadGroup && len(g.Facts) > 0 {
			if err := printGroups(w, []facts.Group{{Title: "others, in the last second", Facts: g.Facts}}); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(w, "\nWARNINGS")
	if len(d.Warnings) == 0 {
		fmt.Fprintln(w, "  none")
	}
	printWarnings(w, d.Warnings)
	if len(d.Existing) > 0 {
		fmt.Fprintln(w, "\nWARNINGS FOR RUNS ON AN EXISTING ENGINE (--engine), where client and server use the network stack of this machine")
		printWarnings(w, d.Existing)
	}
	return nil
}

func printWarnings(w io.Writer, warnings []result.Warning) {
	for _, warning := range warnings {
		fmt.Fprintf(w, "  %s\n", warning.Code)
		for _, line := range command.Wrapped(warning.Text, command.LineWidth-4) {
			fmt.Fprintf(w, "    %s\n", line)
		}
	}
}

func (d *diagnosis) printEngines(w io.Writer) error {
	return printGroups(w, []facts.Group{{Title: "Docker Engines", Facts: d.Engines.facts()}})
}

// printModes prints the result of trying each mode, and their number.
func (d *diagnosis) printModes(w io.Writer) error {
	can, tried, err := printProbed(w, d.Modes)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%d of the %d modes that were tried can be built here; %s above, explained in docs/warnings.md\n",
		can, tried, wording.Count(len(d.Warnings), "warning", "warnings"))
	return err
}

// printProbed prints the status of modes, with each reason once. It counts those that are ok, and those that were given all
// that they need.
func printProbed(w io.Writer, modes []probed) (can, tried int, err error) {
	fmt.Fprintln(w, "\nMODES")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	first := map[string]string{} // the first mode with a reason
	for _, m := range modes {
		reason := m.Reason
		switch same := first[reason]; {
		case same != "":
			reason = "as " + same
		case reason != "":
			first[reason] = m.Mode
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", m.Mode, m.Status, reason)
		if m.Status != probedNeeds {
			tried++
		}
		if m.Status == probedOK {
			can++
		}
	}
	return can, tried, t.Flush()
}

// printGroups prints groups of facts, each under its title.
func printGroups(w io.Writer, groups []facts.Group) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range groups {
		if len(g.Facts) == 0 {
			continue
		}
		fmt.Fprintf(t, "\n%s\n", strings.ToUpper(g.Title))
		for _, f := range g.Facts {
			fmt.Fprintf(t, "  %s\t%s\n", f.Name, f.Value)
		}
	}
	return t.Flush()
}
