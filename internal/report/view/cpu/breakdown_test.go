package cpu

import (
	"strings"
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Without a price a breakdown is one of shares; a component that one mode lacks is
// there with 0, and small ones are summed up for the terminal without losing any.
func TestBreakdownInShares(t *testing.T) {
	run := result.Run{Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "m", Baseline: "host", Status: result.ModeMeasured}}}
	part := func(name string, share float64) result.Component { return result.Component{Name: name, Share: share} }
	run.Breakdowns = []result.Breakdown{
		{Mode: "m", Workload: "w", Samples: 9, Components: []result.Component{part("copy", 0.5), part("VXLAN", 0.3), part("IP", 0.105), part("veth", 0.095)}},
		{Mode: "host", Workload: "w", Samples: 9, Components: []result.Component{part("copy", 0.8), part("IP", 0.1), part("veth", 0.1)}},
	}
	v := model.New(model.Input{Run: run})
	b := Breakdowns(v)[0]
	var got []string
	for _, r := range b.short() {
		line := r.Name
		for _, c := range r.Cells {
			line += strings.TrimRight(" "+b.number(c.Value)+" "+b.diff(c), " ")
		}
		got = append(got, line)
	}
	want := []string{"copy 80.0 50.0 -30.0", "VXLAN 0.0 30.0 +30.0", "2 others 20.0 20.0 0.0", "all 100.0 100.0 0.0"}
	must.Equal(t, want, got)
	must.Equal(t, []string{"% of the mode's samples", "host"}, []string{b.Unit, b.Modes[0].Mode})
}
