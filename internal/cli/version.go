package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tare/internal/agent/wire"
	"tare/internal/result"
)

// Stamp fills what the linker was told nothing of from what Go itself writes into a
// program that is built in a checkout without the Makefile: the commit, 12 digits of it,
// with -dirty after them if files were changed, and its date (RFC 3339).
func Stamp(build result.Build, date string) (result.Build, string) {
	info, ok := debug.ReadBuildInfo()
	if build.Commit != "" || !ok {
		return build, date
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return build, date
	}
	build.Commit = revision[:min(12, len(revision))]
	if settings["vcs.modified"] == "true" {
		build.Commit += "-dirty"
	}
	return build, settings["vcs.time"]
}

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

// versionLine is the first line of tare version, and all of tare --version.
func (a App) versionLine() string {
	return fmt.Sprintf("tare %s (%s)", a.Build.Version, or(a.Build.Commit, "commit unknown"))
}

func (a App) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version",
		Example: "  tare version\n  tare version --json",
		Args:    exactly(0),
		RunE: func(*cobra.Command, []string) error {
			v := versions{
				Version: a.Build.Version, Commit: known(a.Build.Commit), Date: known(a.Date),
				Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Protocol: wire.Version, Run: result.Schema,
			}
			if asJSON {
				e := json.NewEncoder(raw(a.Stdout))
				e.SetIndent("", "  ")
				return e.Encode(v)
			}
			fmt.Fprintln(a.Stdout, a.versionLine())
			for _, row := range [][2]string{
				{"date of the commit", or(a.Date, "unknown")},
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

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
