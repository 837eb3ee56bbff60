// Package measure has the commands that measure: run, and those that plan a run, explain a mode by one, or let a cluster make one.
package measure

import (
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/cli/selection"
)

// commands are what the commands of this package share.
type commands struct {
	command.Streams
	hosts selection.Hosts
	runs  rundir.Reader
}

// Commands returns them, each under its heading.
func Commands(r rundir.Reader) []*cobra.Command {
	a := commands{Streams: r.Hosts.Streams, hosts: r.Hosts, runs: r}
	return slices.Concat(command.Under(command.Measure, a.runCommand(), a.planCommand(), a.k8sCommand()), command.Under(command.Explain, a.whyCommand()))
}
