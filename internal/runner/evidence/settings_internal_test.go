package evidence

import (
	"context"
	"errors"
	"testing"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// codes are warnings by code and scope.
func codes(warnings []result.Warning) []string {
	out := []string{}
	for _, w := range warnings {
		out = append(out, w.Code+" "+w.Scope)
	}
	return out
}

// looked is a path whose stacks report their settings and their tracked connections.
func looked(err error, tracked map[string]driver.ConnTrack, stacks ...driver.Settings) *driver.Path {
	p := &driver.Path{}
	for _, s := range stacks {
		t, tracks := tracked[s.At]
		p.Stacks = append(p.Stacks, driver.NetworkStack{
			Name: s.At, Survey: func(context.Context) (driver.Settings, error) { return s, err },
			ReadTracked: func(context.Context) (driver.ConnTrack, bool, error) { return t, tracks, err },
		})
	}
	return p
}

func TestSurvey(t *testing.T) {
	var warnings told
	cfg := Config{Warn: warnings.warn}
	path := looked(nil, map[string]driver.ConnTrack{"a": {Count: 10, Max: 100}, "b": {Count: 30, Max: 60}, "c": {Count: 1}},
		driver.Settings{At: "a", Sysctls: map[string]string{driver.SysctlCongestion: "bbr"}},
		driver.Settings{At: "b", Sysctls: map[string]string{driver.SysctlCongestion: "cubic"}, Filters: []driver.Filter{{Family: "inet", Table: "t", Chain: "c", Hook: "forward", Drops: true, Rules: 1, All: 1}, {Family: "ip", Table: "filter", Rules: 2, All: 2}}},
		driver.Settings{At: "c", NoFilters: "it may not be asked"},
	)
	stacks, facts, read := New(cfg).ReadSettings(t.Context(), path)
	must.True(t, len(stacks) == 3 && read, "read %t: %v", read, stacks)
	want := []result.Fact{{Name: "default congestion control", Value: "a bbr, b cubic"}, {Name: "b packet filter", Value: "inet t forward: 1 rule, else drop; ip filter (old iptables): 2 rules"}}
	must.Equal(t, want, facts)
	one := trialOf(cfg, mode{path: path}, plan.Trial{})
	one.ReadConntrack(t.Context())
	must.Equal(t, 0.5, one.Record.Machine[result.MachineTracked])
	must.Equal(t, []string{"not_observed run"}, codes(warnings))
	path = looked(errors.New("gone"), nil, driver.Settings{At: "a"})
	stacks, _, read = New(cfg).ReadSettings(t.Context(), path)
	one = trialOf(cfg, mode{path: path}, plan.Trial{})
	one.ReadConntrack(t.Context())
	must.True(t, !read && len(stacks) == 0 && one.Record.Machine == nil && len(warnings) == 2,
		"of a path that cannot be read: %v, %v, warnings %v", stacks, one.Record.Machine, warnings)
	trialOf(cfg, mode{}, plan.Trial{}).ReadConntrack(t.Context()) // nothing to ask
}
