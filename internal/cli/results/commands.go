// Package results has the commands that show, export or remove recorded runs.
package results

import (
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
)

// commands are what the commands of this package share.
type commands struct {
	command.Streams
	runs rundir.Reader
}

// Commands returns them, each under its heading.
func Commands(r rundir.Reader) []*cobra.Command {
	a := commands{Streams: r.Hosts.Streams, runs: r}
	return slices.Concat(command.Under(command.Explain, a.reportCommand(), a.serveCommand(), a.exportCommand(), a.claimsCommand()), command.Under(command.Manage, a.lsCommand(), a.pruneCommand()))
}
