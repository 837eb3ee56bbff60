package measure

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/selection"
	"tare/internal/plan"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic/workloads"
	"tare/internal/wording"
	"tare/studies"
)

func (a commands) planCommand() *cobra.Command {
	var f selection.StudyFlags
	var order bool
	c := &cobra.Command{
		Use: "plan [STUDY]", Short: "Show what a run would do and how long it would take",
		Example: "  tare plan\n  tare plan overlays --profile standard\n  tare plan my-study.yaml",
		Args:    command.AtMostOne(),
		Long: "Show what a run of this study would build, how long it would take and which rights it requires.\n" +
			"Nothing is built and no rights are required. A running engine is asked whether it has the networks of the modes.",
		RunE: func(c *cobra.Command, args []string) error {
			h, s, err := f.Load(c, args, a.hosts)
			if err != nil {
				return err
			}
			a.hosts = h
			if f.Chosen != "" {
				fmt.Fprintln(a.Stderr, "tare:", f.Chosen)
			}
			if err := a.hosts.Foresee(c.Context(), s); err != nil {
				return err
			}
			return a.printPlan(plan.Make(s).WithSetupTimes(a.hosts.Target.Drivers.SetupTimes(s)), s, order)
		},
	}
	f.Register(c)
	c.Flags().BoolVar(&order, "order", false, "also print every trial in its order")
	command.CompleteArguments(c, studies.Names)
	return c
}

func (a commands) printPlan(p plan.Plan, s study.Study, order bool) error {
	printTime(a.Stdout, p, s)
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODE\tBASELINE\tWHAT IS BUILT")
	for _, asked := range s.Modes {
		_, m, err := a.hosts.Target.Drivers.For(asked.Mode)
		if err != nil {
			return err
		}
		title := cmp.Or(asked.Title, m.Title)
		fmt.Fprintf(w, "%s\t%s\t%s%s\n", asked.Name(), command.OrDash(s.BaselineOf(asked, m.Baseline)), title, limited(asked.Limits))
	}
	fmt.Fprintln(w, "\nWORKLOAD\tWARM-UP\tTIMED\tSLICE\tPARAMETERS")
	for _, wl := range p.Workloads {
		slice := "all at once"
		if (plan.Trial{Workload: wl}).Sliced() {
			slice = wl.Slice.String()
		}
		timed := wl.Duration.String()
		if wl.Step > 0 {
			timed = "steps of " + wl.Step.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", wl.ID, wl.Warmup, timed, slice, selection.Parameters(wl))
	}
	printScenarios(w, s)
	if err := w.Flush(); err != nil {
		return err
	}
	if err := a.printWithoutResult(p, s); err != nil {
		return err
	}
	printMethod(a.Stdout, p, s)
	for _, line := range a.hosts.Target.DescribeChanges(s) {
		fmt.Fprintln(a.Stdout, line)
	}
	if !order {
		return nil
	}
	fmt.Fprintln(w, "\nTRIAL\tBLOCK\tWORKLOAD\tMODE")
	n := 0
	for t := range p.Trials() {
		block := fmt.Sprint(t.Block)
		if t.Pilot() {
			block = "pilot"
		}
		n++
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", n, block, t.Workload.ID, t.Mode)
	}
	return w.Flush()
}

// printWithoutResult prints which modes have no result for a workload, because they lack its event or cannot have its clients of one server.
func (a commands) printWithoutResult(p plan.Plan, s study.Study) error {
	for _, wl := range p.Workloads {
		made, err := workloads.Named(wl.Kind)
		if err != nil || wl.Event == "" && wl.FanIn <= 1 {
			continue
		}
		for _, asked := range s.Modes {
			_, m, err := a.hosts.Target.Drivers.For(asked.Mode)
			if err != nil {
				return err
			}
			if why := m.WhyNot(wl, made.Spec(), asked.With); why != "" {
				fmt.Fprintf(a.Stdout, "%s: no result for %s: %s\n", wl.ID, asked.Name(), why)
			}
		}
	}
	return nil
}

// printScenarios lists the study's own names and what it compares.
func printScenarios(w io.Writer, s study.Study) {
	if len(s.Scenarios) > 0 {
		fmt.Fprintln(w, "\nSCENARIO\tMODE\tWORKLOAD\tWHAT IT IS")
		for _, sc := range s.Scenarios {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", sc.ID, sc.Mode, sc.Workload, sc.Title)
		}
	}
	if len(s.Compare) > 0 {
		fmt.Fprintln(w, "\nCOMPARISON\tOF\tTO\tWHAT IT ASKS")
		for _, c := range s.Compare {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Name(), c.A, c.B, c.Title)
		}
	}
}

