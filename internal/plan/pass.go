package plan

import (
	"math/rand/v2"
	"slices"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// Pass is a study's cost pass, in which every mode has the same rate: the workload of its
// trials, and the workloads that it is derived from and whose results determine its rate.
// The rate is the requested one, 0 until the run has chosen it.
type Pass struct {
	Workload study.Workload
	Source   study.Workload // whose traffic is used
	From     []string       // names of Source in results: several for a sweep
}

// InCostPass reports whether the trial belongs to the cost pass.
func (t Trial) InCostPass() bool { return t.Workload.ID == study.CostPassID }

// CostPass returns the cost pass of a resolved study. If there is none, ok is false, and
// why is the reason if the study asks for one. The pass uses the first tcp_stream of the
// built-in generator, with a rate; else the first tcp_stream of another tool, generated
// by the built-in generator. A study with UDP only uses a udp_stream with the datagrams
// of its first udp_stream, udp_search or udp_sweep. Of several numbers of flows or streams
// it uses the first.
func CostPass(s study.Study) (p Pass, why string, ok bool) {
	if !s.CostPass.On() {
		return Pass{}, "", false
	}
	source, found := first(s, "tcp_stream")
	if !found {
		source, found = first(s, "udp_stream", "udp_search", "udp_sweep")
	}
	if !found {
		return Pass{}, "no workload of the study is a bulk transfer that can run at a fixed rate", false
	}
	each := variants(source)
	p = Pass{Source: source, Workload: each[0].Workload}
	if source.Kind != "tcp_stream" {
		p.Workload = datagramsOf(each[0].Workload)
	}
	w := &p.Workload
	w.ID, w.Tool, w.VerifyWith, w.PacketRate = study.CostPassID, study.BuiltIn, "", 0
	w.Every, w.Times, w.DurationMin, w.DurationMax, w.Slice = 0, 0, 0, 0, passSlice(source)
	w.Warmup, w.Duration, w.Rate = s.CostPass.Warmup, s.CostPass.Duration, 0
	for _, one := range each {
		p.From = append(p.From, one.Name())
	}
	if s.CostPass.Rate != quantity.PassAuto {
		*w = AtRate(*w, quantity.Rate(s.CostPass.Rate))
	}
	return p, "", true
}

// interleavedPassSlice is the length of the pass's slices: at its lowest rate a stream has at least 25
// writes in one.
const interleavedPassSlice = quantity.Duration(250 * time.Millisecond)

// passSlice is the slice of a pass: its trials are interleaved if those of its source are, so that the
// machine's speed varies for all modes alike.
func passSlice(source study.Workload) quantity.Duration {
	if External(source) || source.Slice == 0 || source.Slice >= source.Duration {
		return quantity.AtOnce
	}
	return interleavedPassSlice
}

// first is the first workload of these kinds; workloads of the built-in generator come
// before all others.
func first(s study.Study, kinds ...string) (study.Workload, bool) {
	fit := slices.DeleteFunc(slices.Clone(s.Workloads), func(w study.Workload) bool { return !slices.Contains(kinds, w.Kind) })
	if len(fit) == 0 {
		return study.Workload{}, false
	}
	return fit[max(0, slices.IndexFunc(fit, func(w study.Workload) bool { return !External(w) }))], true
}

// datagramsOf is a udp_stream with the datagrams, flows and sockets of another UDP
// workload.
func datagramsOf(w study.Workload) study.Workload {
	stream, err := workloads.Named("udp_stream")
	if err != nil {
		return w
	}
	return w.As(stream.Spec().WorkloadSpec)
}

// leastWrites is the minimum number of writes per second of a paced stream: with fewer, a
// difference of one write in the timed window would be visible.
const leastWrites = 100

// AtRate is the workload of a pass with a rate, which is the total of all its pairs of
// endpoints, both directions included. At a low rate its writes are smaller.
func AtRate(w study.Workload, total quantity.Rate) study.Workload {
	w.Rate = quantity.Load(uint64(total) / uint64(shares(w)))
	for w.WriteSize > 1 && uint64(w.WriteSize)*8*leastWrites > uint64(w.Rate) {
		w.WriteSize /= 2
	}
	return w
}

// Offered is the payload in bit/s that a workload requests for all its pairs, both
// directions included; 0 if it has no rate.
func Offered(w study.Workload) float64 {
	if w.Rate == quantity.Unlimited {
		return 0
	}
	return float64(w.Rate) * float64(shares(w))
}

// shares is how many times a workload offers its rate: once for each pair and direction.
func shares(w study.Workload) int {
	n := w.Clients()
	if w.Direction == study.Both {
		n *= 2
	}
	return n
}

// Values are the metrics from which the rate of a pass is chosen, in order of preference:
// goodput, or the rates that a search found, the strictest first.
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

// passIn inserts the trials of the cost pass among those of a block.
func (p Plan) passIn(block int, trials []Trial) []Trial {
	return p.insert(1<<63|uint64(block), block, p.Workloads[len(p.Workloads)-1], trials)
}

// insert inserts the trials of a workload at a random place between those of a block's workloads. It uses a random stream of
// its own, so that the order of the others does not depend on it.
func (p Plan) insert(stream uint64, block int, w study.Workload, trials []Trial) []Trial {
	rng := rand.New(rand.NewPCG(p.Seed, stream))
	group := p.group(rng, block, p.revisedTo(block, w))
	at := rng.IntN(len(trials)/max(1, len(p.drawn)) + 1)
	return slices.Insert(trials, at*len(p.drawn), group...)
}
