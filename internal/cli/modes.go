package cli

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/linuxnet"
)

func (a App) modesCommand() *cobra.Command {
	var probe bool
	c := &cobra.Command{
		Use: "modes [MODE...]", Short: "List the network modes",
		Example: "  tare modes\n  tare modes --probe docker/ipvlan netns/ipvlan",
		Args:    cobra.ArbitraryArgs,
		Long: "List the network modes, or those named. With --probe, try each on this machine: it is built\n" +
			"and taken down again, several at a time.",
		RunE: func(c *cobra.Command, args []string) error {
			names, err := a.chosen(args)
			if err != nil {
				return err
			}
			var tried []probed
			if probe {
				done, code, err := enter(c.Context())
				if done || err != nil && !errors.Is(err, linuxnet.ErrSystem) {
					return errors.Join(err, exitWith(code))
				}
				tried = a.probe(c.Context(), names)
			}
			return a.listModes(names, tried)
		},
	}
	c.Flags().BoolVar(&probe, "probe", false, "try each mode on this machine")
	return c
}

// listModes prints a table of the modes, and what came of trying them.
func (a App) listModes(names []string, tried []probed) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	head := "MODE\tBASELINE\tWHAT IS BUILT"
	if tried != nil {
		head = "MODE\tBASELINE\tHERE\tWHAT IS BUILT"
	}
	fmt.Fprintln(w, head)
	for i, name := range names {
		_, m, _ := a.Drivers.For(name) // of a planned mode too
		fmt.Fprintf(w, "%s\t%s\t", name, orDash(m.Baseline))
		if tried != nil {
			fmt.Fprintf(w, "%s\t", short(tried[i]))
		}
		fmt.Fprintln(w, m.Title)
	}
	return w.Flush()
}

// short is what came of trying a mode in a word.
func short(p probed) string {
	if p.Status == probedOK {
		return "yes"
	}
	return p.Status
}
