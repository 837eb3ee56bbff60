package verdict

import (
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// The range of a ratio over the settings, the study's own first. A setting of the cores counts where the trials had them, and
// a mode that has no ratio with another setting has no range.
func TestSensitivity(t *testing.T) {
	w := study.Workload{ID: "s", Kind: "tcp_stream", WriteSize: 128 << 10, Rate: quantity.Unlimited, SendBuffer: quantity.Buffer(1 << 20), ReceiveBuffer: quantity.Buffer(1 << 20), Placement: study.OneCore}
	s := study.Study{Sensitivity: study.On, Workloads: []study.Workload{w}}
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "m", Baseline: "host", Status: result.ModeMeasured}, {ID: "n", Baseline: "host", Status: result.ModeMeasured}}
	in := func(second int) Input {
		var trials []result.Trial
		add := func(block int, mode, workload string, value float64, server int) {
			end := func(cpu int) *result.End { return &result.End{CPU: &cpu} }
			trials = append(trials, result.Trial{Block: block, Mode: mode, Workload: workload, Status: result.TrialOK, Metrics: map[string]float64{"goodput": value}, Client: end(1), Server: end(server)})
		}
		for block := 1; block <= 4; block++ {
			noise := 1 + 0.01*float64(block%2)
			add(block, "host", "s", 1e9, 1)
			add(block, "m", "s", 0.7e9*noise, 1)
			add(block, "n", "s", 0.9e9*noise, 1)
			for setting, ratio := range map[string]float64{"write_size": 0.58, "two_cores": 0.75} {
				cpu := 1
				if setting == "two_cores" {
					cpu = second
				}
				add(block, "host", "s~"+setting, 2e9, cpu)
				add(block, "m", "s~"+setting, 2e9*ratio*noise, cpu)
			}
		}
		return Input{Modes: modes, Workloads: []string{"s"}, Trials: trials, Rule: Rule{Margin: 0.05}}
	}
	got := Sensitivity(in(0), s)
	must.Require(t, len(got) == 1 && len(got[0].Settings) == 3, "%+v", got)
	must.EqualFor(t, "mode, baseline, workload and metric", "m host s goodput", got[0].Mode+" "+got[0].Baseline+" "+got[0].Workload+" "+got[0].Metric)
	for i, want := range []struct {
		text  string
		ratio float64
	}{{"writes of 128KiB, buffers of 1MiB, one core", 0.7}, {"writes of 16KiB", 0.58}, {"two cores", 0.75}} {
		p := got[0].Settings[i]
		must.True(t, p.Setting == want.text && p.Ratio >= want.ratio && p.Ratio <= want.ratio*1.01 && p.Blocks == 4 && p.CI != nil, "%+v, want %+v", p, want)
	}
	must.True(t, got[0].Low == got[0].Settings[1].Ratio && got[0].High == got[0].Settings[2].Ratio, "from %g to %g", got[0].Low, got[0].High)
	one := Sensitivity(in(1), s)
	must.True(t, len(one) == 1 && len(one[0].Settings) == 2, "with one CPU: %+v", one)
	wild := in(0)
	for i := range wild.Trials {
		if tr := &wild.Trials[i]; tr.Workload == "s~two_cores" && tr.Mode == "m" && tr.Block%2 == 0 {
			tr.Metrics["goodput"] *= 3
		}
	}
	n := Sensitivity(wild, s)
	must.True(t, len(n) == 1 && n[0].Settings[2].Noisy && n[0].High == n[0].Settings[0].Ratio && !n[0].Settings[1].Noisy, "with a noisy setting: %+v", n)
	cells, _ := Judge(in(0))
	for _, c := range cells {
		must.EqualFor(t, "the workload of a cell", "s", c.Workload)
	}
	s.Sensitivity = ""
	must.EqualFor(t, "without the pass", 0, len(Sensitivity(in(0), s)))
}
