package cli

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/driver"
	"tare/internal/linuxnet"
)

func (a App) modesCommand() *cobra.Command {
	var probe bool
	c := &cobra.Command{
		Use: "modes", Short: "List the network modes", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if probe {
				done, code, err := enter(c.Context())
				if done || err != nil && !errors.Is(err, linuxnet.ErrSystem) {
					return errors.Join(err, exitWith(code))
				}
			}
			var answers []error
			if probe {
				answers = a.probe(c.Context())
			}
			w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
			head := "MODE\tBASELINE\tWHAT IS BUILT"
			if probe {
				head = "MODE\tBASELINE\tHERE\tWHAT IS BUILT"
			}
			fmt.Fprintln(w, head)
			for i, m := range a.Drivers.Modes() {
				fmt.Fprintf(w, "%s\t%s\t", m.ID, orDash(m.Baseline))
				if probe {
					fmt.Fprintf(w, "%s\t", short(answers[i]))
				}
				fmt.Fprintln(w, m.Title)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&probe, "probe", false, "try each mode on this machine")
	return c
}

// short is a probe's answer in a word.
func short(err error) string {
	_, lacking := driver.AsUnsupported(err)
	switch {
	case err == nil:
		return "yes"
	case lacking:
		return "unsupported"
	default:
		return "failed"
	}
}
