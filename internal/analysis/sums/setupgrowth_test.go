package sums

import (
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// Variants that differ in a number of ports have a slope over their set-ups; what differs in more, was not measured or has one
// number has none.
func TestSetupGrowths(t *testing.T) {
	with := func(id, ports, other string) study.Mode {
		m := study.Mode{ID: id, Mode: "docker/published", Title: "title of " + id, With: map[string]string{}}
		for name, value := range map[string]string{"ports": ports, "other": other} {
			if value != "" {
				m.With[name] = value
			}
		}
		return m
	}
	asked := []study.Mode{with("hundred", "100", ""), {Mode: "docker/published"}, with("ten", "10", ""), with("other", "10", "off"), with("void", "1000", ""), {Mode: "host"}}
	var modes []result.Mode
	var trials []result.Trial
	for _, m := range asked {
		status := result.ModeMeasured
		if m.ID == "void" {
			status = result.ModeVoid
		}
		modes = append(modes, result.Mode{ID: m.Name(), Status: status})
	}
	add := func(mode string, status result.TrialStatus, seconds float64) {
		trials = append(trials, result.Trial{Mode: mode, Workload: "setup", Status: status, Metrics: map[string]float64{result.SetupFirstByte: seconds}})
	}
	for mode, seconds := range map[string]float64{"docker/published": 0.25, "ten": 0.275, "hundred": 0.5, "other": 9, "void": 9, "host": 9} {
		for range 4 {
			add(mode, result.TrialOK, seconds)
		}
		add(mode, result.TrialInvalid, 99)
	}
	want := []result.SetupGrowth{{Modes: []string{"docker/published", "ten", "hundred"}, Workload: "setup", Metric: result.SetupFirstByte, Setting: "ports",
		Numbers: []int{0, 10, 100}, Setups: 12, Per100: 0.25, Low: 0.25, High: 0.25}}
	got := SetupGrowths(modes, asked, []string{"setup", "tcp_rr"}, trials)
	for i := range got { // sums of binary fractions
		got[i].Per100, got[i].Low, got[i].High = round(got[i].Per100), round(got[i].Low), round(got[i].High)
	}
	must.Equal(t, want, got)
	must.Equal(t, 0, len(SetupGrowths(modes[:1], asked, []string{"setup"}, trials)))
}

func round(v float64) float64 { return float64(int(v*1e9+0.5)) / 1e9 }
