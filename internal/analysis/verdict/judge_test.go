package verdict

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

// What a mode adds in time is the mean of the differences of each block, of a rate by its inverse; a rate of bits is no time, and
// values without blocks have none.
func TestAdded(t *testing.T) {
	trials := func(metric string) []result.Trial {
		return blocks.Join(blocks.Rows("host", metric, 1e5, 2e5, 1e5), blocks.Rows("veth", metric, 5e4, 1e5, 5e4))
	}
	serial := []string{"stream"}
	added := func(metric string, rule Rule) *result.Added {
		cells, _ := Judge(Input{Modes: blocks.HostAnd(), Workloads: []string{"stream"}, Trials: trials(metric), Rule: rule, Serial: serial})
		return cells[1].Added
	}
	got := added("transaction_rate", Rule{Margin: 0.05})
	must.Require(t, got != nil && got.CI != nil && got.Unit == "s/transaction" && got.N == 3 && math.Abs(got.Value-25e-6/3) <= 1e-9 && got.CI[0] <= got.Value && got.CI[1] >= got.Value,
		"added %+v", got)
	if got := added("rtt_p50", Rule{Margin: 0.05}); got == nil || got.Unit != "s" || got.Value >= 0 {
		t.Errorf("round trip: %+v", got)
	}
	for metric, rule := range map[string]Rule{"goodput": {Margin: 0.05}, "loss_ratio": {Margin: 0.05}, "transaction_rate": {Margin: 0.05, Pairing: PairNone}} {
		got := added(metric, rule)
		must.True(t, got == nil, "%s: added %+v", metric, got)
	}
	// Of several exchanges at once, or on a schedule, the rate tells the time of none; a latency is one all the same.
	serial = nil
	must.True(t, added("transaction_rate", Rule{Margin: 0.05}) == nil && added("rtt_p50", Rule{Margin: 0.05}) != nil, "the inverse of a rate of concurrent exchanges is no time")
	s := study.Study{Workloads: []study.Workload{{ID: "one", Kind: "tcp_rr", Flows: 1}, {ID: "many", Kind: "tcp_rr", Flows: 16}, {ID: "paced", Kind: "tcp_rr", Flows: 1, TransactionRate: 1000},
		{ID: "pairs", Kind: "tcp_rr", Flows: 1, Pairs: 2}, {ID: "udp", Kind: "udp_rr"}}}
	must.Equal(t, []string{"one", "udp"}, SerialWorkloads(s))
}

// Student's sleep data (R: t.test(..., paired = TRUE)) as logarithms of Gbit/s.
func TestCellsKnownAnswer(t *testing.T) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	var trials []result.Trial
	for i := range first {
		trials = append(trials, blocks.Row(i+1, "veth", "goodput", math.Exp(first[i])), blocks.Row(i+1, "host", "goodput", math.Exp(second[i])))
	}
	cells, warnings := Cells(blocks.HostAnd(), []string{"stream"}, trials, Rule{Margin: 0.05, Indicative: true})
	want := []result.Cell{
		{
			Mode: "host", Workload: "stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, N: 10,
			// R: t.test(second): mean 2.33, 0.8976775 to 3.7623225.
			Value: new(math.Exp(2.33)), CI: &result.Interval{math.Exp(0.8976775), math.Exp(3.7623225)},
			Judgement: result.Judgement{Indicative: true},
		},
		{
			Mode: "veth", Workload: "stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, N: 10,
			// R: t.test(first): mean 0.75, -0.5297804 to 2.0297804.
			Value: new(math.Exp(0.75)), CI: &result.Interval{math.Exp(-0.5297804), math.Exp(2.0297804)},
			Baseline: "host",
			Judgement: result.Judgement{
				Ratio: new(math.Exp(-1.58)), RatioCI: &result.Interval{math.Exp(-2.4598858), math.Exp(-0.7001142)}, P: new(0.00283289), FlipP: new(4.0 / 1024),
				Verdict: result.Worse, Margin: 0.05, Indicative: true,
				// sd 1.229995; (2.262157 + 0.883404) / sqrt 10 = 0.994714.
				Detectable: new(math.Expm1(0.994714 * 1.229995)),
			},
		},
	}
	must.Equal(t, want, cells, blocks.Approx())
	must.True(t, len(warnings) == 0, "%v", warnings)
}

