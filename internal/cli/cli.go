// Package cli is the command line: it parses flags, calls the packages that do the work, and
// turns errors into one line and an exit code. It writes only to the streams it is given.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/compare"
	"tare/internal/cli/measure"
	"tare/internal/cli/results"
	"tare/internal/cli/rundir"
	"tare/internal/cli/selection"
	"tare/internal/cli/setup"
	"tare/internal/result"
	"tare/internal/study"
)

// App is the program: its streams, its version and what is registered.
type App struct {
	selection.Hosts
	Build   result.Build
	Date    string // of the build's commit, RFC 3339; "" if unknown
	Plugin  bool   // called by the docker command, as its plugin
	Kubectl bool   // called by kubectl, as its plugin
}

// New is the program with all its targets.
func New(build result.Build) App {
	return App{Hosts: selection.New(command.Streams{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}), Build: build}
}

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

// Main runs a command and returns its exit code.
func (a App) Main(ctx context.Context, args []string) int {
	a.Streams = a.Cleaned()
	a.Args = args
	root := a.root()
	if a.Plugin {
		root = a.plugin(root)
	}
	if a.Kubectl {
		root = asKubectls(root)
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch unread := a.Unread(err); {
	case unread && !command.IsCoded(err):
		return command.ExitUnread
	case err != nil && !unread && !errors.Is(err, command.ErrSilent):
		fmt.Fprintf(a.Stderr, "tare: %s\n", command.Shown(err))
	}
	return command.ExitCode(err)
}

// root is the program's command. Each package of commands has the list of its own.
func (a App) root() *cobra.Command {
	runs := rundir.Reader{Hosts: a.Hosts, Build: a.Build}
	root := &cobra.Command{
		Use:   "tare",
		Short: "Measure the network overhead that containers add",
		Long: "tare builds network modes and a raw-host baseline, sends traffic through them,\n" +
			"proves that the packets took the intended path, and reports the cost of each mode\n" +
			"with an interval and a verdict, or that it cannot tell.",
		SilenceErrors: true, SilenceUsage: true, PersistentPreRun: limitMemory,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(c, args[0])
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if version, err := c.Flags().GetBool("version"); version || err != nil {
				fmt.Fprintln(a.Stdout, setup.VersionLine(a.Build))
				return err
			}
			if tty, _, _ := command.Terminal(a.Stdout); tty && !a.Plugin && !a.Kubectl {
				return setup.Here(c.Context(), runs)
			}
			return c.Help()
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.Flags().Bool("version", false, "print the version")
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(wrongFlag)
	for _, heading := range []string{command.Measure, command.Explain, command.Compare, command.Manage} {
		root.AddGroup(&cobra.Group{ID: heading, Title: heading})
	}
	for _, c := range slices.Concat(measure.Commands(runs), results.Commands(runs), compare.Commands(runs), setup.Commands(runs, a.Date)) {
		a.completions(c)
		root.AddCommand(c)
	}
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID(command.Manage)
	root.SetCompletionCommandGroupID(command.Manage)
	if !a.Plugin { // there the program is not the root, whose shells these are
		completionShells(root)
	}
	return root
}

// completions completes the flags of a command that are alike in all commands.
func (a App) completions(c *cobra.Command) {
	for name, names := range map[string]func() []string{
		"modes":      a.ModeNames,
		"workloads":  a.workloadNames,
		"profile":    study.Profiles,
		"metrics":    metricNames,
		"metric":     metricNames,
		"engine":     func() []string { return []string{"lab", "docker"} },
		"evidence":   func() []string { return []string{study.On, study.Off} },
		"max-others": func() []string { return []string{study.Off} },
	} {
		command.CompleteFlag(c, name, names)
	}
}

func (a App) workloadNames() []string {
	return command.Names(a.Catalog().Workloads, func(w study.WorkloadSpec) string { return w.Kind })
}

func metricNames() []string {
	return command.Names(result.Metrics(), func(m result.Metric) string { return m.Name })
}

// softMemoryLimit is how much memory a command that reads what somebody else wrote takes
// before the garbage collector works harder, in bytes. What the readers accept fits below
// it, with what is made of that.
const softMemoryLimit = 190 << 20

// limitMemory sets the soft limit for a command. A command that measures has none: the
// collector must not take CPU time from trials. GOMEMLIMIT overrides it.
func limitMemory(c *cobra.Command, _ []string) {
	if c.HasParent() && c.Name() != "run" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemoryLimit)
	}
}
