package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/driver"
	"tare/internal/hosts"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/traffic/workloads"
	"tare/internal/why"
)

// whyBlocks is how many blocks a cost by parts has unless a flag says otherwise: a part of 3 % of a
// transaction is resolved.
const whyBlocks = 12

// whyClusterBlocks and whyClusterTime are the same for a cluster, whose costs by parts have up to six modes.
// No block begins that would end after the time.
const (
	whyClusterBlocks = 9
	whyClusterTime   = 220 * time.Second
)

// whySidecarsTime is how much longer that is for the step of injected containers.
const whySidecarsTime = 40 * time.Second

// whyMargin is the difference that still counts as no cost of a part.
const whyMargin = 0.03

// wholeTrial is a slice that is longer than a trial of any profile: each mode has its trial at once.
const wholeTrial = 30 * time.Second

// maxCPULimit is more CPUs than any machine has.
const maxCPULimit = 4096

func (a commands) whyCommand() *cobra.Command {
	var f runFlags
	var try bool
	var cpus float64
	c := &cobra.Command{
		Use: "why MODE", Short: "Show what each part of a mode costs",
		Long: "Explain what a mode costs by its parts. The same path is built several times, each time with one part more,\n" +
			"from the baseline up to the mode, and once without each part; all of them are measured in one\n" +
			"interleaved run. The result is what each part costs, with an interval, and what no part explains.\n" +
			"On a Kubernetes cluster (--kube) nothing is left out: the parts are the differences of its paths, and the\n" +
			"result names the cause, or what would tell it.\n" +
			"With --try, the mode is measured with the settings that could help it, and with pairs of the best.",
		Example: "  tare why netns/bridge\n  tare why docker/published --workloads tcp_rr,tcp_crr\n  tare why netns/vxlan --try\n  tare why k8s/pod --kube\n  tare why docker/overlay --profile standard --max-time 20m",
		Args:    command.Exactly(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.why(c, args[0], try, cpus, f) },
	}
	f.Register(c)
	c.Flags().BoolVar(&try, "try", false, "measure the settings that could help the mode instead, rank them, and print how to make them permanent")
	c.Flags().Float64Var(&cpus, "cpu-limit", 0, "add a step: the mode with a limit of so many CPUs on each pod or container, as resources.limits.cpu of your own")
	f.registerOutput(c, "why")
	if err := c.Flags().MarkHidden("modes"); err != nil {
		panic(err) // the flag was registered above
	}
	return c
}

func (a commands) why(c *cobra.Command, mode string, try bool, cpus float64, f runFlags) error {
	if c.Flags().Changed("modes") {
		return command.Usage(errors.New("tare why chooses the modes itself; write a study with a ladder for others"))
	}
	flagged, err := f.Choice(a.hosts.Catalog())
	if err != nil {
		return command.Usage(err)
	}
	a.hosts = a.hosts.On(flagged, hosts.Options{AllowSwarm: f.Yes, Modes: []string{mode}})
	m, err := a.hosts.Mode(mode)
	if err != nil {
		return command.Usage(fmt.Errorf("tare why: %w", err))
	}
	if cpus < 0 || c.Flags().Changed("cpu-limit") && cpus == 0 || cpus > maxCPULimit || math.IsNaN(cpus) {
		return command.Usage(fmt.Errorf("--cpu-limit is %g; it must be more than 0 and at most %d", cpus, maxCPULimit))
	}
	if try && cpus > 0 {
		return command.Usage(errors.New("--try measures settings of the network; --cpu-limit is a step of the explanation without it"))
	}
	if try && f.json {
		return command.Usage(errors.New("--try prints a ranking of one run, then of another; each has its run.json in its directory"))
	}
	if try {
		return a.try(c, m, flagged, f)
	}
	s, err := a.whyStudy(c, m, cpus, flagged, f)
	if err != nil {
		return command.Usage(err)
	}
	_, err = a.measure(c.Context(), s, f)
	return err
}

// thorough sets what a study about parts or settings of a mode needs: small differences count.
func (a commands) thorough(s study.Study, m driver.Mode, f runFlags) study.Study {
	s.Workloads = []study.Workload{{Kind: "tcp_rr"}, {Kind: "tcp_stream"}}
	if rr, err := workloads.Named("tcp_rr"); err == nil && m.WhyNot(s.Workloads[0], rr.Spec(), nil) != "" {
		s.Workloads = []study.Workload{{Kind: "http"}} // its proxies read requests
	}
	s.Margin = whyMargin
	if profile := f.Given("profile"); profile == "" || profile == study.Quick {
		if s.Blocks = whyBlocks; f.Kube != "" {
			s.Blocks, s.MaxTime = whyClusterBlocks, quantity.Duration(whyClusterTime)
		}
	}
	return s
}

