package plan

import (
	"slices"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

func TestProfiles(t *testing.T) {
	s := study.Study{
		Blocks: 3, Modes: study.ModesOf("host", "netns/vxlan"), Evidence: study.Evidence{Stacks: study.On}, CostPass: study.CostPass{Rate: quantity.NoPass},
		Workloads: []study.Workload{
			{ID: "t", Kind: "tcp_stream", Slice: quantity.Duration(time.Millisecond), Duration: quantity.Duration(time.Second)},
			{ID: "sweep", Kind: "udp_stream", Rates: quantity.Rates{1e6, 2e6}, Duration: quantity.Duration(time.Second)},
			{ID: "search", Kind: "udp_search"},
		},
	}
	got := Profiles(s)
	var names []string
	for _, p := range got {
		names = append(names, p.Mode+" "+p.Workload.ID)
		must.True(t, p.Profiled && !p.Sliced() && p.Block == 3 && !p.Pilot(), "%+v", p)
	}
	// A search has no window to sample; of a sweep one rate is enough.
	want := []string{"host t", "netns/vxlan t", "host sweep@1Mbit/s", "netns/vxlan sweep@1Mbit/s"}
	must.True(t, slices.Equal(names, want), "%q, want %q", names, want)
	for _, word := range []string{study.Off, study.AutoWord, ""} {
		if s.Evidence.Stacks = word; len(Profiles(s)) != 0 {
			t.Errorf("stacks %q: trials of their own", word)
		}
	}
	s.Evidence.Stacks, s.CostPass = study.On, study.CostPass{Rate: 1e9, FromBlock: 2, Every: 1}
	must.EqualFor(t, "trials of their own beside a cost pass, in which stacks are sampled", 0, len(Profiles(s)))
}
