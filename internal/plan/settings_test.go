package plan

import (
	"slices"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// resolvedSample is a study as a run has it.
func resolvedSample(t *testing.T, change func(*study.Study)) study.Study {
	t.Helper()
	s := study.Study{Profile: study.Standard, Seed: 7, Modes: []study.Mode{{Mode: "host"}, {ID: "b", Mode: "netns/bridge"}}, Control: true,
		Workloads: []study.Workload{{Kind: "tcp_stream", Warmup: quantity.WaitOf(time.Second), Duration: quantity.Duration(2 * time.Second)}, {Kind: "tcp_rr"}}}
	if change != nil {
		change(&s)
	}
	s = must.Get(study.Resolve(s, studytest.Catalog()))(t)
	return s
}

// Every trial of a plan, pilots, cost pass and those that sample stacks included, has a
// hash of what decides it.
func TestEveryTrialHasExperiment(t *testing.T) {
	s := resolvedSample(t, func(s *study.Study) {
		s.CostPass.Rate, s.Evidence.Stacks = quantity.PassAuto, study.On
		s.Workloads = append(s.Workloads, study.Workload{Kind: "udp_stream", VerifyWith: "iperf3"})
	})
	of := Settings(s)
	for _, tr := range append(trials(Make(s)), Profiles(s)...) {
		must.Require(t, of.Experiment(tr.Mode, tr.Workload.Name()) != "", "%s %s has none", tr.Mode, tr.Workload.Name())
	}
}

// A hash that changes sets the trials of every run apart: only what decides a trial may
// change it. If this fails, the values of a resolved study changed on purpose, or a run
// of the version before could not be resumed for no reason.
func TestExperimentIsPinned(t *testing.T) {
	got := map[string]string{}
	of := Settings(resolvedSample(t, nil))
	for m := range of.Modes {
		for w := range of.Workloads {
			got[m+" "+w] = of.Experiment(m, w)
		}
	}
	want := map[string]string{
		"host tcp_stream": "04cc4df51c468b8c", "host tcp_rr": "16b712cb93fc99db", "host cost_pass": "c9ad940ff26a38d9",
		// What decides the trials of the control are the settings of its baseline.
		"control tcp_stream": "04cc4df51c468b8c", "control tcp_rr": "16b712cb93fc99db", "control cost_pass": "c9ad940ff26a38d9",
		"b tcp_stream": "01e7c0718be7dfaf", "b tcp_rr": "76be2e106ddd1d2a", "b cost_pass": "f429637c7dbb96e4",
	}
	must.Equal(t, want, got)
}

// Trials that wait for their schedule in another way are others; a default that is written is none.
func TestWaitDecidesTrials(t *testing.T) {
	hash := func(w study.Workload) string {
		w.Kind = "udp_stream"
		return Settings(resolvedSample(t, func(s *study.Study) { s.Workloads = append(s.Workloads, w) })).Experiment("b", "udp_stream")
	}
	absent, spin, fifo := hash(study.Workload{}), hash(study.Workload{Wait: study.Spin}), hash(study.Workload{Scheduling: study.FIFOScheduling})
	must.True(t, absent != spin && absent != fifo && spin != fifo, "hashes %s, with wait %s, with scheduling %s", absent, spin, fifo)
	must.Equal(t, absent, hash(study.Workload{Wait: study.Sleep, Scheduling: study.OtherScheduling}))
}

// Each key either changes the hash or is known not to: a new key is not forgotten.
func TestWhatDecidesTrials(t *testing.T) {
	base := Settings(resolvedSample(t, nil)).Experiment("b", "tcp_stream")
	for name, c := range map[string]struct {
		changes bool
		change  func(*study.Study)
	}{
		"blocks":             {false, func(s *study.Study) { s.Blocks = 30 }},
		"seed":               {false, func(s *study.Study) { s.Seed = 8 }},
		"stop":               {false, func(s *study.Study) { s.Stop = &study.Stop{MinBlocks: 6, Width: 0.1, ExtraBlocks: 1} }},
		"margin":             {false, func(s *study.Study) { s.Margin = 0.02 }},
		"max_time":           {false, func(s *study.Study) { s.MaxTime = quantity.Duration(time.Hour) }},
		"title":              {false, func(s *study.Study) { s.Title, s.Modes[1].Title = "x", "y" }},
		"name":               {false, func(s *study.Study) { s.Name, s.Description = "x", "y" }},
		"another workload":   {false, func(s *study.Study) { s.Workloads = append(s.Workloads, study.Workload{Kind: "udp_stream"}) }},
		"order":              {false, func(s *study.Study) { slices.Reverse(s.Modes); slices.Reverse(s.Workloads) }},
		"every":              {false, func(s *study.Study) { s.Workloads[0].Every, s.Workloads[0].Times = 2, 3 }},
		"claims":             {false, func(s *study.Study) { s.Claims = []study.Claim{{ID: "c", Claim: "x", Needs: "y"}} }},
		"other length":       {false, func(s *study.Study) { s.Workloads[1].Duration = quantity.Duration(9 * time.Second) }},
		"invalid.most":       {false, func(s *study.Study) { s.Invalid.Most = quantity.ShareOf(0.5) }},
		"default written":    {false, func(s *study.Study) { s.Workloads[0].Congestion = "cubic" }},
		"duration":           {true, func(s *study.Study) { s.Workloads[0].Duration = quantity.Duration(3 * time.Second) }},
		"warmup":             {true, func(s *study.Study) { s.Workloads[0].Warmup = quantity.WaitOf(3 * time.Second) }},
		"streams":            {true, func(s *study.Study) { s.Workloads[0].Streams = 4 }},
		"congestion_control": {true, func(s *study.Study) { s.Workloads[0].Congestion = "reno" }},
		"placement":          {true, func(s *study.Study) { s.Workloads[0].Placement = study.Free }},
		"no_delay":           {true, func(s *study.Study) { no := false; s.Workloads[0].NoDelay = &no }},
		"mode under an id":   {true, func(s *study.Study) { s.Modes[1] = study.Mode{ID: "b", Mode: "netns/macvlan"} }},
		"another mode":       {true, func(s *study.Study) { s.Modes = append(s.Modes, study.Mode{Mode: "netns/macvlan"}) }},
		"no control":         {true, func(s *study.Study) { s.Control = false }},
		"lab":                {true, func(s *study.Study) { s.Lab.MTU = 9000 }},
		"lab of the mode":    {true, func(s *study.Study) { s.Modes[1].Lab = &study.Lab{Rate: 1e9} }},
		"settle":             {true, func(s *study.Study) { s.Settle = quantity.WaitOf(2 * time.Second) }},
		"renew":              {true, func(s *study.Study) { s.Recreate = study.RecreateEvery(1) }},
		"evidence":           {true, func(s *study.Study) { s.Evidence.Counters = study.Off }},
		"invalid.steal":      {true, func(s *study.Study) { s.Invalid.Steal = quantity.ShareOf(0.5) }},
		"pilot":              {true, func(s *study.Study) { s.Pilot = quantity.WaitOf(5 * time.Second) }},
	} {
		got := Settings(resolvedSample(t, c.change)).Experiment("b", "tcp_stream")
		must.True(t, got != "" && (got != base) == c.changes, "%s: the hash is %s, was %s", name, got, base)
	}
}
