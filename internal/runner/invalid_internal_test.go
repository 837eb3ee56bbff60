package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/observe"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// rules are those of method 1.10.
func rules() study.Invalid {
	return study.Invalid{Steal: quantity.ShareOf(0.02), Others: quantity.ShareOf(0.05), CPUWait: quantity.ShareOf(0.1), Unsettled: study.On, Most: quantity.ShareOf(0.2)}
}

// trialWith returns a trial of block 1 whose window of 10 s has these machine metrics.
func trialWith(figures map[string]float64) *trialRun {
	figures[result.MachineElapsed] = 10
	tr := &trialRun{Trial: plan.Trial{Block: 1, Mode: "host", Workload: study.Workload{ID: "tcp_stream", Kind: "tcp_stream"}}}
	observed(observer(nil), tr).observed.Window = observe.Window{Metrics: figures, Notes: map[string]string{result.MachineOthers: "mostly cc1"}}
	return tr
}

func runWith(r study.Invalid) *measurement {
	m := &measurement{}
	m.cfg = Config{Study: study.Study{Invalid: r}, Machines: driver.HostInfo{Hosts: labdriver.Hosts()}}
	return m
}

func TestRules(t *testing.T) {
	off := study.Invalid{Steal: quantity.NotApplied(), Others: quantity.NotApplied(), Unsettled: study.Off, Most: quantity.ShareOf(0.2)}
	for _, tt := range []struct {
		name  string
		rules study.Invalid
		trial *trialRun
		want  string
	}{
		{"a quiet machine", rules(), trialWith(map[string]float64{result.MachineSteal: 0.2, result.MachineOthers: 0.5}), ""},
		{"steal", rules(), trialWith(map[string]float64{result.MachineSteal: 0.21}), "the hypervisor took 2.1 % of a CPU, more than 2 %"},
		{"others", rules(), trialWith(map[string]float64{result.MachineOthers: 1.5}), "other programs used 15 % of a CPU, more than 5 % (mostly cc1)"},
		{"both", rules(), trialWith(map[string]float64{result.MachineSteal: 1, result.MachineOthers: 1}), "the hypervisor took 10 % of a CPU, more than 2 %; other programs used 10 % of a CPU, more than 5 % (mostly cc1)"},
		{"what is unknown", rules(), trialWith(map[string]float64{}), ""},
		{"rules switched off", off, trialWith(map[string]float64{result.MachineSteal: 9, result.MachineOthers: 9}), ""},
		{"a study without rules", study.Invalid{}, trialWith(map[string]float64{result.MachineSteal: 9, result.MachineOthers: 9}), ""},
		{"a clock that was set", off, trialWith(map[string]float64{machineClockStep: 2.5}), "the clock was set by 2.5 s, or the machine was suspended"},
		{"a link that flapped", off, func() *trialRun {
			tr := trialWith(map[string]float64{})
			tr.flaps = []string{"a/eth0", "b/eth0"}
			return tr
		}(), "the link of a/eth0, b/eth0 went down or up"},
		{"interleaved, where all share it", rules(), func() *trialRun {
			tr := trialWith(map[string]float64{result.MachineSteal: 9, result.MachineOthers: 9})
			tr.observed.Shared = true
			return tr
		}(), ""},
		{"a failed trial", rules(), func() *trialRun {
			tr := trialWith(map[string]float64{result.MachineSteal: 9})
			tr.err = errors.New("it broke")
			return tr
		}(), ""},
		{"a pilot trial", rules(), func() *trialRun {
			tr := trialWith(map[string]float64{result.MachineSteal: 9})
			tr.Block = 0
			return tr
		}(), ""},
	} {
		r := runWith(tt.rules)
		r.markInvalid([]*trialRun{tt.trial})
		must.EqualFor(t, tt.name, tt.want, tt.trial.invalidReason)
	}
}

// series makes 150 samples of 0.1 s near 100, with a ripple of 1 %, times what at
// says of the sample's number.
func series(at func(i int) float64) *result.Series {
	s := &result.Series{Interval: 0.1}
	for i := range 150 {
		s.Values = append(s.Values, (100+float64(i*7%5-2)/2)*at(i))
	}
	return s
}

// TestUnsteady: a mode that changed its speed is invalid, whether it ran alone or
// interleaved. A machine that changed its speed for all of them makes none invalid.
func TestUnsteady(t *testing.T) {
	steady := func(int) float64 { return 1 }
	step := func(i int) float64 {
		if i >= 90 { // at 60 %: what lies in the first half may be cut off as warm-up
			return 0.8
		}
		return 1
	}
	short := series(step)
	short.Values = short.Values[:15] // three batches, as in the quick profile
	for _, tt := range []struct {
		name string
		of   []*result.Series
		want []bool // by trial: ruled out
	}{
		{"steady", []*result.Series{series(steady)}, []bool{false}},
		{"a step", []*result.Series{series(step)}, []bool{true}},
		{"too short to say", []*result.Series{short}, []bool{false}},
		{"no series", []*result.Series{nil, nil}, []bool{false, false}},
		{"interleaved, all steady", []*result.Series{series(steady), series(steady), series(steady)}, []bool{false, false, false}},
		{"interleaved, a machine with a step", []*result.Series{series(step), series(step), series(step)}, []bool{false, false, false}},
		{"interleaved, one with a step", []*result.Series{series(steady), series(step)}, []bool{true, true}},
		{"interleaved, lengths that differ", []*result.Series{series(steady), short}, []bool{false, false}},
	} {
		var group []*trialRun
		for _, s := range tt.of {
			tr := trialWith(map[string]float64{})
			tr.out.Series, tr.observed.Shared = s, len(tt.of) > 1
			group = append(group, tr)
		}
		runWith(rules()).markInvalid(group)
		for i, tr := range group {
			must.EqualFor(t, fmt.Sprintf("%s: trial %d is ruled out: %q", tt.name, i, tr.invalidReason), tt.want[i], tr.invalidReason != "")
			must.True(t, tr.invalidReason == "" || strings.HasPrefix(tr.invalidReason, "not steady: the second half differed by "), "%s: %q", tt.name, tr.invalidReason)
		}
		runWith(study.Invalid{Unsettled: study.Off}).markInvalid(group)
		for _, tr := range group {
			must.EqualFor(t, tt.name+": ruled out with the rule off", "", tr.invalidReason)
		}
	}
}
