package parts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/readings"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/study"
)

// The limits above which evidence is named as a cause.
const (
	muchThrottled = 0.05  // seconds of each second of traffic for which a CPU limit stopped client and server
	muchResent    = 0.001 // share of segments sent again
	smallSegments = 0.75  // segment size as a share of the baseline's
	moreCPU       = 1.25  // soft interrupts for a unit of work, as a multiple of the baseline's
	busyCPU       = 0.95  // share of a trial in which the busiest CPU was not idle
)

// Explain returns why a mode is slower than its baseline, or that the run does not tell, for each
// workload of the cost by parts of a run. within is that of what its study asks for.
func Explain(run result.Run, within *study.Within, in verdict.Input) []result.Explanation {
	var out []result.Explanation
	for _, c := range run.CostByParts.Costs {
		if !strings.HasPrefix(c.Metric, result.CPUCost) {
			x := explainer{run: run, within: within, trials: in.Trials, margin: in.Rule.Margin, costByParts: run.CostByParts, cost: c}
			out = append(out, x.cause())
		}
	}
	return out
}

// explainer finds the cause of the cost of a mode in one workload.
type explainer struct {
	run         result.Run
	within      *study.Within // nil for none
	trials      []result.Trial
	margin      float64
	costByParts *result.CostByParts
	cost        result.PartCosts
}

func (x explainer) cause() result.Explanation {
	out := result.Explanation{Workload: x.cost.Workload, Metric: x.cost.Metric}
	whole, base := x.cost.Whole, x.cost.Baseline
	margin := x.margin
	switch {
	case x.cost.Metric == "goodput" && x.run.PaceOf(x.cost.Workload) != nil:
		out.Kind, out.Text = result.ExplainedUnknown, "all modes sent at one rate, below what the slowest path carries, so that goodput shows no difference; the CPU cost at that rate does"
		out.Next = "--full-rate, if the nodes may be loaded as much as a path carries"
		return out
	case whole == nil || base == nil || whole.CI == nil:
		out.Kind, out.Text = result.ExplainedUnknown, fmt.Sprintf("it is not known whether %s is slower than %s: too few blocks have both", x.costByParts.Mode, x.costByParts.Baseline)
		out.Next = "more blocks: --profile standard"
		return out
	case whole.CI[1] < -margin*base.Value:
		out.Kind = result.ExplainedUnknown
		out.Text = fmt.Sprintf("%s is faster than %s by %s %s, which a longer path should not be: the two had different conditions", x.costByParts.Mode, x.costByParts.Baseline, x.amount(&result.Amount{Value: -whole.Value, CI: &result.Interval{-whole.CI[1], -whole.CI[0]}}), x.unit())
		out.Next = "another run on nodes with CPUs to spare (--nodes)"
		return out
	case whole.CI[1] <= margin*base.Value:
		out.Kind = result.ExplainedNone
		out.Text = fmt.Sprintf("%s is not slower than %s between these nodes: at most %s more, and %s in all", x.costByParts.Mode, x.costByParts.Baseline, x.value(whole.CI[1]), x.value(base.Value))
		out.Next = "if a program is slower in a pod, look beside the path: a CPU limit (--cpu-limit N), other nodes (--nodes), sidecars, name resolution"
		return out
	case whole.CI[0] <= 0:
		out.Kind = result.ExplainedUnknown
		out.Text = fmt.Sprintf("the run does not tell whether %s is slower than %s: the difference is %s %s", x.costByParts.Mode, x.costByParts.Baseline, x.amount(whole), x.unit())
		out.Next = "more blocks (--profile standard), and nodes with less other load (--nodes)"
		return out
	}
	for _, find := range []func(*result.Explanation) bool{x.limited, x.segments, x.resent, x.step} {
		if find(&out) {
			return out
		}
	}
	out.Kind = result.ExplainedUnknown
	out.Text = fmt.Sprintf("%s is slower than %s by %s %s, and no part of the path alone is shown to cost it", x.costByParts.Mode, x.costByParts.Baseline, x.amount(whole), x.unit())
	out.Next = "more blocks (--profile standard) make the intervals of the parts narrower"
	return out
}

