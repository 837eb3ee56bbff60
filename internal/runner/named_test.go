//go:build linux

package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
)

// withLacking is a driver with one more mode, which cannot be had.
type withLacking struct{ netns.Driver }

func (d withLacking) Modes() []driver.Mode {
	return append(d.Driver.Modes(), driver.Mode{ID: "elsewhere", Baseline: netns.Host})
}

func (d withLacking) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	if o.Mode == "elsewhere" {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: "it is not to be had"}
	}
	return d.Driver.Provision(ctx, o)
}

// A run keeps the study's names, makes the comparisons that the study requests, and
// reports what it left out: unavailable modes, and limits without effect.
func TestNames(t *testing.T) {
	run, trials, err := runStudy(t, withLacking{}, nil, func(s *study.Study) {
		s.Modes = []study.Mode{
			{Mode: "host", ID: "raw"}, {Mode: "netns/bridge", ID: "one", Title: "mine", Description: "as asked"},
			{Mode: "netns/bridge", ID: "two"}, {Mode: "elsewhere", ID: "vm"},
		}
		s.Limits = study.Limits{Client: study.Limit{CPUs: 1}}
		s.Scenarios = []study.Scenario{{ID: "A", Mode: "raw", Workload: "tcp_rr"}, {ID: "B", Title: "the one", Mode: "one", Workload: "tcp_rr"}, {ID: "V", Mode: "vm", Workload: "tcp_rr"}}
		s.Compare = []study.Comparison{{A: study.SideOf("B"), B: study.SideOf("A")}, {ID: "modes", A: study.SideOf("two"), B: study.SideOf("one")}, {A: study.SideOf("V"), B: study.SideOf("A")}}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	one, vm := modeOf(t, run, "one"), modeOf(t, run, "vm")
	if one.Mode != "netns/bridge" || one.Title != "mine" || one.Description != "as asked" || one.Baseline != "raw" || one.Status != result.ModeMeasured {
		t.Errorf("%+v", one)
	}
	if vm.Status != result.ModeUnsupported || !strings.HasPrefix(vm.Reason, "it is not to be had") {
		t.Errorf("%+v", vm)
	}
	if trials = tried(t, &run, trials); len(trials) != 6 || run.Trials.OK != 6 {
		t.Errorf("%d trials, %+v", len(trials), run.Trials)
	}
	if len(run.Scenarios) != 3 || run.Scenarios[1] != (result.Scenario{ID: "B", Title: "the one", Mode: "one", Workload: "tcp_rr"}) {
		t.Errorf("scenarios %+v", run.Scenarios)
	}
	for id, figures := range map[string]bool{"B/A": true, "modes": true, "V/A": false} {
		i := slices.IndexFunc(run.Comparisons, func(c result.Comparison) bool { return c.ID == id })
		if i < 0 || figures != (run.Comparisons[i].Ratio != nil) || figures == (run.Comparisons[i].Reason != "") {
			t.Errorf("comparison %s: %+v", id, run.Comparisons)
		}
	}
	for code, text := range map[string]string{"limits_skipped": "raw, one, two, vm,"} {
		if !slices.ContainsFunc(run.Warnings, func(w result.Warning) bool { return w.Code == code && strings.Contains(w.Text, text) }) {
			t.Errorf("no warning %s with %q: %+v", code, text, run.Warnings)
		}
	}
}
