package result

import (
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"tare/internal/stats"
)

// Stacks is what stacks sampled in one trial came to: how many of them were of CPUs
// at work, and in which component of [ComponentNames] each was. Counts are samples.
type Stacks struct {
	Rate    float64 `json:"rate"`    // samples a second of each CPU
	Seconds float64 `json:"seconds"` // sampled, of the timed window
	CPUs    int     `json:"cpus"`    // sampled
	Busy    int     `json:"busy"`
	Idle    int     `json:"idle"`
	Lost    int     `json:"lost,omitempty"` // that found no room, or that the kernel held back
	// Components counts the busy ones by component; those that no rule knows are
	// under [Unclassified].
	Components map[string]int `json:"components"`
}

// CPU is the mean number of CPUs at work, by the samples. It is false where too
// little was sampled to say.
func (s Stacks) CPU() (float64, bool) {
	if s.Busy+s.Idle == 0 {
		return 0, false
	}
	return float64(s.Busy) / float64(s.Busy+s.Idle) * float64(s.CPUs), true
}

// Unclassified is the component of samples that no rule knows.
const Unclassified = "unknown"

// ComponentNames lists what samples are sorted into, in the order of a breakdown: from
// the program that sends down to the wire, then what is beside the path.
func ComponentNames() []string {
	return []string{
		"generator", "userspace proxy", "syscall entry", "copy", "memory", "TCP/UDP", "IP", "routing", "netfilter", "crypto",
		"VXLAN", "other tunnel", "macvlan/ipvlan", "bridge", "Open vSwitch", "eBPF", "qdisc", "GSO/GRO", "checksum", "veth", "tun/tap", "driver",
		"softirq and device core", "scheduler", "other programs", "watching", Unclassified,
	}
}

// Beside is whether a component is no part of a mode's cost: work that others do on the
// machine all the time, which a bill leaves out.
func Beside(component string) bool { return component == "other programs" || component == "watching" }

// own counts the busy samples that are the mode's cost.
func (s Stacks) own() int {
	n := s.Busy
	for name, of := range s.Components {
		if Beside(name) {
			n -= of
		}
	}
	return n
}

// Breakdown says where the CPU time of a mode with a workload went, by sampled
// stacks. Those of one workload have the same components in the same order, so that
// a mode stands beside its baseline line by line.
type Breakdown struct {
	Mode     string `json:"mode"`
	Workload string `json:"workload"`
	Trials   int    `json:"trials"`         // sampled
	Samples  int    `json:"samples"`        // of CPUs at work, all trials together
	Lost     int    `json:"lost,omitempty"` // samples
	// CPUs is the mean number of CPUs at work by the samples, nil where unknown.
	CPUs *float64 `json:"cpus,omitempty"`
	// Cost is the whole, in Unit, and every component's Cost a part of it, in proportion to
	// the samples that are not [Beside] the mode. Nil where it is unknown.
	Cost *float64 `json:"cost,omitempty"`
	Unit string   `json:"unit,omitempty"` // of costs, such as s/Gbit
	// Unknown is the share (0..1) that no rule knows, of the samples that are not [Beside]
	// the mode. It is among Components, too, as of all.
	Unknown    float64     `json:"unknown"`
	Components []Component `json:"components"`
	File       string      `json:"file,omitempty"`    // of the folded stacks, in the run's directory
	Missing    string      `json:"missing,omitempty"` // why there is nothing but the names
}

// Component is one line of a breakdown. Share is of the samples of CPUs at work, 0..1;
// a 0 is a count: none of them was in it. Cost is its part of the CPU cost, and CI the
// 95 % interval of that over the trials; nil where unknown, and for what is [Beside] the
// mode.
type Component struct {
	Name  string    `json:"name"`
	Share float64   `json:"share"`
	Cost  *float64  `json:"cost,omitempty"`
	CI    *Interval `json:"ci,omitempty"`
}