// limited describes the limits of a mode's endpoints.
func limited(l study.Limits) string {
	if l == (study.Limits{}) {
		return ""
	}
	return fmt.Sprintf("; limits: client %s, server %s", l.Client, l.Server)
}

// printTime prints the number of trials and their duration.
func printTime(w io.Writer, p plan.Plan, s study.Study) {
	least, most := p.Extent(p.MinBlocks), p.Extent(p.Blocks)
	pass := ""
	if p.HasCostPass() {
		pass = " and a cost pass"
	}
	fmt.Fprintf(w, "%s: %s x %s x %s%s, profile %s, seed %d\n",
		span(least.Trials, most.Trials, "trial", "trials"), wording.Count(len(p.Modes), "mode", "modes"), wording.Count(len(plan.Workloads(s)), "workload", "workloads"),
		span(p.MinBlocks, p.Blocks, "block", "blocks"), pass, s.Profile, p.Seed)
	long := most.Time
	share := fmt.Sprintf("%.0f %% of it with traffic flowing", 100*most.Traffic.Seconds()/max(long, 1).Seconds())
	if s.Stop == nil {
		fmt.Fprintf(w, "about %s, %s\n", long.Round(time.Second), share)
	} else {
		fmt.Fprintf(w, "about %s with %s, %s with %d, %s\n", least.Time.Round(time.Second), wording.Count(p.MinBlocks, "block", "blocks"), long.Round(time.Second), p.Blocks, share)
	}
	if limit := p.Limit(s); limit > 0 {
		fmt.Fprintf(w, "starts no block that would end after %s\n", limit.Round(time.Second))
	}
	fmt.Fprintln(w)
}

// span is a number of things, or from which to which.
func span(from, to int, one, many string) string {
	text := wording.Count(to, one, many)
	if from != to {
		text = fmt.Sprintf("%d to %s", from, text)
	}
	return text
}

// printMethod prints how a run measures, stops and rules out trials.
func printMethod(w io.Writer, p plan.Plan, s study.Study) {
	fmt.Fprintf(w, "\nmargin %g %%; settle %s before each trial\n", 100*s.Margin, s.Settle)
	for _, line := range slices.Concat([]string{stopping(s), piloting(s), pacing(s)}, lengths(p), skipping(p, s), []string{passing(p, s), varying(p, s), tailing(s), watching(s.Evidence), recreating(p, s)}, resolving(p, s), []string{ruling(s.Invalid, p)}) {
		if line != "" {
			fmt.Fprintln(w, line)
		}
	}
	if s.Control {
		if c, ok := s.ModeNamed(study.ControlID); ok {
			fmt.Fprintf(w, "control: %s measured twice, as the mode %s; the blocks do not wait for it\n", c.Mode, study.ControlID)
		}
	}
}

func stopping(s study.Study) string {
	if s.Stop == nil {
		return "stop: after " + wording.Count(s.Blocks, "block", "blocks")
	}
	until := "each mode with a workload once its ratio is"
	if !plan.ModesLeave(s) {
		until = "all modes once every ratio is"
	}
	return fmt.Sprintf("stop: from block %d on, %s %s, and %s more; after %s always",
		s.Stop.MinBlocks, until, wording.Settled(s.Stop.Width, s.Stop.EffectWidth), wording.Count(s.Stop.ExtraBlocks, "block", "blocks"), wording.Count(s.Blocks, "block", "blocks"))
}

func piloting(s study.Study) string {
	w, piloted := plan.Pilot(s)
	switch {
	case piloted && !slices.ContainsFunc(s.Workloads, plan.WarmedByPilots):
		return fmt.Sprintf("pilot: %s of %s with each mode, which shows whether it settles", s.Pilot, w.Name())
	case piloted:
		return fmt.Sprintf("pilot: %s of %s with each mode, which may make the warm-up of bulk workloads longer, up to 5s", s.Pilot, w.Name())
	case s.Pilot.Std() > 0:
		return "pilot: none, because no workload here can show its warm-up"
	case s.Profile == study.Quick:
		return "pilot: none, so the warm-up is not verified"
	}
	return "pilot: none"
}