// amount writes an amount with its interval in the cost's unit, with three digits.
func (x explainer) amount(a *result.Amount) string {
	scale, unit := x.scale()
	text := three(a.Value*scale) + " " + unit
	if a.CI != nil {
		text += fmt.Sprintf(" (%s .. %s)", three(a.CI[0]*scale), three(a.CI[1]*scale))
	}
	return text
}

// value writes a value in the cost's unit, with what it is of.
func (x explainer) value(v float64) string {
	scale, unit := x.scale()
	return three(v*scale) + " " + unit + " " + x.unit()
}

// scale is how many of the unit are in a second.
func (x explainer) scale() (float64, string) {
	if strings.HasSuffix(x.cost.Unit, "/Gbit") || x.cost.Baseline != nil && x.cost.Baseline.Value >= 1e-3 {
		return 1e3, "ms"
	}
	return 1e6, "us"
}

// unit is what the time is of.
func (x explainer) unit() string {
	_, of, _ := strings.Cut(x.cost.Unit, "/")
	return "per " + of
}

// three writes a number with about three digits.
func three(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// limited: a CPU limit stops the pods. Either the step of the limit is shown to cost, or the
// kernel counted it.
func (x explainer) limited(out *result.Explanation) bool {
	throttled, known := x.mean(x.costByParts.Mode, func(t result.Trial) (float64, bool) {
		v, ok := t.Machine[result.MachineThrottled]
		return v / t.Traffic, ok && t.Traffic > 0
	})
	i := slices.IndexFunc(x.cost.Steps, func(s result.PartCost) bool { return slices.Contains(s.Parts, result.PartCPULimit) })
	step := i >= 0 && shown(x.cost.Steps[i].Cost)
	if !step && !(known && throttled > muchThrottled) {
		return false
	}
	out.Kind, out.Part = result.ExplainedCPULimit, result.PartCPULimit
	out.Text = "the CPU limit of the pods"
	if step {
		s := x.cost.Steps[i]
		out.Text += fmt.Sprintf(": it adds %s to the time %s, of the %s that the mode costs in all", x.amount(s.Cost), x.unit(), x.value(x.cost.Whole.Value))
	}
	if known {
		out.Text += fmt.Sprintf("; it stopped client and server for %.2f s of each second, both together", throttled)
	}
	out.Next = "raise resources.limits.cpu of the pods, or remove it and keep the request"
	return true
}

// segments: the pods' MTU is far below that of the nodes, or above what the tunnel carries.
func (x explainer) segments(out *result.Explanation) bool {
	if pod, tunnel, name := x.mtus(); tunnel > 0 && pod > tunnel {
		out.Kind = result.ExplainedMTU
		out.Text = fmt.Sprintf("the MTU: the pods send packets of up to %d bytes, and %s between the nodes carries %d; longer ones are fragmented, or dropped until the sender learns of it", pod, name, tunnel)
		out.Next = fmt.Sprintf("set the MTU of the pod network to at most %d in the configuration of the CNI plugin, and create the pods again", tunnel)
		return true
	}
	if x.cost.Metric != "goodput" {
		return false
	}
	size := func(t result.Trial) (float64, bool) {
		if t.Client == nil || t.Client.MSS == 0 {
			return 0, false
		}
		return float64(t.Client.MSS), true
	}
	own, has := x.mean(x.costByParts.Mode, size)
	base, had := x.mean(x.costByParts.Baseline, size)
	if !has || !had || own >= smallSegments*base {
		return false
	}
	out.Kind = result.ExplainedMTU
	out.Text = fmt.Sprintf("the MTU of the pod network: segments carry %.0f bytes, and %.0f between the nodes, so the same data takes %.1f times as many packets", own, base, base/own)
	out.Next = "set the MTU of the pod network to that of the nodes, less what the tunnel adds (VXLAN: 50 bytes over IPv4), in the configuration of the CNI plugin, and create the pods again"
	return true
}

// mtus returns the largest MTU of the devices of the pods, and that of the tunnel's device with
// its name, 0 if there is none.
func (x explainer) mtus() (pod, tunnel int, name string) {
	i := slices.IndexFunc(x.run.Modes, func(m result.Mode) bool { return m.ID == x.costByParts.Mode })
	if i < 0 || x.run.Modes[i].Topology == nil {
		return 0, 0, ""
	}
	for _, n := range x.run.Modes[i].Topology.Nodes {
		var mtu int
		for _, f := range n.Facts {
			if f.Name == "mtu" {
				_, _ = fmt.Sscan(f.Value, &mtu) // 0 if it is no number
			}
		}
		switch {
		case n.Sandbox != "" && mtu > 0:
			pod = max(pod, mtu)
		case slices.Contains([]string{"vxlan", "geneve", "ipip", "sit", "wireguard"}, n.Kind) && mtu > 0 && (tunnel == 0 || mtu < tunnel):
			tunnel, name = mtu, n.Label
		}
	}
	return pod, tunnel, name
}

// resent: packets are lost, which the host network does not lose.
func (x explainer) resent(out *result.Explanation) bool {
	share := func(t result.Trial) (float64, bool) {
		if t.Client == nil || t.Client.Retransmits == nil || t.Client.MSS == 0 || t.Client.Sent == 0 || t.Traffic <= 0 {
			return 0, false
		}
		return float64(*t.Client.Retransmits) * float64(t.Client.MSS) / (float64(t.Client.Sent) * t.Window / t.Traffic), true
	}
	own, has := x.mean(x.costByParts.Mode, share)
	base, had := x.mean(x.costByParts.Baseline, share)
	if !has || !had || own < muchResent || own < 3*base {
		return false
	}
	out.Kind = result.ExplainedLoss
	out.Text = fmt.Sprintf("lost packets: TCP sends %.2g %% of the segments again, and %.2g %% on the host network", 100*own, 100*base)
	out.Next = "measure udp_stream over the same modes, which tells where datagrams are dropped: --workloads udp_stream"
	return true
}

// step: the part that costs most.
func (x explainer) step(out *result.Explanation) bool {
	var steps []result.PartCost
	for _, s := range x.cost.Steps {
		if !s.Beyond && shown(s.Cost) {
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 {
		return false
	}
	top := slices.MaxFunc(steps, func(a, b result.PartCost) int { return cmp.Compare(a.Cost.Value, b.Cost.Value) })
	out.Kind, out.Part = result.ExplainedPart, strings.Join(top.Parts, ", ")
	cause, seen := x.title(top.Parts), fmt.Sprintf("it adds %s to the time %s, of %s in all", x.amount(top.Cost), x.unit(), x.value(x.cost.Whole.Value))
	out.Next = x.nextFor(top)
	if slices.Contains(top.Parts, result.PartServerPod) || slices.Contains(top.Parts, result.PartClientPod) {
		if x.apart(out, &cause, &seen) {
			seen = fmt.Sprintf("the time %s grows by %s where %s, and by %s in all; %s", x.unit(), x.amount(top.Cost), shortTitle(top.Parts), x.value(x.cost.Whole.Value), seen)
		}
	}
	out.Text = cause + ": " + seen + x.cpu()
	return true
}

// shortTitle is what a step adds, in a clause.
func shortTitle(parts []string) string {
	if slices.Contains(parts, result.PartServerPod) {
		return "the server is in a pod"
	}
	return "the client is in a pod, too"
}

// title is what the parts of a step are.
func (x explainer) title(parts []string) string {
	var out []string
	for _, r := range x.costByParts.Modes {
		if slices.Contains(parts, r.Part) {
			out = append(out, cmp.Or(r.Title, r.Part))
		}
	}
	return strings.Join(out, "; ")
}

// apart tells what pods cost within one node from what is left for what is between the nodes, and
// replaces the cause by the larger of the two if that is shown.
func (x explainer) apart(out *result.Explanation, cause, seen *string) bool {
	w := x.within
	i := slices.IndexFunc(verdict.TimeUnits(), func(u verdict.TimeUnit) bool { return u.Metric == x.cost.Metric })
	if w == nil || i < 0 {
		return false
	}
	l := costByParts{table: readings.Tabulate(x.run.Modes, []string{x.cost.Workload}, x.trials)}
	of := func(mode string) []readings.Reading {
		return readings.TimesOf(l.table.Values(mode, x.cost.Workload, x.cost.Metric), verdict.TimeUnits()[i].Rate)
	}
	within, across := readings.Differences(of(w.Mode), of(w.Baseline)), readings.Differences(of(w.Across), of(x.costByParts.Baseline))
	inside, rest := verdict.Amount(within), verdict.Amount(readings.Differences(across, within))
	if inside == nil || inside.CI == nil || rest == nil || rest.CI == nil {
		return false
	}
	*seen = fmt.Sprintf("within one node, pods add %s to processes on it, which leaves %s for what is between the nodes", x.amount(inside), x.amount(rest))
	between := x.fact("between the nodes")
	switch {
	case shown(rest) && rest.Value > inside.Value && strings.HasPrefix(between, "overlay"):
		out.Part, *cause = result.PartTunnel, "the tunnel between the nodes ("+between+")"
		out.Next = "where the nodes are in one subnet, let the CNI plugin route without the tunnel (flannel: host-gw or DirectRouting; Calico: CrossSubnet; Cilium: native routing)"
	case shown(inside) && inside.Value > rest.Value:
		out.Part, *cause = result.PartPods, "the devices of the pods, and the bridge or rules of their nodes"
		out.Next = "compare another datapath of the CNI plugin, such as eBPF host routing or netkit: the tunnel is not what costs most"
	}
	return true
}

// nextFor is what could be changed, or what would tell more, by the part of a step.
func (x explainer) nextFor(s result.PartCost) string {
	if slices.Contains(s.Parts, result.PartService) {
		return "compare a run with --decoy-services 1000: if the cost grows with the number of services, kube-proxy's mode nftables, or a proxy in eBPF, does not"
	}
	if slices.Contains(s.Parts, result.PartSidecars) {
		return "exclude the pods that need nothing of the mesh from injection, or compare its mode with a proxy for each node"
	}
	return "sampled stacks on the nodes would tell which code takes the time; they need rights that pods of this run do not have"
}

// cpu is the CPU time of the nodes in soft interrupts, where the network's own work is done, for a
// unit of the workload, if it grew.
func (x explainer) cpu() string {
	each := func(t result.Trial) (float64, bool) {
		soft, ok := t.Machine["cpu_softirq"]
		n := t.Metrics[x.cost.Metric] * t.Traffic
		return soft / n, ok && n > 0
	}
	own, has := x.mean(x.costByParts.Mode, each)
	base, had := x.mean(x.costByParts.Baseline, each)
	if !has || !had || base <= 0 || own < moreCPU*base {
		return ""
	}
	text := fmt.Sprintf("; the nodes spend %.1f times as much CPU time in soft interrupts %s", own/base, x.unit())
	full, known := x.mean(x.costByParts.Mode, func(t result.Trial) (float64, bool) {
		v, ok := t.Machine[result.MachineFullest]
		return v, ok
	})
	if known && full > busyCPU && x.cost.Metric == "goodput" {
		text += ", and a CPU was busy all the time"
	}
	return text
}

// fact is a fact of the explained mode, or of the last mode below it that has it.
func (x explainer) fact(name string) string {
	for _, r := range slices.Backward(x.costByParts.Modes) {
		for _, m := range x.run.Modes {
			for _, f := range m.Facts {
				if m.ID == r.Mode && f.Name == name {
					return f.Value
				}
			}
		}
	}
	return ""
}

// mean is the mean of a value over the valid trials of a mode. known is false without any.
func (x explainer) mean(mode string, of func(result.Trial) (float64, bool)) (mean float64, known bool) {
	var sum float64
	n := 0
	for _, t := range x.trials {
		if t.Mode != mode || t.Workload != x.cost.Workload || t.Status != result.TrialOK || t.Aside() {
			continue
		}
		if v, ok := of(t); ok {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(max(n, 1)), n > 0
}

// shown reports whether an amount is shown to be more than 0.
func shown(a *result.Amount) bool { return a != nil && a.CI != nil && a.CI[0] > 0 }