// Breakdowns sums up the sampled trials of each measured mode and workload, in the
// order of modes, workload by workload. A mode without such a trial has none where no
// mode has one. Components in which no mode of a workload has a sample are left out.
func Breakdowns(modes []Mode, workloads []string, trials []Trial) []Breakdown {
	var out []Breakdown
	for _, w := range workloads {
		sampled, used := map[string][]Trial{}, map[string]bool{}
		for _, t := range trials {
			if t.Workload != w || t.Stacks == nil || t.Status != TrialOK {
				continue
			}
			sampled[t.Mode] = append(sampled[t.Mode], t)
			for name, n := range t.Stacks.Components {
				used[name] = used[name] || n > 0
			}
		}
		if len(sampled) == 0 {
			continue
		}
		names := slices.DeleteFunc(ComponentNames(), func(n string) bool { return !used[n] && n != Unclassified })
		// What a later version of tare told apart has no place in the order.
		for _, n := range slices.Sorted(maps.Keys(used)) {
			if used[n] && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		for _, m := range modes {
			switch of := sampled[m.ID]; {
			case m.Status != ModeMeasured:
			case len(of) == 0:
				out = append(out, Breakdown{Mode: m.ID, Workload: w, Components: []Component{}, Missing: "no trial of it was sampled to its end"})
			default:
				out = append(out, breakdown(m.ID, w, names, of))
			}
		}
	}
	return out
}

// breakdown sums up the sampled trials of one mode and workload.
func breakdown(mode, workload string, names []string, trials []Trial) Breakdown {
	b := Breakdown{Mode: mode, Workload: workload, Trials: len(trials), Components: []Component{}}
	counts := map[string]int{}
	var cpus float64
	costs, known := make([]float64, len(trials)), true
	for i, t := range trials {
		b.Samples += t.Stacks.Busy
		b.Lost += t.Stacks.Lost
		for name, n := range t.Stacks.Components {
			counts[name] += n
		}
		cpu, ok := t.Stacks.CPU()
		cpus += cpu / float64(len(trials))
		cost, unit, priced := sampledCost(t)
		if !ok || !priced || t.Stacks.own() == 0 || b.Unit != "" && unit != b.Unit {
			known = false
			continue
		}
		costs[i], b.Unit = cost, unit
	}
	if b.Samples == 0 {
		b.Unit, b.Missing = "", "every sample found the CPUs idle"
		return b
	}
	b.CPUs, b.File = &cpus, StacksFile(mode, workload)
	if own := (Stacks{Busy: b.Samples, Components: counts}).own(); own > 0 {
		b.Unknown = float64(counts[Unclassified]) / float64(own)
	}
	if known {
		b.Cost, _ = overTrials(costs)
	} else {
		b.Unit = ""
	}
	for _, name := range names {
		c := Component{Name: name, Share: float64(counts[name]) / float64(b.Samples)}
		if known && !Beside(name) {
			parts := make([]float64, len(trials))
			for i, t := range trials {
				parts[i] = costs[i] * float64(t.Stacks.Components[name]) / float64(t.Stacks.own())
			}
			c.Cost, c.CI = overTrials(parts)
		}
		b.Components = append(b.Components, c)
	}
	return b
}

// overTrials is the mean over trials, which a part of a sum keeps adding up, and its
// 95 % interval where there are two or more.
func overTrials(xs []float64) (*float64, *Interval) {
	e, err := stats.MeanInterval(xs, 0.95)
	if err != nil || !finite(e.Value) {
		return nil, nil
	}
	if !e.HasInterval || !finite(e.Lo) || !finite(e.Hi) {
		return &e.Value, nil
	}
	return &e.Value, &Interval{max(0, e.Lo), e.Hi}
}

// sampledCost is the CPU cost of a sampled trial and its unit: the bill of the whole
// machine without what it does anyway, or where there is none what the samples that are
// the mode's come to.
func sampledCost(t Trial) (cost float64, unit string, ok bool) {
	for _, of := range []struct{ metric, unit string }{
		{"cpu_cost", "s/Gbit"}, {"cpu_cost_transactions", "s/1000 transactions"}, {"cpu_cost_connections", "s/1000 connections"},
	} {
		if v, there := t.Metrics[of.metric]; there && usable(v) {
			return v, of.unit, true
		}
	}
	cpus, ok := t.Stacks.CPU()
	if ok && t.Stacks.Busy > 0 {
		cpus *= float64(t.Stacks.own()) / float64(t.Stacks.Busy)
	}
	for _, of := range []struct {
		metric string
		scale  float64
		unit   string
	}{{"goodput", 1e9, "s/Gbit"}, {"transaction_rate", 1000, "s/1000 transactions"}, {"connection_rate", 1000, "s/1000 connections"}} {
		if v, there := t.Metrics[of.metric]; ok && there && usable(v) && v > 0 {
			return cpus * of.scale / v, of.unit, true
		}
	}
	return 0, "", false
}

// StacksFile is the file in a run's directory that the folded stacks of a mode and
// workload are in. Its name has only letters, digits and . _ - in it.
func StacksFile(mode, workload string) string {
	return "stacks/" + fileWord(mode) + "." + fileWord(workload) + ".folded"
}

// fileWord is a name as every file system takes it. What is replaced is told apart by a
// sum of the whole, unless it is only the / of a mode.
func fileWord(name string) string {
	changed := false
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-", r):
			return r
		case r == '/':
			return '-'
		}
		changed = true
		return '_'
	}, name)
	if changed || len(safe) > longestWord {
		return fmt.Sprintf("%.*s-%08x", longestWord, safe, crc32.ChecksumIEEE([]byte(name)))
	}
	return safe
}

// longestWord bounds a part of a file's name, so that two and what is around them fit
// into 255 bytes.
const longestWord = 80
