// Package compare has the commands that compare runs, or numbers that other programs measured.
package compare

import (
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
	return command.Under(command.Compare, a.compareCommand(), a.checkCommand(), a.historyCommand(), a.combineCommand(), a.judgeCommand())
}
