package plan

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic/workloads"
)

// searchOf is the resolved udp_search of a profile.
func searchOf(t *testing.T, profile string) study.Study {
	t.Helper()
	var cat study.Catalog
	cat.Modes = []study.Offer{{ID: "host"}, {ID: "x", Baseline: "host"}}
	for _, w := range workloads.All() {
		cat.Workloads = append(cat.Workloads, w.Spec().WorkloadSpec)
	}
	s := must.Get(study.Resolve(study.Study{Seed: 1, Profile: profile, Modes: study.ModesOf("host", "x"), Workloads: []study.Workload{{Kind: "udp_search"}},
		CostPass: study.CostPass{Rate: quantity.NoPass}}, cat))(t)
	return s
}

// A search is recognised by its goals, takes about the time of the method's table, later
// ones less, and the searches of a block run together.
func TestSearches(t *testing.T) {
	for _, tt := range []struct {
		profile     string
		goals       int
		first, last [2]time.Duration // at least, at most
	}{
		{study.Quick, 2, [2]time.Duration{5 * time.Second, 16 * time.Second}, [2]time.Duration{2 * time.Second, 14 * time.Second}},
		{study.Standard, 2, [2]time.Duration{15 * time.Second, 40 * time.Second}, [2]time.Duration{8 * time.Second, 36 * time.Second}},
		{study.Paper, 4, [2]time.Duration{90 * time.Second, 240 * time.Second}, [2]time.Duration{60 * time.Second, 240 * time.Second}},
	} {
		p := Make(searchOf(t, tt.profile))
		n := len(Search(p.Workloads[0]).Goals)
		must.True(t, n == tt.goals, "%s: %d goals", tt.profile, n)
		first, last := trials(p)[0], trials(p)[len(trials(p))-1]
		for _, of := range []struct {
			what string
			Trial
			want [2]time.Duration
		}{{"first", first, tt.first}, {"last", last, tt.last}} {
			if took := of.Traffic() + of.Overhead(); took < of.want[0] || took > of.want[1] || took > of.MaxTime() {
				t.Errorf("%s: the %s search takes %s, want %v and at most %s", tt.profile, of.what, took, of.want, of.MaxTime())
			}
		}
		for _, g := range Groups(trials(p)) {
			must.True(t, len(g) == 2 && !g[0].Sliced(), "%s: a group of %d", tt.profile, len(g))
		}
	}
}
