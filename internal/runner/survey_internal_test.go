package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/driver"
	"tare/internal/linuxnet"
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

// looked is a path that says how its stacks are set.
type looked struct {
	driver.Path
	stacks  []driver.Stack
	tracked map[string]driver.Tracked
	err     error
}

func (l looked) Survey(context.Context) ([]driver.Stack, error) { return l.stacks, l.err }
func (l looked) Tracked(context.Context) (map[string]driver.Tracked, error) {
	return l.tracked, l.err
}

func TestSurvey(t *testing.T) {
	r := &run{cfg: Config{Listener: nobody{}}}
	s := &stage{path: looked{
		stacks: []driver.Stack{
			{At: "a", Settings: map[string]string{driver.SysctlCongestion: "bbr"}},
			{At: "b", Settings: map[string]string{driver.SysctlCongestion: "cubic"}, Filters: []linuxnet.Filter{{Family: "inet", Table: "t", Chain: "c", Hook: "forward", Drops: true, Rules: 1, All: 1}, {Family: "ip", Table: "filter", Rules: 2, All: 2}}},
			{At: "c", NoFilters: "it may not be asked"},
		},
		tracked: map[string]driver.Tracked{"a": {Count: 10, Max: 100}, "b": {Count: 30, Max: 60}, "c": {Count: 1}},
	}}
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
	s = &stage{path: looked{err: errors.New("gone")}}
	r.survey(t.Context(), s)
	l = &lane{stage: s}
	l.tracked(t.Context())
	if len(s.stacks) != 0 || l.out.Machine != nil || len(r.out.Warnings) != 2 {
		t.Errorf("of a path that cannot be read: %v, %v, warnings %v", s.stacks, l.out.Machine, r.out.Warnings)
	}
	(&lane{stage: &stage{path: nil}}).tracked(t.Context()) // nothing to ask
}
