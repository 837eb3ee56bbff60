package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/result"
	"tare/internal/traffic"
)

// What was sent again is booked once, to the cause that is surest, and the rest is
// not made up.
func TestRetransmitCauses(t *testing.T) {
	for what, c := range map[string]struct {
		moved map[string]uint64
		want  map[string]int64
	}{
		"not counted": {map[string]uint64{"TcpExt.TCPFastRetrans": 3}, nil},
		"none":        {map[string]uint64{"Tcp.RetransSegs": 0, "TcpExt.TCPTimeouts": 2, "TcpExt.TCPLossProbes": 1}, map[string]int64{}},
		"fast":        {map[string]uint64{"Tcp.RetransSegs": 10, "TcpExt.TCPFastRetrans": 10}, map[string]int64{"fast": 10}},
		"a lost handshake is no timeout of the transfer": {map[string]uint64{"Tcp.RetransSegs": 2, "TcpExt.TCPSynRetrans": 2, "TcpExt.TCPTimeouts": 2}, map[string]int64{"syn": 2}},
		"of each": {map[string]uint64{"Tcp.RetransSegs": 30, "TcpExt.TCPFastRetrans": 10, "TcpExt.TCPSlowStartRetrans": 5, "TcpExt.TCPSynRetrans": 1,
			"TcpExt.TCPTimeouts": 4, "TcpExt.TCPLossProbes": 6}, map[string]int64{"fast": 10, "timeout": 8, "syn": 1, "tail_loss_probe": 6, "other": 5}},
		"probes that sent something new": {map[string]uint64{"Tcp.RetransSegs": 12, "TcpExt.TCPFastRetrans": 10, "TcpExt.TCPLossProbes": 6}, map[string]int64{"fast": 10, "tail_loss_probe": 2}},
		"an older kernel":                {map[string]uint64{"Tcp.RetransSegs": 12}, map[string]int64{"other": 12}},
	} {
		if d := cmp.Diff(c.want, retransmitCauses(c.moved)); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
		var sum int64
		for _, n := range retransmitCauses(c.moved) {
			sum += n
		}
		if c.want != nil && sum != int64(c.moved["Tcp.RetransSegs"]) {
			t.Errorf("%s: %d are booked", what, sum)
		}
	}
}

func TestLimitsOf(t *testing.T) {
	sender := traffic.Report{Window: traffic.Window{Limits: &traffic.Limits{Seconds: 10, Application: 1, ReceiveWindow: 2, SendBuffer: 3, Network: 4}}}
	blind := traffic.Report{}
	n := func(v float64) *float64 { return &v }
	of := func(end string) result.TCPLimits {
		return result.TCPLimits{Sender: end, Application: n(0.1), ReceiveWindow: n(0.2), SendBuffer: n(0.3), Network: n(0.4)}
	}
	for what, c := range map[string]struct {
		p              traffic.Params
		client, server traffic.Report
		want           []result.TCPLimits
	}{
		"forward":             {traffic.Params{}, sender, blind, []result.TCPLimits{of("client")}},
		"reverse":             {traffic.Params{Reverse: true}, blind, sender, []result.TCPLimits{of("server")}},
		"both":                {traffic.Params{Both: true}, sender, sender, []result.TCPLimits{of("client"), of("server")}},
		"both, one end blind": {traffic.Params{Both: true}, blind, sender, []result.TCPLimits{of("server")}},
		"blind":               {traffic.Params{}, blind, blind, nil},
	} {
		if d := cmp.Diff(c.want, limitsOf(c.p, c.client, c.server)); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
}
