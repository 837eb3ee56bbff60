package workloads

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
)

// A workload takes wait and scheduling exactly if it can have a schedule, and refuses them without one.
func TestWaitNeedsSchedule(t *testing.T) {
	var cat study.Catalog
	for _, w := range All() {
		cat.Workloads = append(cat.Workloads, w.Spec().WorkloadSpec)
	}
	problems := func(w study.Workload) string {
		var all []string
		for _, p := range study.Check(study.Study{Workloads: []study.Workload{w}}, cat, nil) {
			all = append(all, p.Path+": "+p.Text)
		}
		return strings.Join(all, "\n")
	}
	for _, spec := range cat.Workloads {
		keys := spec.Keys()
		exchanges, datagrams := slices.Contains(keys, "transaction_rate"), strings.HasPrefix(spec.Kind, "udp_")
		for key, w := range map[string]study.Workload{
			"wait": {Kind: spec.Kind, Wait: study.Spin}, "scheduling": {Kind: spec.Kind, Scheduling: study.FIFOScheduling},
		} {
			got := problems(w)
			switch {
			case !exchanges && !datagrams:
				must.True(t, strings.Contains(got, spec.Kind+" does not take "+key), "%s with %s: %s", spec.Kind, key, got)
			case exchanges:
				if want := "workloads[0]." + key + ": "; !strings.HasPrefix(got, want) || !strings.Contains(got, "has no schedule without transaction_rate; set it or remove "+key) {
					t.Errorf("%s with %s and no rate: %s", spec.Kind, key, got)
				}
				w.TransactionRate = 100
				fallthrough
			default:
				must.EqualFor(t, fmt.Sprintf("%s with %s", spec.Kind, key), "", problems(w))
			}
		}
	}
}
