package study_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
)

// searches is a catalog with a search and a sweep.
func searches() study.Catalog {
	return study.Catalog{
		Modes: []study.Offer{{ID: "host"}},
		Workloads: []study.WorkloadSpec{
			{
				Kind: "search", Params: []string{"loss_goals", "goal", "exceed_ratio", "step", "step_sum", "precision", "pause", "min_rate", "max_rate", "max_search"},
				Defaults: study.Workload{LossGoals: quantity.LossGoals{0, 0.01}, Goal: study.Median, ExceedRatio: quantity.PortionOf(0.5), Pause: quantity.WaitOf(3e8), MinRate: 1e6, MaxRate: 10e9, Precision: 0.02},
				Profiles: map[string]study.Workload{
					study.Quick: {Step: 5e8, StepSum: 15e8, MaxSearch: 20e9},
					study.Paper: {Step: 1e9, StepSum: 21e9, MaxSearch: 600e9, Goal: study.Beside},
				},
				Goals: map[string]study.Workload{study.Strict: {ExceedRatio: quantity.PortionOf(0)}, study.RFC2544: {ExceedRatio: quantity.PortionOf(0), Step: 60e9, StepSum: 60e9, LossGoals: quantity.LossGoals{0}, MaxSearch: 3600e9}},
			},
			{Kind: "sweep", Params: []string{"rates"}, Defaults: study.Workload{Rates: quantity.Rates{1e6, 2e6}}},
		},
	}
}

// What is wrong with a search or a sweep is said with its line and its key.
func TestBadSearches(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"workload: sweep, rates: [0]", "rates holds 0bit/s; want"},
		{"workload: sweep, rates: [1Mbit/s, 1Mbit/s]", "rates contains 1Mbit/s after 1Mbit/s; want ascending values"},
		{"workload: sweep, rates: [2Mbit/s, 1Mbit/s]", "rates contains 1Mbit/s after 2Mbit/s"},
		{"workload: sweep, rates: []", "rates is an empty list; want"},
		{"workload: sweep, rates: 5Mbit/s", `rates is "5Mbit/s"; want`},
		{"workload: sweep, rates: [fast]", `rates contains "fast"; want`},
		{"workload: sweep, rates: {from: 9Mbit/s, to: 3Mbit/s, steps: 4}", "from is 9Mbit/s and to 3Mbit/s in rates"},
		{"workload: sweep, rates: {from: 1Mbit/s, to: 3Mbit/s}", "rates without steps"},
		{"workload: sweep, rates: {from: 1Mbit/s, to: 3Mbit/s, steps: 1}", "steps is 1; want a whole number from 2 to 100 of rates"},
		{"workload: sweep, rates: {from: 1Mbit/s, to: 3Mbit/s, step: 1}", `unknown key "step" in rates; did you mean "steps"?`},
		{"workload: search, loss_goals: [0, 2]", "loss_goals holds 2; want a number from 0 to 0.5"},
		{"workload: search, loss_goals: [0.01, 0]", "loss_goals contains 0 after 0.01"},
		{"workload: search, exceed_ratio: 1", "exceed_ratio is 1; want a number from 0 to 0.9"},
		{"workload: search, exceed_ratio: lots", `exceed_ratio is "lots"; want`},
		{"workload: search, goal: best", `goal is "best"; want median, strict, both or rfc2544`},
		{"workload: search, goal: strict, exceed_ratio: 0.5", "with goal strict no step may exceed"},
		{"workload: search, goal: both, exceed_ratio: 0", "goal both always includes"},
		{"workload: search, step: 1s, step_sum: 2s", "step_sum is 2s, less than 3 steps of 1s; want at least 3s"},
		{"workload: search, goal: strict, step: 2s, step_sum: 1s", "less than 1 step of 2s"},
		{"workload: search, max_rate: 1Mbit/s, min_rate: 2Mbit/s", "max_rate is 1Mbit/s, not above the min_rate of 2Mbit/s"},
		{"workload: search, step_sum: 30s, step: 1s, max_search: 40s", "max_search is 40s, too short for a search"},
		{"workload: search, precision: 0", "precision is 0; want"},
	} {
		_, err := studyfile.Decode("s.yaml", []byte("modes: [host]\nworkloads:\n  - {"+tt.keys+"}\n"), searches())
		must.True(t, err != nil && strings.HasPrefix(err.Error(), "s.yaml:3: ") && strings.Contains(err.Error(), tt.want), "{%s}: %v, want line 3 and %q", tt.keys, err, tt.want)
	}
}