// brief is what a verdict test looks at.
type brief struct {
	Cell    string
	N       int
	Ratio   float64 // NaN: none
	Verdict result.Verdict
	More    int // blocks needed, -1: none
}

func briefs(cells []result.Cell) []brief {
	var out []brief
	for _, c := range cells {
		b := brief{readings.Scope(c.Workload, c.Metric, c.Mode), c.N, math.NaN(), c.Verdict, -1}
		if c.Ratio != nil {
			b.Ratio = *c.Ratio
		}
		if c.BlocksNeeded != nil {
			b.More = *c.BlocksNeeded
		}
		out = append(out, b)
	}
	return out
}

func TestCellVerdicts(t *testing.T) {
	none := math.NaN()
	steady := []float64{100, 101, 99, 100, 100}
	host := brief{"stream goodput host", 5, none, "", -1}
	for _, c := range []struct {
		name   string
		trials []result.Trial
		want   []brief
	}{
		{"worse", blocks.Join(blocks.Rows("host", "goodput", steady...), blocks.Rows("veth", "goodput", 80, 81, 79, 80, 80)),
			[]brief{host, {"stream goodput veth", 5, 0.8, result.Worse, -1}}},
		{"better", blocks.Join(blocks.Rows("host", "goodput", steady...), blocks.Rows("veth", "goodput", 120, 122, 119, 120, 120)),
			[]brief{host, {"stream goodput veth", 5, 1.202, result.Better, -1}}},
		{"lower is better", blocks.Join(blocks.Rows("host", "rtt_p50", steady...), blocks.Rows("veth", "rtt_p50", 120, 122, 119, 120, 120)),
			[]brief{{"stream rtt_p50 host", 5, none, "", -1}, {"stream rtt_p50 veth", 5, 1.202, result.Worse, -1}}},
		{"lower is better, and is lower", blocks.Join(blocks.Rows("host", "rtt_p50", steady...), blocks.Rows("veth", "rtt_p50", 80, 81, 79, 80, 80)),
			[]brief{{"stream rtt_p50 host", 5, none, "", -1}, {"stream rtt_p50 veth", 5, 0.8, result.Better, -1}}},
		{"small", blocks.Join(blocks.Rows("host", "goodput", steady...), blocks.Rows("veth", "goodput", 98, 99, 97, 98, 98.1)),
			[]brief{host, {"stream goodput veth", 5, 0.9802, result.Small, -1}}},
		{"same", blocks.Join(blocks.Rows("host", "goodput", steady...), blocks.Rows("veth", "goodput", 101, 100, 99, 100, 99)),
			[]brief{host, {"stream goodput veth", 5, 0.998, result.Same, -1}}},
		// sd of the logs 14.061 %, mean 1.173 %; t_.95 sd / sqrt n + mean <= ln 1.05 first at n 41.
		{"cannot tell", blocks.Join(blocks.Rows("host", "goodput", steady...), blocks.Rows("veth", "goodput", 90, 120, 105, 85, 110)),
			[]brief{host, {"stream goodput veth", 5, 1.0118, result.CannotTell, 36}}},
		{"trials not in order", blocks.Join(blocks.Rows("veth", "goodput", 80, 160, 240), []result.Trial{blocks.Row(3, "host", "goodput", 300), blocks.Row(1, "host", "goodput", 100), blocks.Row(2, "host", "goodput", 200)}),
			[]brief{{"stream goodput host", 3, none, "", -1}, {"stream goodput veth", 3, 0.8, result.Worse, -1}}},
		{"unbalanced blocks are dropped for the pair", blocks.Join(blocks.Rows("host", "goodput", 100, 200, 300, 400), []result.Trial{
			blocks.Row(1, "veth", "goodput", 50), blocks.Row(3, "veth", "goodput", 150), blocks.Row(4, "veth", "goodput", 200), blocks.Row(9, "veth", "goodput", 1)}),
			[]brief{{"stream goodput host", 4, none, "", -1}, {"stream goodput veth", 3, 0.5, result.Worse, -1}}},
		{"two pairs: a ratio, no verdict, one block more", blocks.Join(blocks.Rows("host", "goodput", 100, 100), blocks.Rows("veth", "goodput", 80, 81)),
			[]brief{{"stream goodput host", 2, none, "", -1}, {"stream goodput veth", 2, 0.805, result.CannotTell, 1}}},
		{"one pair: a ratio, nothing else", blocks.Join(blocks.Rows("host", "goodput", 100), blocks.Rows("veth", "goodput", 80)),
			[]brief{{"stream goodput host", 1, none, "", -1}, {"stream goodput veth", 1, 0.8, result.CannotTell, -1}}},
		{"no pairs", blocks.Join(blocks.Rows("host", "goodput", 100), []result.Trial{blocks.Row(2, "veth", "goodput", 80)}),
			[]brief{{"stream goodput host", 1, none, "", -1}, {"stream goodput veth", 1, none, result.CannotTell, -1}}},
		{"a zero leaves no ratio", blocks.Join(blocks.Rows("host", "retransmits", 5, 0, 5, 5), blocks.Rows("veth", "retransmits", 9, 9, 9, 9)),
			[]brief{{"stream retransmits host", 4, none, "", -1}, {"stream retransmits veth", 4, none, result.CannotTell, -1}}},
		{"a metric one mode lacks", blocks.Join(blocks.Rows("host", "goodput", steady...), blocks.Rows("veth", "transaction_rate", 5, 5)),
			[]brief{host, {"stream transaction_rate veth", 2, none, result.CannotTell, -1}}},
		{"the last of several counts", blocks.Join(blocks.Rows("host", "goodput", 100, 100, 100), blocks.Rows("veth", "goodput", 7, 8, 9), blocks.Rows("veth", "goodput", 80, 80.1, 79.9)),
			[]brief{{"stream goodput host", 3, none, "", -1}, {"stream goodput veth", 3, 0.8, result.Worse, -1}}},
		{"only ok trials of known modes and workloads", blocks.Join(blocks.Rows("host", "goodput", 100), []result.Trial{
			{Block: 1, Mode: "host", Workload: "stream", Status: result.TrialInvalid, Metrics: map[string]float64{"goodput": 1}},
			{Block: 2, Mode: "host", Workload: "stream", Status: result.TrialFailed, Metrics: map[string]float64{"goodput": 1}},
			{Block: 2, Mode: "host", Workload: "other", Status: result.TrialOK, Metrics: map[string]float64{"goodput": 1}},
			{Block: 2, Mode: "other", Workload: "stream", Status: result.TrialOK, Metrics: map[string]float64{"goodput": 1}}}),
			[]brief{{"stream goodput host", 1, none, "", -1}}},
		{"nothing", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cells, _ := Cells(blocks.HostAnd(), []string{"stream"}, c.trials, Rule{Margin: 0.05})
			must.Equal(t, c.want, briefs(cells), cmpopts.EquateApprox(1e-3, 0), cmpopts.EquateNaNs())
			must.Get(store.EncodeRun(result.Run{Cells: cells}))(t)
		})
	}
}