// pacing prints at which rates workloads are paced.
func pacing(s study.Study) string {
	var names []string
	for _, w := range plan.Paced(s) {
		names = append(names, w.Name())
	}
	switch most := ""; {
	case len(names) > 0:
		if s.MaxRate > 0 {
			most = fmt.Sprintf(", and at most %s", s.MaxRate)
		}
		return fmt.Sprintf("pace: %s at half of what a baseline reaches in one trial of %s%s, alike for all modes; --full-rate sends as fast as the path carries", listed(names), plan.FirstWindow, most)
	case len(plan.Limits(s)) > 0:
		for _, p := range plan.Limits(s) {
			names = append(names, p.Workload)
		}
		return fmt.Sprintf("pace: %s at %s, alike for all modes", listed(names), s.MaxRate)
	}
	return ""
}

// lengths prints which trials can become longer or shorter.
func lengths(p plan.Plan) []string {
	var out []string
	names := map[string][]string{}
	for _, w := range p.Workloads {
		if w.DurationMax == 0 {
			continue
		}
		bounds := fmt.Sprintf("%s at first, and then %s to %s, as the trials vary", w.Duration, w.DurationMin, w.DurationMax)
		if names[bounds] == nil {
			out = append(out, bounds)
		}
		names[bounds] = append(names[bounds], w.Name())
	}
	for i, bounds := range out {
		out[i] = "length: " + listed(names[bounds]) + ": " + bounds
	}
	return out
}

// skipping prints which workloads are not in every block, and in which they are.
func skipping(p plan.Plan, s study.Study) []string {
	var out []string
	for _, w := range plan.Workloads(s) {
		if w.Blocks(p.Blocks) == p.Blocks {
			continue
		}
		out = append(out, w.Name()+": "+inBlocks(p, w.In))
	}
	return out
}

// inBlocks names the blocks of a plan that have something, such as "in blocks 1, 3, 5"; empty for none.
func inBlocks(p plan.Plan, has func(block int) bool) string {
	var in []string
	for block := 1; block <= p.Blocks; block++ {
		if has(block) {
			in = append(in, fmt.Sprint(block))
		}
	}
	switch len(in) {
	case 0:
		return ""
	case 1:
		return "in block " + in[0]
	}
	return "in blocks " + listed(in)
}

// passing prints the rate of the cost pass, and its blocks.
func passing(p plan.Plan, s study.Study) string {
	pass, why, ok := plan.CostPass(s)
	switch {
	case why != "":
		return study.CostPassID + ": none, because " + why
	case !ok:
		return ""
	}
	in := inBlocks(p, s.CostPass.In)
	if in == "" {
		return study.CostPassID + ": none, because it begins with block " + fmt.Sprint(s.CostPass.FromBlock)
	}
	rate := s.CostPass.Rate.String()
	if s.CostPass.Rate == quantity.PassAuto {
		rate = "half of what the slowest has in " + listed(pass.From) + " in block 1"
	}
	return fmt.Sprintf("%s: every mode at one rate, %s; %s", study.CostPassID, rate, in)
}

// varying prints the settings of the sensitivity pass, and its blocks.
func varying(p plan.Plan, s study.Study) string {
	var texts []string
	for _, v := range p.Varied {
		texts = append(texts, v.Of+" with "+v.Text)
	}
	switch {
	case s.Sensitivity != study.On:
		return ""
	case len(texts) == 0:
		return "sensitivity: none, because the workloads that it varies have a limit of their rate"
	}
	return fmt.Sprintf("sensitivity: %s; %s", strings.Join(texts, ", "), inBlocks(p, p.Varied[0].In))
}

// tailing prints the trials of the tail pass; empty without one.
func tailing(s study.Study) string {
	trials := plan.Tails(s)
	if len(trials) == 0 {
		if s.Tails == study.On {
			return "tail pass: none, because no workload of the study can run on a schedule"
		}
		return ""
	}
	var names []string
	for _, t := range trials {
		if !slices.Contains(names, t.Workload.Name()) {
			names = append(names, t.Workload.Name())
		}
	}
	slices.Sort(names)
	return fmt.Sprintf("tail pass: %s at half of what the slowest mode reaches, on a schedule; %d trials of %s of each mode, after the last block", listed(names), plan.TailTrials, trials[0].Workload.Duration)
}

