package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/lab"
)

func (a App) gcCommand() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "gc", Short: "Remove what dead runs have left behind", Args: exactly(0),
		Long: "Remove the processes and namespaces of runs that are no longer alive, such as after kill -9.\n" +
			"Runs that are under way are not touched. What root's runs left, only root can remove.",
		RunE: func(*cobra.Command, []string) error {
			found, err := lab.Leftovers()
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
					if err := l.Remove(); err != nil {
						errs = append(errs, err)
						continue
					}
				}
				fmt.Fprintf(a.Stdout, "%s %s of run %s\n", verb, l.What, l.Run)
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
