package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis"
	"tare/internal/result"
	"tare/internal/study"
)

// What a link carries follows from the lab of each mode and from the packets of each
// bulk workload; of anything else nothing is known.
func TestLinks(t *testing.T) {
	s := study.Study{
		Lab:   study.Lab{MTU: 1500, Rate: 1e9},
		Modes: []study.Mode{{Mode: "host"}, {Mode: "host", ID: "jumbo", Lab: &study.Lab{MTU: 9000}}, {Mode: "broken"}},
		Workloads: []study.Workload{
			{Kind: "tcp_stream", WriteSize: 128 << 10, Direction: study.Both}, {Kind: "tcp_rr", RequestSize: 1},
			{Kind: "udp_stream", PayloadSize: 1400}, {Kind: "udp_stream", ID: "pieces", PayloadSize: 4000, Family: study.IPv6},
		},
	}
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "jumbo", Status: result.ModeMeasured}, {ID: "broken", Status: result.ModeFailed}}
	want := []analysis.Link{
		{Mode: "host", Workload: "tcp_stream", Rate: 1e9, Frame: 1514, Ways: 2},
		{Mode: "jumbo", Workload: "tcp_stream", Rate: 1e9, Frame: 9014, Ways: 2},
		{Mode: "host", Workload: "udp_stream", Rate: 1e9, Frame: 1442, Payload: 1400, Ways: 1},
		{Mode: "jumbo", Workload: "udp_stream", Rate: 1e9, Frame: 1442, Payload: 1400, Ways: 1},
		{Mode: "host", Workload: "pieces", Rate: 1e9, Frame: 4008 + 3*54, Payload: 4000, Ways: 1},
		{Mode: "jumbo", Workload: "pieces", Rate: 1e9, Frame: 4008 + 54, Payload: 4000, Ways: 1},
	}
	if diff := cmp.Diff(want, Links(s, modes)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	s.Lab.Rate = 0
	if links := Links(s, modes); len(links) != 0 {
		t.Errorf("links without a rate: %+v", links)
	}
}
