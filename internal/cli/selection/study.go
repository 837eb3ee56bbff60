package selection

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/cli/command"
	"tare/internal/hosts"
	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/study/suggest"
	"tare/studies"
)

// StudyFlags are the flags that choose and change a study.
type StudyFlags struct {
	engineFlags
	modes, workloads []string
	Purpose          string
	unnamed          bool // load was given no study
	evidence         string
	flags            *pflag.FlagSet // with those that set one key of the study

	Chosen string // why load chose the study itself, for the user; empty if it was named
}

// Register adds the flags, with those of engines, machines and clusters.
func (f *StudyFlags) Register(c *cobra.Command) {
	f.register(c)
	c.Flags().StringSliceVar(&f.modes, "modes", nil, "modes to measure instead of the study's, separated by commas")
	c.Flags().StringSliceVar(&f.workloads, "workloads", nil, "workloads to run instead of the study's, separated by commas")
	c.Flags().StringVar(&f.Purpose, "for", "", "traffic of an application instead of the study's workloads: "+suggest.Either(study.PurposeNames()))
	c.Flags().StringVar(&f.evidence, "evidence", "", "on or off: record where losses happen and how CPU time is spent; stacks and drop reasons require privileges")
	f.flags = c.Flags()
	for _, field := range new(study.Study).Flags() {
		name, help := field.Flag.Name, field.Flag.Help
		switch value := field.Value.Get().(type) {
		case uint64:
			c.Flags().Uint64(name, value, help)
		case quantity.Duration:
			c.Flags().Duration(name, value.Std(), help)
		default:
			if field.Flag.Sets != "" {
				c.Flags().Bool(name, false, help)
			} else {
				c.Flags().String(name, "", help)
			}
		}
	}
}

// Given is the text of a flag that sets one key of the study, empty if it was not given.
func (f *StudyFlags) Given(name string) string {
	if flag := f.flags.Lookup(name); flag.Changed {
		return flag.Value.String()
	}
	return ""
}

// MaxTime is the time limit of the flags, 0 if there is none.
func (f *StudyFlags) MaxTime() time.Duration {
	limit, _ := time.ParseDuration(f.Given("max-time"))
	return limit
}

// Changed reports whether any of the flags was given that say what to measure.
func (f *StudyFlags) Changed(c *cobra.Command) bool {
	var all cobra.Command
	new(StudyFlags).Register(&all)
	given := false
	all.Flags().VisitAll(func(flag *pflag.Flag) {
		given = given || flag.Name != "yes" && c.Flags().Changed(flag.Name)
	})
	return given
}

// maxStudySize bounds what is read of a study file; the decoder refuses less.
const maxStudySize = 4 << 20

// Load reads a study, built in or from a file, lays the flags over it and fills
// in the rest. It returns the hosts of the study's target, too.
// Every error is one of usage.
func (f *StudyFlags) Load(c *cobra.Command, args []string, h Hosts) (Hosts, study.Study, error) {
	flagged, err := f.Choice(h.Catalog())
	var kind hosts.Kind
	if err == nil {
		kind, err = hosts.FindKind(h.Kinds, flagged)
	}
	if err != nil {
		return h, study.Study{}, command.Usage(err)
	}
	told := c.Flags().Changed("engine") || c.Flags().Changed("host") || c.Flags().Changed("kube")
	name := kind.Study(flagged)
	f.unnamed = len(args) == 0
	switch {
	case len(args) > 0:
		name = args[0]
	case !told && len(f.modes) == 0 && h.Look != nil:
		choice := h.Look(c.Context()).Choice()
		if kind, err = hosts.FindKind(h.Kinds, choice.Target); err != nil {
			return h, study.Study{}, command.Usage(err)
		}
		choice.Target.Cluster = flagged.Cluster // which is an error without a cluster
		name, flagged, f.Chosen = choice.Study, choice.Target, choice.Text
	}
	if kind.InPlace != nil {
		name = kind.InPlace(flagged, name)
	}
	src, err := Source(name)
	if err != nil {
		return h, study.Study{}, command.Usage(command.ContextHint(c, args, err))
	}
	named, file := flagged, studyfile.TargetOf(src)
	if !told && f.Chosen == "" {
		named = file
	}
	named.Cluster = flagged.Cluster
	if named.IsKube() {
		named.Cluster = flagged.Cluster.Or(file.Cluster)
	}
	h = h.On(named, hosts.Options{AllowSwarm: f.Yes, Modes: f.modes})
	s, err := f.Resolve(c, name, src, named, h.Catalog())
	if err == nil {
		err = h.checkMaxTime(s)
	}
	if err != nil {
		return h, s, command.Usage(err)
	}
	return h, s, nil
}

