package runner

import (
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// Answers that the one server of several clients did not send make the path void. What it received of other clients does not count against one.
func TestOneServer(t *testing.T) {
	path := &driver.Path{Mode: "netns/bridge", Pairs: []driver.Pair{{Server: driver.Endpoint{Name: "b/server"}}, {}}}
	answers := func(n int64) traffic.Report {
		return traffic.Report{Messages: n, End: result.End{Sent: 1000 * n, Received: 1000 * n}}
	}
	tr := &trialRun{Trial: plan.Trial{Workload: study.Workload{Kind: "tcp_rr", FanIn: 2}}, tested: &modeUnderTest{path: path},
		pairs: []*pair{{client: answers(10), server: answers(25)}, {client: answers(15)}}}
	must.Do(t, tr.proof(driver.Counters{}, driver.CarriedFanIn(tr.clients(), tr.pairs[0].server)))
	must.True(t, tr.shown.Holds, "%+v", tr.shown)

	tr.pairs[0].server = answers(24)
	must.Fail(t, tr.proof(driver.Counters{}, driver.CarriedFanIn(tr.clients(), tr.pairs[0].server)),
		"the 2 clients received 25 answers, and the server b/server sent 24: another server answered the rest")
	must.True(t, !tr.shown.Holds, "%+v", tr.shown)

	one := tr.pairs[1].client
	must.Do(t, checkClient(traffic.Params{}, nil, time.Second, one, answers(24)))
	must.Fail(t, checkClient(traffic.Params{}, nil, time.Second, one, answers(14)), "impossible values: 14000 bytes sent and 15000 received by the client")
	must.Fail(t, checkClient(traffic.Params{}, map[string]float64{"rtt_p50": 0}, time.Second, one, answers(24)), "rtt_p50 is 0")
}
