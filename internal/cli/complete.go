package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/export"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/studies"
)

// completions adds shell completion for modes, workloads, studies and runs. A flag is
// completed alike in all commands.
func (a App) completions(root *cobra.Command) {
	flags := map[string]func() []string{
		"modes":      a.modeNames,
		"workloads":  a.workloadNames,
		"profile":    study.Profiles,
		"metrics":    metricNames,
		"metric":     metricNames,
		"engine":     func() []string { return []string{"lab", "docker"} },
		"evidence":   func() []string { return []string{study.On, study.Off} },
		"max-others": func() []string { return []string{study.Off} },
		"pairing":    func() []string { return []string{"block", "order", "none"} },
		"better":     func() []string { return []string{string(result.Higher), string(result.Lower)} },
		"fail-on":    func() []string { return []string{"worse", "lost", "cannot_tell", "refused"} },
	}
	args := map[string]func() []string{
		"run": studies.Names, "plan": studies.Names, "claims": studies.Names, "modes": a.modeNames, "explain": warningCodes,
		"report": runNames, "export": runNames, "compare": runNames, "check": runNames, "combine": runNames,
	}
	formats := map[string][]string{"export": exportFormats(), "compare": {"text", "md", "json"}, "check": {"text", "md", "json"}, "combine": {"text", "md", "json"}, "claims": {"text", "md", "json"}, "judge": numberFormats(), "history": historyFormats()}
	for _, c := range root.Commands() {
		for name, names := range flags {
			offer(c, name, names)
		}
		offer(c, "format", func() []string { return formats[c.Name()] })
		if names, ok := args[c.Name()]; ok {
			c.ValidArgsFunction = func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				// Files are the most common arguments, so the shell completes them, too.
				return beginning(names(), typed), cobra.ShellCompDirectiveDefault
			}
		}
	}
	if c, _, err := root.Find([]string{"check"}); err == nil {
		offer(c, "baseline", runNames)
	}
}

// offer completes a flag of a command, if it has it. Of a list parted by commas the
// last part is completed.
func offer(c *cobra.Command, flag string, names func() []string) {
	if c.Flags().Lookup(flag) == nil {
		return
	}
	// It fails only for a flag that already has a completion.
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var out []string
		for _, n := range beginning(names(), typed[len(before):]) {
			out = append(out, before+n)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
}

func beginning(names []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, typed) })
}

func (a App) modeNames() []string {
	var out []string
	for _, m := range a.Catalog().Modes {
		out = append(out, m.ID)
	}
	return out
}

func (a App) workloadNames() []string {
	var out []string
	for _, w := range a.Catalog().Workloads {
		out = append(out, w.Kind)
	}
	return out
}

func metricNames() []string {
	var out []string
	for _, m := range result.Metrics() {
		out = append(out, m.Name)
	}
	return out
}

func exportFormats() []string {
	var out []string
	for _, f := range export.All() {
		out = append(out, f.Name)
	}
	return out
}

// runNames lists the runs below the directory of runs, by id and by directory.
func runNames() []string {
	runs, err := store.List(runsDir())
	if err != nil {
		return nil // nothing to offer
	}
	var out []string
	for _, r := range runs {
		if r.ID != "" {
			out = append(out, r.ID)
		}
		out = append(out, filepath.Base(r.Path))
	}
	return out
}
