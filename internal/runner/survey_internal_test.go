package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/driver"
	"tare/internal/result"
)

// codes are the warnings of a run by code and scope.
func codes(r *run) []string {
	out := []string{}
	for _, w := range r.out.Warnings {
		out = append(out, w.Code+" "+w.Scope)
	}
	return out
}

// looked is a path whose stacks say how they are set, and how many connections they track.
func looked(err error, tracked map[string]driver.Tracked, stacks ...driver.Settings) *driver.Path {
	p := &driver.Path{}
	for _, s := range stacks {
		t, tracks := tracked[s.At]
		p.Stacks = append(p.Stacks, driver.NetworkStack{
			Name: s.At, Survey: func(context.Context) (driver.Settings, error) { return s, err },
			Tracked: func(context.Context) (driver.Tracked, bool, error) { return t, tracks, err },
		})
	}
	return p
}

func TestSurvey(t *testing.T) {
	r := &run{cfg: Config{Listener: nobody{}}}
	s := &stage{path: looked(nil, map[string]driver.Tracked{"a": {Count: 10, Max: 100}, "b": {Count: 30, Max: 60}, "c": {Count: 1}},
		driver.Settings{At: "a", Sysctls: map[string]string{driver.SysctlCongestion: "bbr"}},
		driver.Settings{At: "b", Sysctls: map[string]string{driver.SysctlCongestion: "cubic"}, Filters: []driver.Filter{{Family: "inet", Table: "t", Chain: "c", Hook: "forward", Drops: true, Rules: 1, All: 1}, {Family: "ip", Table: "filter", Rules: 2, All: 2}}},
		driver.Settings{At: "c", NoFilters: "it may not be asked"},
	)}
	r.survey(t.Context(), s)
	want := []result.Fact{{Name: "default congestion control", Value: "a bbr, b cubic"}, {Name: "b packet filter", Value: "inet t forward: 1 rule, else drop; ip filter (old iptables): 2 rules"}}
	if d := cmp.Diff(want, s.facts); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
	l := &lane{stage: s}
	l.tracked(t.Context())
	if got := l.out.Machine[figureTracked]; got != 0.5 {
		t.Errorf("%g of the tracking is in use, want 0.5", got)
	}
	if d := cmp.Diff([]string{"not_observed run"}, codes(r)); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	s = &stage{path: looked(errors.New("gone"), nil, driver.Settings{At: "a"})}
	r.survey(t.Context(), s)
	l = &lane{stage: s}
	l.tracked(t.Context())
	if len(s.stacks) != 0 || l.out.Machine != nil || len(r.out.Warnings) != 2 {
		t.Errorf("of a path that cannot be read: %v, %v, warnings %v", s.stacks, l.out.Machine, r.out.Warnings)
	}
	(&lane{stage: &stage{path: nil}}).tracked(t.Context()) // nothing to ask
}