// watching prints what is recorded beside the metrics.
func watching(e study.Evidence) string {
	return fmt.Sprintf("evidence: counters %s, stacks %s, drop reasons %s", e.Counters, e.Stacks, e.Drops)
}

// listed joins numbers or names and leaves out the middle of a long list.
func listed(all []string) string {
	if len(all) > 6 {
		all = append(slices.Clone(all[:3]), "...", all[len(all)-1])
	}
	return strings.Join(all, ", ")
}

func recreating(p plan.Plan, s study.Study) string {
	const what, always = "endpoints: ", "recreated before each block"
	switch s.Recreate {
	case study.RecreateOnce():
		return what + "made once"
	case study.RecreateEvery(1):
		return what + always
	case study.RecreateAuto():
	default:
		return fmt.Sprintf("%srecreated before every %d blocks", what, s.Recreate.Every)
	}
	var seldom []string
	for _, m := range p.Modes {
		if !s.Recreate.Due(2, p.SetupTimes[m]) {
			seldom = append(seldom, m)
		}
	}
	if len(seldom) == 0 {
		return what + always
	}
	return fmt.Sprintf("%s%s, those of %s before every %d, because they take long to create", what, always, strings.Join(seldom, ", "), study.RecreateSeldom)
}

// resolving says what modes with fewer set-ups than blocks can resolve, a line for those that have the same number.
func resolving(p plan.Plan, s study.Study) []string {
	var groups []string // by the sizes of their set-ups
	modes, sizes := map[string][]string{}, map[string][]int{}
	for _, m := range p.Modes {
		blocks := p.MinBlocks
		own := s.Recreate.SetUps(blocks, p.SetupTimes[m])
		if len(own) == blocks || blocks < stats.MinPairs {
			continue
		}
		for s.Stop != nil && len(own) > 1 && blocks < p.Blocks && len(s.Recreate.SetUps(blocks-s.Stop.ExtraBlocks, p.SetupTimes[m])) < s.Stop.MinBlocks {
			blocks++ // before that many set-ups nothing is settled
		}
		own = s.Recreate.SetUps(blocks, p.SetupTimes[m])
		key := fmt.Sprint(own)
		if modes[key] == nil {
			groups = append(groups, key)
		}
		modes[key], sizes[key] = append(modes[key], m), own
	}
	var lines []string
	for _, key := range groups {
		of, n, blocks := listed(modes[key]), len(sizes[key]), 0
		for _, own := range sizes[key] {
			blocks += own
		}
		df, least, most, ok := stats.SetupWidth(sizes[key])
		if !ok {
			lines = append(lines, "set-ups: 1 of "+of+": verdicts are of one set-up, indicative at most")
			continue
		}
		lines = append(lines, fmt.Sprintf("set-ups: %d in %d blocks of %s (t of %.2g degrees of freedom): intervals are %.2g to %.2g times as wide as with one for each block", n, blocks, of, df, least, most))
	}
	return lines
}

// ruling prints the rules for invalid trials that apply to trials of the plan.
func ruling(i study.Invalid, p plan.Plan) string {
	var rules []string
	alone := p.Alone()
	where := "" // the limits of load apply, if not to every workload
	if len(alone) < len(p.Workloads) {
		where = " during " + strings.Join(alone, ", ") + ", whose trials run alone"
	}
	if i.Steal.On() && len(alone) > 0 {
		rules = append(rules, fmt.Sprintf("the hypervisor takes more than %s of a CPU%s", wording.Percent(i.Steal.Of), where))
	}
	if i.Others.On() && len(alone) > 0 {
		rules = append(rules, fmt.Sprintf("other programs take more than %s of a CPU%s", wording.Percent(i.Others.Of), where))
	}
	if i.CPUWait.On() && slices.ContainsFunc(p.Workloads, plan.SendsAtRate) {
		rules = append(rules, fmt.Sprintf("datagrams at a fixed rate wait for a CPU for more than %s of the time because of other programs or the hypervisor", wording.Percent(i.CPUWait.Of)))
	}
	if i.Unsettled == study.On {
		rules = append(rules, "it does not become steady")
	}
	rules = append(rules, "a link goes down", "the clock is set")
	line := "invalid, and repeated at the end: a trial in which " + strings.Join(rules[:len(rules)-1], ", ") + " or " + rules[len(rules)-1]
	if i.Most.On() {
		line += fmt.Sprintf("; a workload with more than %s of them has no verdict", wording.Percent(i.Most.Of))
	}
	return line
}
