package plan

import (
	"slices"
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// A sensitivity pass adds trials in a share of the blocks, the same for all modes and in groups of their own, and leaves the
// others in their order. What has a limit of its rate is not varied.
func TestSensitivityPass(t *testing.T) {
	s := sample()
	s.Blocks, s.Stop = 7, nil
	for i := range s.Workloads {
		s.Workloads[i].Placement = study.OneCore
	}
	without := slices.Collect(Make(s).Trials())
	s.Sensitivity = study.On
	p := Make(s)
	must.Require(t, len(p.Varied) != 0, "nothing is varied")
	var others []Trial
	n := map[string]int{}
	for _, group := range Groups(slices.Collect(p.Trials())) {
		if _, varied := result.VariedFrom(group[0].Workload.ID); !varied {
			others = append(others, group...)
			continue
		}
		for _, one := range group {
			n[one.Workload.ID]++
			must.True(t, one.Block%2 != 0, "%s in block %d", one.Workload.ID, one.Block)
		}
	}
	must.Equal(t, without, others)
	for _, v := range p.Varied {
		must.EqualFor(t, "trials of "+v.Name(), 4*len(p.Modes), n[v.Name()])
	}
	must.EqualFor(t, "trials of the study", len(slices.Collect(p.Trials())), s.Trials())
	must.EqualFor(t, "trials announced", len(slices.Collect(p.Trials())), p.Extent(s.Blocks).Trials)
	must.True(t, Settings(s).Experiment(p.Modes[0], p.Varied[0].Name()) != "", "a varied workload has no settings")
	s.MaxRate = 1e9
	for _, v := range Varied(s) {
		must.True(t, v.Kind != "tcp_stream", "%s is varied at a limited rate", v.Name())
	}
}
