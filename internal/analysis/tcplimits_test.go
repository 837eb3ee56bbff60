package analysis

import (
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// Trials that count are summed up by mode, workload and sender; what is not known is
// said once each, and not 0.
func TestLimitTCP(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	in := Evidence{Study: study.Study{Workloads: []study.Workload{{ID: "up", Kind: "tcp_stream"}, {ID: "rr", Kind: "tcp_rr"}}}}
	var run result.Run
	for _, id := range []string{"host", "bridge", "tool", "nothing"} {
		run.Modes = append(run.Modes, result.Mode{ID: id})
	}
	trial := func(mode string, block int, status result.TrialStatus, application float64) result.Trial {
		return result.Trial{Mode: mode, Workload: "up", Block: block, Status: status, Limits: []result.TCPLimits{{
			Sender: "client", Application: n(application), ReceiveWindow: n(0), SendBuffer: n(0), Network: n(1 - application), Retransmits: map[string]int64{"fast": 2}}}}
	}
	aside := func(t result.Trial) result.Trial { t.Pilot = true; return t }
	blind := result.Trial{Mode: "bridge", Workload: "up", Block: 1, Status: result.TrialOK}
	tool := blind
	tool.Mode, tool.Tool = "tool", &result.Tool{Name: "iperf3"}
	in.Trials = []result.Trial{
		aside(trial("host", 0, result.TrialOK, 1)), trial("host", 1, result.TrialOK, 0.25), trial("host", 2, result.TrialOK, 0.75), trial("host", 3, result.TrialFailed, 1),
		trial("host", 4, result.TrialInvalid, 1), blind, tool,
	}
	want := []result.TCPLimits{
		{Mode: "host", Workload: "up", Sender: "client", Trials: 2, Application: n(0.5), ReceiveWindow: n(0), SendBuffer: n(0), Network: n(0.5), Retransmits: map[string]int64{"fast": 4}},
		{Mode: "bridge", Workload: "up", Sender: "client", Missing: []string{"what limited TCP is unknown: the kernel of the client does not report it (Linux 4.10 and later do, in TCP_INFO)"}},
		{Mode: "tool", Workload: "up", Sender: "client", Missing: []string{"what limited TCP is unknown: iperf3 does not report it"}},
	}
	must.Equal(t, want, Evaluate(run, in).TCPLimits)
	in.Study.Evidence.Counters = study.Off
	must.EqualFor(t, "without counters", []result.TCPLimits(nil), Evaluate(run, in).TCPLimits)
}
