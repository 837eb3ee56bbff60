// Package setup has the commands about this machine and this program: what can be measured here, what the program knows, and what
// dead runs left.
package setup

import (
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/cli/selection"
	"tare/internal/result"
)

// commands are what the commands of this package share.
type commands struct {
	command.Streams
	hosts selection.Hosts
	build result.Build
	date  string // of the build's commit, RFC 3339; "" if unknown
}

func of(r rundir.Reader, date string) commands {
	return commands{Streams: r.Hosts.Streams, hosts: r.Hosts, build: r.Build, date: date}
}

// Commands returns them, each under its heading.
func Commands(r rundir.Reader, date string) []*cobra.Command {
	a := of(r, date)
	return slices.Concat(
		command.Under(command.Measure, a.whichCommand(), a.modesCommand(), a.workloadsCommand(), a.doctorCommand(), a.enginesCommand(), a.imageCommand()),
		command.Under(command.Explain, a.explainCommand()), command.Under(command.Manage, a.gcCommand(), a.versionCommand()))
}