// What must be absent is nil, not 0.
func TestCellsUnknownIsAbsent(t *testing.T) {
	rule := Rule{Margin: 0.05}
	one, _ := Cells(blocks.HostAnd(), []string{"stream"}, blocks.Join(blocks.Rows("host", "goodput", 100), blocks.Rows("veth", "goodput", 80)), rule)
	zero, _ := Cells(blocks.HostAnd(), []string{"stream"}, blocks.Join(blocks.Rows("host", "retransmits", 0, 4, 2), blocks.Rows("veth", "retransmits", 0, 0, 0)), rule)
	want := []result.Cell{
		{Mode: "host", Metric: "goodput", Unit: "bit/s", Better: result.Higher, N: 1, Value: new(100.0)},
		{Mode: "veth", Metric: "goodput", Unit: "bit/s", Better: result.Higher, N: 1, Value: new(80.0),
			Baseline: "host", Judgement: result.Judgement{Ratio: new(0.8), Verdict: result.CannotTell, Margin: 0.05}},
		// 2 +- 4.302653 * 2 / sqrt 3, cut off at 0.
		{Mode: "host", Metric: "retransmits", Unit: "segments", Better: result.Lower, N: 3, Value: new(2.0), CI: &result.Interval{0, 6.968275}},
		{Mode: "veth", Metric: "retransmits", Unit: "segments", Better: result.Lower, N: 3, Value: new(0.0), // no interval: it would claim that it is 0
			Baseline: "host", Judgement: result.Judgement{Verdict: result.CannotTell, Margin: 0.05}},
	}
	must.Equal(t, want, append(one, zero...), blocks.Approx(), cmpopts.IgnoreFields(result.Cell{}, "Workload"))
}

