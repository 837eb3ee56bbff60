package setup

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/hosts"
	"tare/internal/wording"
)

func (a commands) whichCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "which", Short: "List the networks of this machine, each with the command that measures it",
		Long: "List the networks found here, each with the command that measures it: those of the engines that run and that this user may use, the\n" +
			"configurations of CNI plugins, and the cluster of the kubeconfig. Nothing is started or changed.",
		Example: "  tare which\n  tare which --json",
		Args:    command.Exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			found := hosts.Networks(c.Context())
			if asJSON {
				return a.PrintJSON(append([]hosts.Network{}, found...))
			}
			return printNetworks(a.Stdout, found)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printNetworks(out io.Writer, found []hosts.Network) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "no engine that runs, no CNI configuration and no kubeconfig was found here; tare engines lists the engines that tare can start, tare modes what it can build")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var unread []string
	if slices.ContainsFunc(found, func(n hosts.Network) bool { return n.Name != "" }) {
		fmt.Fprintln(w, "WHERE\tNETWORK\tKIND\tMEASURE IT")
	}
	for _, n := range found {
		if n.Name == "" {
			unread = append(unread, n.Where+": "+n.Note)
			continue
		}
		try := command.OrDash(n.Try)
		if n.Note != "" {
			try += " (" + n.Note + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", wording.Clean(n.Where), wording.Clean(n.Name), command.OrDash(wording.Clean(n.Kind)), wording.Clean(try))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, text := range unread {
		if _, err := fmt.Fprintln(out, wording.Clean(text)); err != nil {
			return err
		}
	}
	return nil
}
