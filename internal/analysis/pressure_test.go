package analysis

import (
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

func TestPressed(t *testing.T) {
	with := func(figures map[string]float64) result.Trial {
		figures[result.MachineElapsed] = 10
		return result.Trial{Mode: "m", Workload: "w", Status: result.TrialOK, Machine: figures}
	}
	quiet := func() result.Trial {
		return with(map[string]float64{result.MachinePressureMemory: 0.1, result.MachinePressureCPU: 2.5, result.MachineAvailable: littleMemory, result.MachineSwapped: muchSwap,
			result.MachineKills: 0, result.MachineGroupStalls: 0, result.MachineTracked: fullTracking})
	}
	ruledOut := with(map[string]float64{result.MachinePressureMemory: 9, result.MachineTracked: 1})
	ruledOut.Status = result.TrialInvalid
	tests := []struct {
		name   string
		trials []result.Trial
		place  string
		want   []string
	}{
		{"up to the limits, and what does not count", []result.Trial{quiet(), ruledOut, {Status: result.TrialOK, Mode: "m", Workload: "w"}}, study.Free, []string{}},
		{"memory", []result.Trial{quiet(), with(map[string]float64{result.MachinePressureMemory: 0.11})}, study.Free, []string{"memory_pressure run"}},
		{"little of it", []result.Trial{with(map[string]float64{result.MachineAvailable: littleMemory - 1})}, study.Free, []string{"memory_pressure run"}},
		{"a group's limit", []result.Trial{with(map[string]float64{result.MachineGroupStalls: 1})}, study.Free, []string{"memory_pressure run"}},
		{"swap", []result.Trial{with(map[string]float64{result.MachineSwapped: muchSwap + 1})}, study.Free, []string{"swapping run"}},
		{"kills, of the machine and of a group", []result.Trial{with(map[string]float64{result.MachineKills: 1, result.MachineGroupKills: 1})}, study.Free, []string{"oom_kill run"}},
		{"CPUs", []result.Trial{with(map[string]float64{result.MachinePressureCPU: 2.51})}, study.Free, []string{"cpu_pressure w"}},
		{"CPUs in one trial of three", []result.Trial{quiet(), quiet(), with(map[string]float64{result.MachinePressureCPU: 9})}, study.Free, []string{}},
		{"one CPU for both, as asked for", []result.Trial{with(map[string]float64{result.MachinePressureCPU: 9})}, study.OneCore, []string{}},
		{"connections", []result.Trial{with(map[string]float64{result.MachineTracked: 0.91}), with(map[string]float64{result.MachineTracked: 1})}, study.Free, []string{"conntrack_full m w"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := &evaluation{in: Evidence{Trials: tt.trials, Study: study.Study{Workloads: []study.Workload{{ID: "w", Kind: "tcp_stream", Placement: tt.place}}}}}
			e.pressed()
			must.Equal(t, tt.want, codes(e.run))
		})
	}
}

// Where the machines of client and server were read separately, the time between those readings counts.
func TestPerTime(t *testing.T) {
	if got, known := perTime(result.MachinePressureCPU)(result.Trial{Machine: map[string]float64{result.MachinePressureCPU: 2, result.MachinePressureTime: 4, result.MachineElapsed: 1}}); !known || got != 0.5 {
		t.Errorf("the share is %g (known: %t), want that of the time between the readings, 0.5", got, known)
	}
}

// Load that interleaved modes share is told by how much of the run it lasted.
func TestBusyTurns(t *testing.T) {
	trials := func(others ...float64) (out []result.Trial) {
		for _, cpus := range others {
			out = append(out, result.Trial{Status: result.TrialOK, Turns: 2, Machine: map[string]float64{result.MachineOthers: 5 * cpus, result.MachineElapsed: 5}})
		}
		return out
	}
	for name, c := range map[string]struct {
		trials []result.Trial
		want   []string
	}{
		"quiet":        {trials(0, 0.04, 0.05), []string{}},
		"now and then": {trials(0, 0.9, 0.2, 0.1), []string{"busy_turns: in 3 of 4 interleaved trials other programs used more than 5 % of a CPU, up to 90 %"}},
		"half":         {trials(0.9, 0.1), []string{"busy_turns: in 2 of 2 interleaved trials other programs used more than 5 % of a CPU, up to 90 %"}},
		"most": {trials(1.2, 0.6, 0.4), []string{"busy_run: in 2 of 3 interleaved trials other programs used more than 50 % of a CPU",
			"busy_turns: in 3 of 3 interleaved trials other programs used more than 5 % of a CPU, up to 120 %"}},
		"rule off":     {trials(0.9), []string{"busy_run: in 1 of 1 interleaved trials other programs used more than 50 % of a CPU"}},
		"whole trials": {[]result.Trial{{Status: result.TrialOK, Machine: map[string]float64{result.MachineOthers: 5, result.MachineElapsed: 5}}}, []string{}},
	} {
		allowed := quantity.Share{Of: 0.05}
		if name == "rule off" {
			allowed = quantity.Share{}
		}
		e := evaluation{in: Evidence{Study: study.Study{Invalid: study.Invalid{Others: allowed}}, Trials: c.trials}}
		e.busyTurns()
		got := []string{}
		for _, w := range e.run.Warnings {
			seen, _, _ := strings.Cut(w.Text, ": ")
			got = append(got, w.Code+": "+seen)
		}
		must.EqualFor(t, name, c.want, got)
	}
}