// checkMaxTime returns an error if not even the first block of a study fits into its time limit,
// because such a run would measure nothing.
func (h Hosts) checkMaxTime(s study.Study) error {
	p := plan.Make(s).WithSetupTimes(h.Target.Drivers.SetupTimes(s))
	block, limit := p.Time(1)-p.Time(0), s.MaxTime.Std()
	if limit == 0 || block <= limit {
		return nil
	}
	return fmt.Errorf("the time limit of %s is too short: the first block takes about %s, and no block starts that would end later; allow more (--max-time or max_time), or measure fewer modes or workloads (--modes, --workloads)",
		limit, block.Round(time.Second))
}

// Resolve reads a study from its text, lays the flags over it and fills in the rest.
func (f *StudyFlags) Resolve(c *cobra.Command, name string, src []byte, flagged study.Target, cat study.Catalog) (study.Study, error) {
	s, err := studyfile.Decode(name, src, cat)
	if err != nil {
		return s, err
	}
	for flag, value := range map[string]string{"evidence": f.evidence, "for": f.Purpose} {
		if c.Flags().Changed(flag) && value == "" {
			return s, fmt.Errorf("--%s has no value", flag)
		}
	}
	set := map[string]string{}
	for _, field := range s.Flags() {
		if name := field.Flag.Name; f.flags.Changed(name) && f.Given(name) != "false" {
			set[name] = f.Given(name)
		}
	}
	for flag, list := range map[string][]string{"modes": f.modes, "workloads": f.workloads} {
		if c.Flags().Changed(flag) && len(list) == 0 {
			return s, fmt.Errorf("--%s names nothing", flag)
		}
	}
	s, err = s.Apply(study.Overrides{Target: flagged, Modes: f.modes, Workloads: f.workloads, For: f.Purpose, AdHoc: f.unnamed, Evidence: f.evidence, Set: set}, cat)
	if err != nil {
		return s, err
	}
	if s, err = study.Resolve(s, cat); err != nil {
		return s, err
	}
	if s.Seed == 0 {
		s.Seed = study.SeedFrom(rand.Uint64())
	}
	return s, nil
}

// Source reads a study: a built-in one by its name, which has neither a dot nor a
// slash, or else a file.
func Source(name string) ([]byte, error) {
	if !strings.ContainsAny(name, "./") {
		if src, ok := studies.Builtin(name); ok {
			return src, nil
		}
	}
	file, err := command.OpenInput(name)
	if err != nil {
		return nil, fmt.Errorf("read study: %w (built in: %s)", err, strings.Join(studies.Names(), ", "))
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read study: %s is not a regular file", name)
	}
	src, err := io.ReadAll(io.LimitReader(file, maxStudySize))
	if err != nil {
		return nil, fmt.Errorf("read study: %w", err)
	}
	if len(src) == 0 {
		return nil, errors.New(name + ":1: the file is empty; see tare run --help for what a study holds")
	}
	return src, nil
}

// Parameters lists the settings of a workload other than its lengths.
func Parameters(w study.Workload) string {
	var out []string
	for _, s := range w.Settings() {
		if !slices.Contains([]string{"id", "workload", "warmup", "duration", "duration_min", "duration_max", "every", "times", "slice"}, s.Key) {
			out = append(out, s.Key+"="+s.Value)
		}
	}
	return strings.Join(out, " ")
}
