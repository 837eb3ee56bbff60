package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/engine"
	"tare/internal/lab"
)

func (a App) gcCommand() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "gc", Short: "Remove what dead runs have left behind", Args: exactly(0),
		Long: "Remove the processes, namespaces and Docker Engines of runs that are no longer alive, such as after kill -9.\n" +
			"Runs that are under way are not touched. What root's runs left, only root can remove.",
		RunE: func(c *cobra.Command, _ []string) error {
			found, err := leftovers()
			if err != nil {
				return err
			}
			verb := "removed"
			if dry {
				verb = "would remove"
			}
			var errs []error
			for _, l := range found {
				if !dry {
					if err := l.remove(c.Context()); err != nil {
						errs = append(errs, err)
						continue
					}
				}
				fmt.Fprintf(a.Stdout, "%s %s of run %s\n", verb, l.what, l.run)
			}
			if len(found) == 0 {
				fmt.Fprintln(a.Stdout, "nothing to remove")
			}
			return errors.Join(errs...)
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	return c
}

// leftover is something of a run that is no longer alive, whoever found it.
type leftover struct {
	run, what string
	remove    func(context.Context) error
}

// leftovers finds what dead runs have left, in the order in which it can be
// removed.
func leftovers() ([]leftover, error) {
	var found []leftover
	ofLab, err := lab.Leftovers()
	if err != nil {
		return nil, err
	}
	for _, l := range ofLab {
		found = append(found, leftover{l.Run, l.What, func(context.Context) error { return l.Remove() }})
	}
	alive, err := lab.Alive()
	if err != nil {
		return nil, err
	}
	private, err := engine.PrivateLeftovers(alive)
	if err != nil {
		return nil, err
	}
	for _, l := range private {
		found = append(found, leftover{l.Run, l.What, l.Remove})
	}
	// Who is alive is asked once more, after all was found: what a run made that
	// began meanwhile is no leftover.
	if alive, err = lab.Alive(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(l leftover) bool { return slices.Contains(alive, l.run) }), nil
}
