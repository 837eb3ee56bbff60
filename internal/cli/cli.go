// Package cli is the command line: it parses flags, calls the packages that do the work, and
// turns errors into one line and an exit code. It writes only to the streams it is given.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/driver"
	"tare/internal/driver/setting"
	"tare/internal/hosts"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/tool"
	"tare/internal/traffic/workloads"
	"tare/internal/wording"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2   // usage or study error; nothing was created
	exitEnvironment = 3   // rights, kernel or engine lack what is needed
	exitUnfit       = 4   // measured, but too noisy to judge
	exitRegression  = 10  // check found one, or a claim does not hold
	exitIncomplete  = 11  // check cannot compare what the earlier run has, or a claim cannot be told
	exitInterrupted = 130 // after teardown
	exitUnread      = 141 // nobody reads stdout any more: what a shell reports for SIGPIPE, which ends a command that has nothing to remove
)

// App is the program: its streams, its version and what is registered.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Build          result.Build
	Date           string       // of the build's commit, RFC 3339; "" if unknown
	Targets        []hosts.Kind // where hosts can come from
	Plugin         bool         // called by the docker command, as its plugin
	Kubectl        bool         // called by kubectl, as its plugin
	// Program is the name (argument 0) by which this process's program is App. Where labs need it, a command starts it
	// again by this name as root of a user namespace. If it is "", such a command fails instead.
	Program string

	// Look finds out what this machine has, for a run that names neither a study nor hosts.
	Look func(context.Context) hosts.Found

	args   []string      // of Main
	target driver.Target // the one that is chosen: the lab, until a study or a flag names another
}

// New is the program with all its targets.
func New(build result.Build) App {
	a := App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Build: build, Targets: hosts.Kinds(), Look: hosts.Look}
	return a.on(study.Target{}, hosts.Options{})
}

// codeError is an error with its exit code. An empty text has been printed already.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

func usage(err error) error       { return &codeError{exitUsage, err} }
func environment(err error) error { return &codeError{exitEnvironment, err} }

// notReadable is the error for a run that cannot be read: a wrong name, a broken file or a
// missing permission.
func notReadable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return environment(fmt.Errorf("%w: read it as the user who made it, or make it readable", err))
	}
	return usage(err)
}

// errSilent ends a command that has already printed its outcome.
var errSilent = errors.New("")

// Main runs a command and returns its exit code.
func (a App) Main(ctx context.Context, args []string) int {
	a = a.cleaned()
	a.args = args
	root := a.root()
	if a.Plugin {
		root = a.plugin(root)
	}
	if a.Kubectl {
		root = a.kubectl(root)
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	unread := a.unread(err)
	if !errors.Is(err, errSilent) && !unread {
		fmt.Fprintf(a.Stderr, "tare: %s\n", shown(err))
	}
	var coded *codeError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case unread:
		return exitUnread
	}
	return exitFailed
}

// mostError is how many columns of an error are shown. A file can contain any name.
const mostError = 4000

// shown is an error cleaned for a terminal.
func shown(err error) string { return wording.Cut(wording.CleanLines(err.Error()), mostError) }

// manage is the heading of the commands that keep order.
const manage = "Manage:"

func (a App) root() *cobra.Command {
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
				fmt.Fprintln(a.Stdout, a.versionLine())
				return err
			}
			if tty, _, _ := terminal(a.Stdout); tty && !a.Plugin && !a.Kubectl {
				return a.here(c.Context())
			}
			return c.Help()
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.Flags().Bool("version", false, "print the version")
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(wrongFlag)
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Measure:", []*cobra.Command{a.runCommand(), a.planCommand(), a.whichCommand(), a.modesCommand(), a.workloadsCommand(), a.doctorCommand(), a.enginesCommand(), a.imageCommand(), a.k8sCommand()}},
		{"Explain:", []*cobra.Command{a.whyCommand(), a.explainCommand(), a.reportCommand(), a.serveCommand(), a.exportCommand(), a.claimsCommand()}},
		{"Compare:", []*cobra.Command{a.compareCommand(), a.checkCommand(), a.historyCommand(), a.combineCommand(), a.judgeCommand()}},
		{manage, []*cobra.Command{a.lsCommand(), a.pruneCommand(), a.gcCommand(), a.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID(manage)
	root.SetCompletionCommandGroupID(manage)
	if !a.Plugin { // there the program is not the root, whose shells these are
		completionShells(root)
	}
	a.completions(root)
	return root
}

// Catalog is what a study can name.
func (a App) Catalog() study.Catalog {
	c := study.Catalog{Target: a.isTarget, Metric: unitOf, Shared: a.target.Shared, Restricted: a.target.Restricted}
	for _, m := range a.target.Drivers.Modes() {
		c.Modes = append(c.Modes, study.Offer{ID: m.ID, Baseline: m.Baseline, Limits: m.Limits, Options: m.Options, MTU: m.MTU, Headers: m.Headers, Bounded: m.Bounded, MaxMTU: m.MaxMTU, Engine: m.Engine, With: setting.SpecsOf(m)})
	}
	for _, id := range slices.Sorted(maps.Keys(a.target.Unavailable)) {
		c.Modes = append(c.Modes, study.Offer{ID: id, Absent: a.target.Unavailable[id], Removed: hosts.Removed(id)})
	}
	for _, w := range workloads.All() {
		spec := w.Spec().WorkloadSpec
		spec.Tools, spec.BuiltInOnly = tool.ForWorkload(spec.Kind), tool.BuiltInOnly()
		c.Workloads = append(c.Workloads, spec)
	}
	return c
}

// unitOf is the unit of the metric of that name.
func unitOf(metric string) (unit string, known bool) {
	m, known := result.MetricNamed(metric)
	return m.Unit, known
}
