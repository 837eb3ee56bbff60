package analysis

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

func TestEmpty(t *testing.T) {
	host, m, again := result.Mode{ID: "host", Status: result.ModeMeasured}, result.Mode{ID: "m", Baseline: "host", Status: result.ModeMeasured}, result.Mode{ID: "again", Baseline: "host", Control: true, Status: result.ModeMeasured}
	void := m
	void.Status = result.ModeVoid
	cell := func(mode string) result.Cell { return result.Cell{Mode: mode, Value: new(1.0)} }
	for _, c := range []struct {
		name  string
		modes []result.Mode
		cells []result.Cell
		empty bool
	}{
		{"measured", []result.Mode{host, m}, []result.Cell{cell("host"), cell("m")}, false},
		{"baselines only", []result.Mode{host}, []result.Cell{cell("host")}, false},
		{"nothing", []result.Mode{host, m}, nil, true},
		{"the baseline alone", []result.Mode{host, m}, []result.Cell{cell("host"), {Mode: "m"}}, true},
		{"a control is no mode", []result.Mode{host, m, again}, []result.Cell{cell("host"), cell("again")}, true},
		{"values of a void mode do not count", []result.Mode{host, void}, []result.Cell{cell("host"), cell("m")}, true},
	} {
		must.EqualFor(t, c.name, c.empty, Empty(result.Run{Modes: c.modes, Cells: c.cells}) != "")
	}
}
