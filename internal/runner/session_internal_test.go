package runner

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// A run that is resumed on another machine says so, and keeps what an earlier session said; a new run
// and one resumed on its machine say nothing.
func TestResumedOnAnotherMachine(t *testing.T) {
	machine := func(microcode, calibration string) []result.Host {
		return []result.Host{{Name: "a", Facts: []result.Fact{{Name: "microcode", Value: microcode}, {Name: "calibration_switch", Value: calibration}}}}
	}
	earlier := result.Warning{Code: "machine_changed", Scope: "run", Text: "of before"}
	tests := []struct {
		name    string
		resumed store.Resumption
		want    []result.Warning
	}{
		{"a new run", store.Resumption{}, []result.Warning{}},
		{"the same machine", store.Resumption{Hosts: machine("0x1", "2100 ns")}, []result.Warning{}},
		{"changed before", store.Resumption{Hosts: machine("0x1", "2040 ns"), Warnings: []result.Warning{earlier}}, []result.Warning{earlier}},
		{"another machine", store.Resumption{Hosts: machine("0x2", "2040 ns")}, []result.Warning{{Code: "machine_changed", Scope: "run",
			Text: "the run was resumed on another machine, and ratios differ between machines: microcode of host a was 0x2 and is 0x1. " +
				"Its results are of blocks of both; start a new run."}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(Config{Study: study.Study{Seed: 1}, Machines: driver.HostInfo{Report: machine("0x1", "2040 ns")}, Listener: silent{}, Resumed: tt.resumed})
			defer r.observer.Close()
			r.warnResumed()
			must.Equal(t, tt.want, r.out.Warnings)
		})
	}
}
