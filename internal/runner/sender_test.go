package runner

import (
	"context"
	"testing"

	"tare/internal/driver"
	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// between is a path between two ends.
func between() *driver.Path {
	return &driver.Path{Pairs: []driver.Pair{{Client: driver.Endpoint{Stack: "a/client"}, Server: driver.Endpoint{Stack: "b/server"}}}}
}

// toolTrial is a trial in which a tool says to have sent and received so much, while its
// kernel sent so many segments.
func toolTrial(t *testing.T, asked study.Evidence, name string, says int64, counters map[string]uint64, shared bool) *trialRun {
	t.Helper()
	run := &traffic.ToolRun{Name: name}
	path := between()
	tr := &trialRun{tested: &modeUnderTest{path: path}, pairs: []*pair{{
		client: traffic.Report{End: result.End{Sent: says}, Tool: run, Connections: 1, TCP: traffic.TCP{Wire: 104e6, Segments: 2000}}, server: traffic.Report{End: result.End{Received: says}, Tool: run, Connections: 1}}}}
	tr.Workload = study.Workload{Kind: "tcp_stream"}
	tr.client, tr.server = tr.pairs[0].client, tr.pairs[0].server
	for _, at := range []string{"a/client", "b/server"} {
		read := 0
		path.Stacks = append(path.Stacks, driver.NetworkStack{Name: at, Shared: shared, Read: func(context.Context) (netstack.Reading, error) {
			r := netstack.Reading{Counters: map[string]uint64{}}
			for name, n := range counters {
				r.Counters[name] = 1000 + uint64(read)*n
			}
			read++
			return r, nil
		}})
	}
	o := evidence.New(evidence.Config{Asked: asked})
	t.Cleanup(func() { must.Do(t, o.Close()) })
	observed(o, tr)
	tr.observed.ReadStacksBefore(t.Context())
	tr.observed.ReadStacksAfter(t.Context())
	return tr
}

// A tool that counts too little is found out by the devices, as one that counts too
// much is: 100 MB went over the path.
func TestToolsThatCountWrongly(t *testing.T) {
	const carried, segments = 100_000_000, 2000
	counters := map[string]uint64{"Tcp.OutSegs": segments, "Tcp.RetransSegs": 3, "Udp.InDatagrams": 7}
	rules := []driver.Rule{{Counter: "a/eth0.tx_bytes", Expect: driver.Forward}}
	for name, c := range map[string]struct {
		trial *trialRun
		want  string
	}{
		"right":                        {toolTrial(t, study.Evidence{}, "iperf3", carried, counters, false), ""},
		"a little less":                {toolTrial(t, study.Evidence{}, "iperf3", 0.99*carried, counters, false), ""},
		"half":                         {toolTrial(t, study.Evidence{}, "iperf3", carried/2, counters, false), "counter a/eth0.tx_bytes moved by 100120000, but the traffic must have moved it by 50000000 to 51"},
		"more":                         {toolTrial(t, study.Evidence{}, "iperf2", 1.01*carried, counters, false), "must have moved it by 101000000 to 1036"},
		"half, and no kernel tells":    {toolTrial(t, study.Evidence{}, "iperf3", carried/2, nil, false), ""},
		"half, and others have part":   {toolTrial(t, study.Evidence{}, "iperf3", carried/2, counters, true), ""},
		"half, over times of its own":  {toolTrial(t, study.Evidence{}, "ntttcp", carried/2, counters, false), ""},
		"more, and no kernel tells it": {toolTrial(t, study.Evidence{}, "iperf3", 1.01*carried, nil, false), "must have moved it by 101000000 to 1043"},
	} {
		p := c.trial.pairs[0]
		held := c.trial.carriedWithRetransmits(0, driver.CarriedBy(p.client, p.server))
		checkError(t, name, driver.Verify(rules, driver.Counters{"a/eth0.tx_bytes": 5}, driver.Counters{"a/eth0.tx_bytes": 5 + carried + 60*segments}, []driver.Carried{held}), c.want)
	}
}

// Why a sender sent again is known of its own kernel alone, of a tool's, too; and
// nothing is recorded where the study wants no counters.
func TestSendersOfATrial(t *testing.T) {
	counters := map[string]uint64{"Tcp.RetransSegs": 3, "TcpExt.TCPFastRetrans": 2, "TcpExt.TCPTimeouts": 1}
	want := []result.TCPLimits{{Sender: "client", Retransmits: map[string]int64{"fast": 2, "timeout": 1}}}
	for name, c := range map[string]struct {
		counters        map[string]uint64
		shared, without bool
		want            []result.TCPLimits
	}{
		"known":            {counters, false, false, want},
		"none":             {map[string]uint64{"Tcp.RetransSegs": 0}, false, false, []result.TCPLimits{{Sender: "client", Retransmits: map[string]int64{}}}},
		"not read":         {nil, false, false, nil},
		"others' too":      {counters, true, false, nil},
		"without counters": {counters, false, true, nil},
	} {
		var asked study.Evidence
		if c.without {
			asked.Counters = study.Off
		}
		tr := toolTrial(t, asked, "iperf3", 1, c.counters, c.shared)
		tr.senders()
		must.EqualFor(t, name, c.want, tr.out.Limits)
	}
}
