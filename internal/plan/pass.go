package plan

import (
	"math/rand/v2"
	"slices"

	"tare/internal/study"
	"tare/internal/traffic"
)

// Pass is the pass of a study at one rate for every mode: the workload of its trials,
// and the workloads of which it is made and whose figures its rate is chosen from.
// The rate is the one asked for, 0 until the run has chosen it.
type Pass struct {
	Workload study.Workload
	Source   study.Workload // that the traffic is taken from
	From     []string       // names in results of what Source became: several of a sweep
}

// InCostPass reports whether the trial belongs to the pass.
func (t Trial) InCostPass() bool { return t.Workload.ID == study.CostPassID }

// CostPass gives the pass of a resolved study. Without one it is false, with the
// reason if one was asked for.
//
// It is the first tcp_stream that the built-in generator drives, with a rate; else the
// first by another tool, made by the built-in generator. A study with UDP alone has
// a udp_stream with the datagrams of its first udp_stream, udp_search or udp_sweep.
func CostPass(s study.Study) (p Pass, why string, ok bool) {
	if !s.CostPass.On() {
		return Pass{}, "", false
	}
	source, found := first(s, "tcp_stream")
	if !found {
		source, found = first(s, "udp_stream", "udp_search", "udp_sweep")
	}
	if !found {
		return Pass{}, "no workload of the study transfers in bulk, and so none can be driven at a rate", false
	}
	p = Pass{Source: source, Workload: source}
	if source.Kind != "tcp_stream" {
		p.Workload = datagramsOf(source)
	}
	w := &p.Workload
	w.ID, w.Tool, w.VerifyWith, w.PacketRate = study.CostPassID, study.BuiltIn, "", 0
	w.Every, w.Times, w.DurationMin, w.DurationMax, w.Slice = 0, 0, 0, 0, study.AtOnce
	w.Warmup, w.Duration, w.Rate = s.CostPass.Warmup, s.CostPass.Duration, 0
	for _, one := range rates(source) {
		p.From = append(p.From, one.Name())
	}
	if s.CostPass.Rate != study.PassAuto {
		*w = AtRate(*w, study.Rate(s.CostPass.Rate))
	}
	return p, "", true
}

// first is the first workload of these kinds, one of the built-in generator before
// any other.
func first(s study.Study, kinds ...string) (study.Workload, bool) {
	fit := slices.DeleteFunc(slices.Clone(s.Workloads), func(w study.Workload) bool { return !slices.Contains(kinds, w.Kind) })
	if len(fit) == 0 {
		return study.Workload{}, false
	}
	return fit[max(0, slices.IndexFunc(fit, func(w study.Workload) bool { return !External(w) }))], true
}

// datagramsOf is a udp_stream with the datagrams, flows and sockets of another
// workload over UDP.
func datagramsOf(w study.Workload) study.Workload {
	return study.Workload{
		Kind: "udp_stream", Pairs: w.Pairs, Flows: w.Flows, PayloadSize: w.PayloadSize, Burst: w.Burst, Offload: w.Offload, Fragment: w.Fragment,
		Direction: w.Direction, Family: w.Family, SendBuffer: w.SendBuffer, ReceiveBuffer: w.ReceiveBuffer, Placement: w.Placement,
	}
}

// leastWrites is how many writes a second a paced stream has at least: with fewer, one
// more or less in the timed window would show.
const leastWrites = 100

// AtRate is the workload of a pass with a rate: what all its pairs of endpoints offer
// together, both directions included. At a low rate its writes are smaller.
func AtRate(w study.Workload, total study.Rate) study.Workload {
	w.Rate = study.Load(uint64(total) / uint64(shares(w)))
	for w.WriteSize > 1 && uint64(w.WriteSize)*8*leastWrites > uint64(w.Rate) {
		w.WriteSize /= 2
	}
	return w
}

// Offered is the payload in bit/s that a workload asks for of all its pairs, both
// directions included; 0 where it has no rate.
func Offered(w study.Workload) float64 {
	if w.Rate == study.Unlimited {
		return 0
	}
	return float64(w.Rate) * float64(shares(w))
}

// shares is how many times a workload offers its rate: once for each pair and
// direction.
func shares(w study.Workload) int {
	n := max(1, w.Pairs)
	if w.Direction == study.Both {
		n *= 2
	}
	return n
}

// Values are the metrics from which the rate of a pass is chosen, the one that is
// wanted first: goodput, or the rates that a search found, the strictest first.
func (p Pass) Values() []string {
	if len(p.Source.LossGoals) == 0 {
		return []string{"goodput"}
	}
	var names []string
	for _, loss := range p.Source.LossGoals {
		names = append(names, traffic.ThroughputMetric(loss, false))
	}
	return names
}

// passIn puts the trials of the pass somewhere between those of a block's workloads.
// It draws from a stream of its own, so that the others are where they would be
// without it.
func passIn(s study.Study, block int, workloads [][]Trial, modes []string, w study.Workload) [][]Trial {
	rng := rand.New(rand.NewPCG(s.Seed, 1<<63|uint64(block)))
	var trials []Trial
	for _, m := range shuffled(rng, modes) {
		trials = append(trials, Trial{Block: block, Mode: m, Workload: w})
	}
	return slices.Insert(workloads, rng.IntN(len(workloads)+1), trials)
}