// What a search leaves open follows from its goal and profile, and from what it sets.
func TestSearchDefaults(t *testing.T) {
	base := study.Workload{
		ID: "search", Kind: "search", LossGoals: quantity.LossGoals{0, 0.01}, Goal: study.Median, ExceedRatio: quantity.PortionOf(0.5), Pause: quantity.WaitOf(3e8), MinRate: 1e6, MaxRate: 10e9, Precision: 0.02,
		Step: 5e8, StepSum: 15e8, MaxSearch: 20e9,
	}
	for _, tt := range []struct {
		keys   string
		change func(*study.Workload)
	}{
		{"", func(*study.Workload) {}},
		{"exceed_ratio: 0", func(w *study.Workload) { w.ExceedRatio = quantity.PortionOf(0) }},
		{"goal: strict", func(w *study.Workload) { w.Goal, w.ExceedRatio = study.Strict, quantity.PortionOf(0) }},
		{"goal: rfc2544", func(w *study.Workload) {
			w.Goal, w.ExceedRatio, w.LossGoals, w.Step, w.StepSum, w.MaxSearch = study.RFC2544, quantity.PortionOf(0), quantity.LossGoals{0}, 60e9, 60e9, 3600e9
		}},
		{"step: 1s", func(w *study.Workload) { w.Step, w.StepSum, w.MaxSearch = 1e9, 3e9, 40e9 }},
		{"step_sum: 600ms", func(w *study.Workload) { w.Step, w.StepSum, w.MaxSearch = 2e8, 6e8, 8e9 }},
		{"step_sum: 3s", func(w *study.Workload) { w.StepSum, w.MaxSearch = 3e9, 40e9 }},
		{"max_rate: 50Mbit/s", func(w *study.Workload) { w.MinRate, w.MaxRate = 500e3, 50e6 }},
		{"min_rate: 1Gbit/s", func(w *study.Workload) { w.MinRate, w.MaxRate = 1e9, 100e9 }},
		{"loss_goals: [0.005]", func(w *study.Workload) { w.LossGoals = quantity.LossGoals{0.005} }},
	} {
		s, err := studyfile.Decode("s.yaml", []byte("modes: [host]\nworkloads:\n  - {workload: search, "+tt.keys+"}\n"), searches())
		if err != nil {
			t.Errorf("%q: %v", tt.keys, err)
			continue
		}
		s, err = study.Resolve(s, searches())
		if err != nil {
			t.Errorf("%q: %v", tt.keys, err)
			continue
		}
		want := base
		tt.change(&want)
		must.EqualFor(t, tt.keys, want, s.Workloads[0])
		again, err := studyfile.Decode("study.yaml", must.Get(studyfile.Marshal(s))(t), searches())
		if err == nil {
			again, err = study.Resolve(again, searches())
		}
		diff := cmp.Diff(s, again)
		must.True(t, err == nil && diff == "", "%q resolved again: %v (-first +second):\n%s", tt.keys, err, diff)
	}
}

// A range of rates has both its ends, and what is between can be read.
func TestRateRange(t *testing.T) {
	for _, tt := range []struct {
		in   study.RateRange
		want quantity.Rates
	}{
		{study.RateRange{100e6, 1000e6, 10}, quantity.Rates{100e6, 200e6, 300e6, 400e6, 500e6, 600e6, 700e6, 800e6, 900e6, 1000e6}},
		{study.RateRange{10e6, 20e6, 4}, quantity.Rates{10e6, 13330e3, 16670e3, 20e6}},
		{study.RateRange{10000, 10001, 3}, quantity.Rates{10000, 10001}},
	} {
		must.EqualFor(t, tt.in, tt.want, tt.in.List())
	}
}
