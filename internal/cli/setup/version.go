package setup

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"tare/internal/agent/wire"
	"tare/internal/cli/command"
	"tare/internal/result"
)

// versions is what `tare version --json` prints; a field that is not known is null.
type versions struct {
	Version  string  `json:"version"`
	Commit   *string `json:"commit"`
	Date     *string `json:"date"` // of the commit, RFC 3339
	Go       string  `json:"go"`
	System   string  `json:"system"`
	Protocol int     `json:"agent_protocol"` // two programs are fit to be each other's agent if it is the same
	Run      string  `json:"run_schema"`     // what it writes; it reads what is as old or older
}

// VersionLine is the first line of tare version, and all of tare --version.
func VersionLine(build result.Build) string {
	return fmt.Sprintf("tare %s (%s)", build.Version, cmp.Or(build.Commit, "commit unknown"))
}

func (a commands) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version",
		Example: "  tare version\n  tare version --json",
		Args:    command.Exactly(0),
		RunE: func(*cobra.Command, []string) error {
			v := versions{
				Version: a.build.Version, Commit: known(a.build.Commit), Date: known(a.date),
				Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Protocol: wire.Version, Run: result.Schema,
			}
			if asJSON {
				return a.PrintJSON(v)
			}
			fmt.Fprintln(a.Stdout, VersionLine(a.build))
			for _, row := range [][2]string{
				{"date of the commit", cmp.Or(a.date, "unknown")},
				{"built with", v.Go + " for " + v.System},
				{"agent protocol", fmt.Sprint(v.Protocol)},
				{"schema of run.json", v.Run},
			} {
				fmt.Fprintf(a.Stdout, "  %-18s  %s\n", row[0], row[1])
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// known is nil for what is not.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
