package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
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

// Trials that count are summed up by mode, workload and sender; what is not known is
// said once each, and not 0.
func TestLimitTCP(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	r := &run{plan: plan.Plan{Workloads: []study.Workload{{ID: "up", Kind: "tcp_stream"}, {ID: "rr", Kind: "tcp_rr"}}}}
	for _, id := range []string{"host", "bridge", "tool", "nothing"} {
		s := &stage{}
		s.mode.ID = id
		r.stages = append(r.stages, s)
	}
	trial := func(mode string, block int, status result.TrialStatus, application float64) result.Trial {
		return result.Trial{Mode: mode, Workload: "up", Block: block, Status: status, Limits: []result.TCPLimits{{
			Sender: "client", Application: n(application), ReceiveWindow: n(0), SendBuffer: n(0), Network: n(1 - application), Retransmits: map[string]int64{"fast": 2}}}}
	}
	aside := func(t result.Trial) result.Trial { t.Pilot = true; return t }
	blind := result.Trial{Mode: "bridge", Workload: "up", Block: 1, Status: result.TrialOK}
	tool := blind
	tool.Mode, tool.Tool = "tool", &result.Tool{Name: "iperf3"}
	r.trials = []result.Trial{
		aside(trial("host", 0, result.TrialOK, 1)), trial("host", 1, result.TrialOK, 0.25), trial("host", 2, result.TrialOK, 0.75), trial("host", 3, result.TrialFailed, 1),
		trial("host", 4, result.TrialInvalid, 1), blind, tool,
	}
	want := []result.TCPLimits{
		{Mode: "host", Workload: "up", Sender: "client", Trials: 2, Application: n(0.5), ReceiveWindow: n(0), SendBuffer: n(0), Network: n(0.5), Retransmits: map[string]int64{"fast": 4}},
		{Mode: "bridge", Workload: "up", Sender: "client", Missing: []string{"who limited TCP: the kernel of the client does not tell (TCP_INFO of Linux 4.10 and later does)"}},
		{Mode: "tool", Workload: "up", Sender: "client", Missing: []string{"who limited TCP: the connections are iperf3's own, which does not tell"}},
	}
	if d := cmp.Diff(want, r.limitTCP()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	r.cfg.Study.Evidence.Counters = study.Off
	if got := r.limitTCP(); got != nil {
		t.Errorf("without counters: %+v", got)
	}
}
