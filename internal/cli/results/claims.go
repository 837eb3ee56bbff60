package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/hosts"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/wording"
	"tare/studies"
)

type claimsFlags struct{ runs, format string }

func (a commands) claimsCommand() *cobra.Command {
	var f claimsFlags
	c := &cobra.Command{
		Use: "claims [STUDY...]", Short: "List published claims, and which of them hold here",
		Long: "List the published claims of the built-in studies, or of those named. Each has the outcome in the\n" +
			"newest complete run of its study below a directory: holds, does not hold, or cannot tell. A study\n" +
			"without such a run is shown as not run, with the command that runs it. A run counts only if its\n" +
			"claims are those of the built-in study.",
		Example: "  tare claims\n  tare claims overlays --runs results\n  tare claims --format md >claims.md",
		RunE:    func(c *cobra.Command, args []string) error { return a.claims(c, args, f) },
	}
	c.Flags().StringVar(&f.runs, "runs", "", "directory of the runs (default: $TARE_RUNS or tare-runs)")
	c.Flags().StringVar(&f.format, "format", "text", "output format: text, md or json")
	command.CompleteArguments(c, studies.Names)
	command.CompleteFormats(c, "text", "md", "json")
	return c
}

func (a commands) claims(c *cobra.Command, names []string, f claimsFlags) error {
	if err := command.OneOf("format", f.format, "text", "md", "json"); err != nil {
		return err
	}
	if c.Flags().Changed("runs") && f.runs == "" {
		return command.Usage(errors.New("--runs has no value"))
	}
	all, err := a.builtinClaims(names)
	if err != nil {
		return command.Usage(err)
	}
	return a.printClaims(all, f)
}

// printClaims prints the claims of studies with their outcomes.
func (a commands) printClaims(all []result.StudyClaims, f claimsFlags) error {
	dir := f.runs
	if dir == "" {
		dir = rundir.Default()
	}
	all, broken, err := takeOutcomes(all, dir)
	if err != nil && (f.runs != "" || !errors.Is(err, fs.ErrNotExist)) {
		return command.NotReadable(err)
	}
	if len(broken) > 0 {
		fmt.Fprintln(a.Stderr, unreadable(broken, dir))
	}
	switch f.format {
	case "json":
		text, err := json.MarshalIndent(struct {
			Studies []result.StudyClaims `json:"studies"`
		}{all}, "", "  ")
		if err != nil {
			return fmt.Errorf("print the claims: %w", err)
		}
		_, err = command.Raw(a.Stdout).Write(append(text, '\n'))
		return err
	case "md":
		return report.ClaimsMarkdown(a.Stdout, all)
	}
	return report.ClaimsText(a.Colours(), all, a.TextOptions())
}

// builtinClaims are the claims of the named built-in studies, or of all that have any.
func (a commands) builtinClaims(names []string) ([]result.StudyClaims, error) {
	asked := names
	if len(asked) == 0 {
		asked = studies.Names()
	}
	out := []result.StudyClaims{}
	for _, name := range asked {
		src, ok := studies.Builtin(name)
		if !ok {
			return nil, fmt.Errorf("%q is no built-in study (built in: %s)", name, strings.Join(studies.Names(), ", "))
		}
		on := a.runs.Hosts.On(studyfile.TargetOf(src), hosts.Options{})
		s, err := studyfile.Decode(name, src, on.Catalog())
		if err != nil {
			return nil, err
		}
		if len(s.Claims) == 0 {
			if len(names) > 0 {
				return nil, rundir.NoClaims(name)
			}
			continue
		}
		out = append(out, result.StudyClaims{Study: name, Title: s.Title, Command: "tare run " + command.Quote(name) + " --claims", Claims: statedClaims(s.Claims)})
	}
	return out, nil
}

// statedClaims are claims without outcomes.
func statedClaims(claims []study.Claim) []result.Claim {
	out := make([]result.Claim, len(claims))
	for i, c := range claims {
		out[i] = result.Claim{ID: c.ID, Claim: c.Claim, Source: c.Source, Of: c.Of, Over: c.Over, Workload: c.Workload, Metric: c.Metric, HoldsIf: c.HoldsIf, Published: c.Published}
		if c.Needs != "" {
			out[i].Reason = "needs " + c.Needs
		}
		if c.Differs != "" {
			out[i].Differs = []string{c.Differs}
		}
	}
	return out
}