// resolveWhy resolves a study that was not read from a file, with the flags.
func (a commands) resolveWhy(c *cobra.Command, mode string, s study.Study, flagged study.Target, f runFlags) (study.Study, error) {
	src, err := studyfile.Marshal(s)
	if err != nil {
		return s, err
	}
	return f.Resolve(c, "why "+mode, src, flagged, a.hosts.Catalog())
}

// whyStudy is the resolved study that explains a mode, within the time limit of the flags.
func (a commands) whyStudy(c *cobra.Command, m driver.Mode, cpus float64, flagged study.Target, f runFlags) (study.Study, error) {
	mode := m.ID
	s, err := why.Study(why.Modes{Here: a.hosts.Target.Drivers, Labs: hosts.Modes()}, mode, why.Options{CPULimit: cpus, Injected: a.injected(c.Context(), m, flagged)})
	if err != nil {
		return s, fmt.Errorf("tare why: %w", err)
	}
	s = a.thorough(s, m, f)
	if slices.ContainsFunc(s.CostByParts.Modes, func(p study.PartMode) bool { return p.Part == result.PartSidecars }) && s.MaxTime > 0 {
		s.MaxTime += quantity.Duration(whySidecarsTime)
	}
	if cpus > 0 { // in short slices, no mode uses up its limit while the others have their turns
		for i := range s.Workloads {
			s.Workloads[i].Slice = quantity.Duration(wholeTrial)
		}
	}
	resolve := func(s study.Study) (study.Study, error) { return a.resolveWhy(c, mode, s, flagged, f) }
	resolved, err := resolve(s)
	if err != nil || f.MaxTime() == 0 {
		return resolved, err
	}
	var left []string
	for a.takes(resolved) > f.MaxTime() && len(s.CostByParts.Removals) > 0 {
		last := s.CostByParts.Removals[len(s.CostByParts.Removals)-1]
		if s.CostByParts.Removals = s.CostByParts.Removals[:len(s.CostByParts.Removals)-1]; len(s.CostByParts.Removals) == 0 {
			s.CostByParts.Removals = nil // a study has no empty list
		}
		if !slices.ContainsFunc(s.CostByParts.Modes, func(r study.PartMode) bool { return r.Mode == last.Mode }) {
			s.Modes = slices.DeleteFunc(slices.Clone(s.Modes), func(m study.Mode) bool { return m.Name() == last.Mode })
		}
		left = append(left, last.Part)
		if resolved, err = resolve(s); err != nil {
			return resolved, err
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(a.Stderr, "tare: left out, for %s allows no more: %s without %s\n", f.MaxTime(), mode, strings.Join(left, ", without "))
	}
	if takes := a.takes(resolved); takes > f.MaxTime() {
		return resolved, fmt.Errorf("the ladder of %s takes about %s, more than --max-time %s; allow more, or choose one workload with --workloads", mode, takes.Round(time.Second), f.MaxTime())
	}
	return resolved, nil
}

// injected asks a cluster which containers it adds to the pods of a mode unless these ask for none. Where that is unknown, or they are
// added in any case, there are none, and a line says so: their cost is no step.
func (a commands) injected(ctx context.Context, m driver.Mode, at study.Target) []string {
	if !at.IsKube() || m.Limits == (study.Ends{}) {
		return nil
	}
	found, err := hosts.KubeInjection(ctx, at)
	switch {
	case err != nil:
		fmt.Fprintf(a.Stderr, "tare: whether the cluster adds containers to pods is unknown, so their cost is no step: %v\n", err)
	case len(found.Kept) > 0:
		fmt.Fprintf(a.Stderr, "tare: the cluster adds %s also to pods that ask for none, so their cost is no step; exclude the namespace from injection, and compare two runs\n", strings.Join(found.Kept, ", "))
	default:
		return found.Added
	}
	return nil
}

// takes estimates how long a study takes, set-up included.
func (a commands) takes(s study.Study) time.Duration {
	p := plan.Make(s).WithSetupTimes(a.hosts.Target.Drivers.SetupTimes(s))
	return p.Time(s.Blocks)
}
