package study

import (
	"testing"
	"time"

	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

func TestDifferences(t *testing.T) {
	base := func() Study {
		return Study{
			Name: "n", Profile: Quick, Seed: 1, Blocks: 4, Margin: 0.1, Lab: labDefaults(), Engine: "lab",
			Modes: []Mode{{Mode: "host"}, {Mode: "docker/driver:x", Options: map[string]string{"o": "1"}}, {Mode: "netns/bridge"}},
			Workloads: []Workload{{Kind: "tcp_stream", Streams: 1, Duration: quantity.Duration(time.Second)},
				{Kind: "udp_stream", Rate: quantity.Load(500e6)}},
		}
	}
	after := base()
	after.Name, after.Seed, after.Profile, after.Stop = "other", 2, Standard, &Stop{MinBlocks: 5, Width: 0.025, ExtraBlocks: 2}
	after.Tails = On
	after.Lab.MTU = 9000
	after.Modes[1].Options = map[string]string{"o": "2"}
	after.Modes[1].Title = "a title"
	after.Modes = after.Modes[:2]
	after.Claims = []Claim{{ID: "c", Claim: "decides no result", Needs: "x"}}
	after.Workloads[0].Duration = quantity.Duration(4 * time.Second)
	after.Workloads[1].Rate = quantity.Load(1e9)
	want := []Difference{
		{"study", "profile", "quick", "standard", false},
		{"study", "stop", "", "min_blocks: 5, width: 0.025, extra_blocks: 2", false},
		{"study", "tails", "", "on", false},
		{"lab", "mtu", "1500", "9000", true},
		{"workload tcp_stream", "duration", "1s", "4s", false},
		{"workload udp_stream", "rate", "500Mbit/s", "1Gbit/s", true},
		{"mode docker/driver:x", "options", "o: 1", "o: 2", true},
	}
	must.Equal(t, want, Differences(base(), after))
	must.EqualFor(t, "a study differs from itself", 0, len(Differences(base(), base())))
}