func TestCellsOrder(t *testing.T) {
	modes := []result.Mode{
		{ID: "z", Status: result.ModeMeasured}, {ID: "v", Status: result.ModeVoid, Baseline: "z"}, {ID: "a", Status: result.ModeMeasured, Baseline: "z"},
	}
	var trials []result.Trial
	for _, m := range []string{"a", "v", "z"} {
		for _, w := range []string{"one", "two"} {
			trials = append(trials, result.Trial{Block: 1, Mode: m, Workload: w, Status: result.TrialOK,
				Metrics: map[string]float64{"rtt_p99": 1, "goodput": 1, "retransmits": 1}})
		}
	}
	cells, _ := Cells(modes, []string{"two", "one"}, trials, Rule{})
	var got []string
	for _, c := range cells {
		got = append(got, readings.Scope(c.Workload, c.Metric, c.Mode))
	}
	want := []string{
		"two goodput z", "two goodput a", "two retransmits z", "two retransmits a", "two rtt_p99 z", "two rtt_p99 a",
		"one goodput z", "one goodput a", "one retransmits z", "one retransmits a", "one rtt_p99 z", "one rtt_p99 a",
	}
	must.Equal(t, want, got)
}

// Holm works over the modes of one workload and metric, and over no more.
func TestCellsHolm(t *testing.T) {
	host := []float64{100, 100, 100, 100, 100}
	off := []float64{92, 95, 101, 94, 93} // p about .024
	p := func(modes ...string) float64 {
		ms := []result.Mode{{ID: "host", Status: result.ModeMeasured}}
		trials := blocks.Rows("host", "goodput", host...)
		for _, id := range modes {
			ms = append(ms, result.Mode{ID: id, Status: result.ModeMeasured, Baseline: "host"})
			trials = blocks.Join(trials, blocks.Rows(id, "goodput", off...))
		}
		for _, other := range []string{"host", "a"} { // another family
			for _, t := range blocks.Rows(other, "goodput", off...) {
				t.Workload = "rr"
				trials = append(trials, t)
			}
		}
		cells, _ := Cells(ms, []string{"stream", "rr"}, trials, Rule{Margin: 0.01})
		for _, c := range cells {
			if c.Mode == "a" && c.Workload == "stream" {
				must.EqualFor(t, fmt.Sprintf("p %g", *c.P), map[bool]result.Verdict{true: result.Worse, false: result.CannotTell}[*c.P < 0.05], c.Verdict)
				return *c.P
			}
		}
		return math.NaN()
	}
	alone, three := p("a"), p("a", "b", "c")
	must.True(t, alone > 0.017 && alone < 0.05 && math.Abs(three-3*alone) <= 1e-12, "p alone %g, among three Alike %g", alone, three)
}