// takeOutcomes gives each study the outcomes of its newest complete run below a directory. It returns
// the runs that cannot be read.
func takeOutcomes(all []result.StudyClaims, dir string) (out []result.StudyClaims, broken []string, err error) {
	out = slices.Clone(all)
	runs, err := store.List(dir)
	if err != nil {
		return out, nil, err
	}
	for _, r := range runs {
		if r.Problem != "" {
			broken = append(broken, r.Path)
			continue
		}
		if r.Status != result.RunComplete {
			continue
		}
		src, err := store.ReadStudy(r.Path)
		if err != nil {
			continue // a run of imported numbers has none
		}
		// There may be thousands of runs of other studies, and parsing takes long.
		wanted := func(s result.StudyClaims) bool { return s.Run == "" && bytes.Contains(src, []byte(s.Study)) }
		if !slices.ContainsFunc(out, wanted) {
			continue
		}
		name := studyfile.NameOf(src)
		i := slices.IndexFunc(out, func(s result.StudyClaims) bool { return s.Run == "" && s.Study == name })
		if i < 0 {
			continue
		}
		run, err := evaluated(r.Path)
		if err != nil {
			broken = append(broken, r.Path)
			continue
		}
		if claims, same := outcomesOf(out[i].Claims, run.Claims); same && run.Trials.OK > 0 {
			out[i].Claims, out[i].Run, out[i].Started, out[i].Profile, out[i].Machine = claims, r.Path, r.Started, r.Profile, machineOf(run)
		}
	}
	return out, broken, nil
}

func evaluated(path string) (result.Run, error) {
	dir, err := store.Open(path)
	if err != nil {
		return result.Run{}, err
	}
	defer dir.Close()
	return dir.Evaluated()
}

// outcomesOf are stated claims with their outcomes in a run, in their order; false if the run lacks one
// or states it differently. A run knows the workload and the metric of a claim that does not name them.
func outcomesOf(stated, found []result.Claim) ([]result.Claim, bool) {
	var out []result.Claim
	for _, s := range stated {
		i := slices.IndexFunc(found, func(f result.Claim) bool {
			return f.ID == s.ID && f.Claim == s.Claim && f.Source == s.Source && f.Published == s.Published && f.HoldsIf == s.HoldsIf &&
				slices.Equal(f.Of, s.Of) && slices.Equal(f.Over, s.Over) &&
				(s.Workload == "" || f.Workload == s.Workload) && (s.Metric == "" || f.Metric == s.Metric) && f.Outcome != ""
		})
		if i < 0 {
			return nil, false
		}
		out = append(out, found[i])
	}
	return out, true
}

// machineOf describes the first host of a run by its kernel and CPU.
func machineOf(run result.Run) string {
	if len(run.Hosts) == 0 {
		return ""
	}
	var parts []string
	for _, what := range []struct{ fact, before string }{{"kernel", "kernel "}, {"cpu_model", ""}} {
		for _, f := range run.Hosts[0].Facts {
			if f.Name == what.fact {
				parts = append(parts, what.before+f.Value)
			}
		}
	}
	return strings.Join(parts, ", ")
}

// mostBroken is how many unreadable runs are named.
const mostBroken = 3

// unreadable names runs that cannot be read, on one line.
func unreadable(paths []string, dir string) string {
	names := make([]string, 0, mostBroken+1)
	for _, p := range paths[:min(len(paths), mostBroken)] {
		if rel, err := filepath.Rel(dir, p); err == nil {
			p = rel
		}
		names = append(names, wording.Clean(p))
	}
	if more := len(paths) - mostBroken; more > 0 {
		names = append(names, wording.Count(more, "more", "more"))
	}
	return fmt.Sprintf("%s cannot be read: %s; tare ls %s says why", wording.Count(len(paths), "run", "runs"), strings.Join(names, ", "), command.Quote(dir))
}
