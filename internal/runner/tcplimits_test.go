package runner

import (
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

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
		"reverse":             {traffic.Params{Workload: study.Workload{Direction: study.Reverse}}, blind, sender, []result.TCPLimits{of("server")}},
		"both":                {traffic.Params{Workload: study.Workload{Direction: study.Both}}, sender, sender, []result.TCPLimits{of("client"), of("server")}},
		"both, one end blind": {traffic.Params{Workload: study.Workload{Direction: study.Both}}, blind, sender, []result.TCPLimits{of("server")}},
		"blind":               {traffic.Params{}, blind, blind, nil},
	} {
		must.EqualFor(t, what, c.want, tcpLimits(c.p, c.client, c.server))
	}
}
