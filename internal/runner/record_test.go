package runner

import (
	"errors"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// account is what client and server counted of one flow in a UDP trial.
func account(sent, counted, received, inTime, late int64) (client, server traffic.Report) {
	client = traffic.Report{End: result.End{Sent: sent * 100}, Datagrams: traffic.CountDatagrams([]traffic.FlowCount{{Sent: sent, SentCounted: counted}})}
	client.Window.Slots, client.Window.Missed = counted+10, 10
	*client.Datagrams.LargestBurst = 3
	server = traffic.Report{End: result.End{Received: received * 100}, Datagrams: traffic.CountDatagrams([]traffic.FlowCount{{Received: received, ReceivedCounted: inTime}})}
	d := server.Datagrams
	*d.Late, *d.Reordered, *d.ReorderExtent = late, 2, 5
	return client, server
}

func TestDatagramsOfARecord(t *testing.T) {
	client, server := account(1000, 900, 950, 860, 1)
	n := func(v int64) *int64 { return &v }
	want := &result.Datagrams{Sent: n(0), Received: n(950), Lost: n(39), Duplicates: n(0), Reordered: n(2), ReorderExtent: n(5), Late: n(1), Foreign: n(0), LargestBurst: n(0)}
	must.Equal(t, want, end(server, client).Datagrams)
	want = &result.Datagrams{Sent: n(1000), Received: n(0), Duplicates: n(0), Reordered: n(0), ReorderExtent: n(0), Late: n(0), Foreign: n(0), LargestBurst: n(3), Slots: n(910), MissedSlots: n(10)}
	must.Equal(t, want, end(client, server).Datagrams)
	// For a tool, 0 can mean unknown.
	client.Tool, server.Tool = &traffic.ToolRun{Name: "iperf3"}, &traffic.ToolRun{Name: "iperf3"}
	server.Datagrams.Duplicates, server.Datagrams.Foreign, server.Datagrams.LargestBurst = nil, nil, nil // which a tool does not report
	want = &result.Datagrams{Received: n(950), Lost: n(39), Reordered: n(2), ReorderExtent: n(5), Late: n(1)}
	must.EqualFor(t, "a tool's receiver", want, end(server, client).Datagrams)
	if share := limited(client, server); share == nil || *share != 10.0/910 {
		t.Errorf("limited: %v", share)
	}
	if share := limited(server, server); share != nil {
		t.Errorf("limited without a schedule: %g", *share)
	}
	must.EqualFor(t, "datagrams of TCP", (*result.Datagrams)(nil), end(traffic.Report{}, traffic.Report{}).Datagrams)
}

func TestImpossible(t *testing.T) {
	fineC, fineS := account(1000, 900, 950, 860, 1)
	tests := map[string]struct {
		metrics map[string]float64
		account [5]int64
		want    string
	}{
		"fine":                          {map[string]float64{"goodput": 5, "loss_ratio": 0.04}, [5]int64{1000, 900, 950, 860, 1}, ""},
		"a loss below 0":                {map[string]float64{"loss_ratio": -0.01}, [5]int64{1000, 900, 950, 860, 1}, "loss_ratio is -0.01"},
		"a loss above 1":                {map[string]float64{"loss_ratio": 1.5}, [5]int64{1000, 900, 950, 860, 1}, "loss_ratio is 1.5"},
		"more arrived than was sent":    {nil, [5]int64{1000, 900, 1001, 860, 1}, "1000 datagrams sent and 1001 received by the server"},
		"more in time than was counted": {nil, [5]int64{1000, 900, 950, 900, 1}, "900 and 900 with 1 late"},
	}
	for name, tt := range tests {
		a := tt.account
		client, server := account(a[0], a[1], a[2], a[3], a[4])
		checkError(t, name, checkMetrics(tt.metrics, client, server), tt.want)
	}
	checkError(t, "no number", checkMetrics(map[string]float64{"goodput": zero() / zero()}, fineC, fineS), "goodput is NaN")
	checkError(t, "bytes from nowhere", checkMetrics(nil, traffic.Report{End: result.End{Sent: 10}}, traffic.Report{End: result.End{Received: 11}}), "10 bytes sent and 11 received by the server")
	checkError(t, "backwards", checkMetrics(nil, traffic.Report{End: result.End{Received: 5}}, traffic.Report{End: result.End{Sent: 4}}), "received by the client")
	iperf := &traffic.ToolRun{Name: "iperf3"}
	checkError(t, "a tool's", checkMetrics(nil, traffic.Report{End: result.End{Sent: 10}, Tool: iperf}, traffic.Report{End: result.End{Received: 11}, Tool: iperf}), "")
}

func zero() float64 { return 0 }

func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: got %v, want %q", name, err, want)
	}
}

func TestFit(t *testing.T) {
	of := func(name, version string) traffic.Report {
		return traffic.Report{Tool: &traffic.ToolRun{ToolEnd: result.ToolEnd{Version: version}, Name: name}}
	}
	none := traffic.Report{}
	for name, tt := range map[string]struct {
		asked          string
		client, server traffic.Report
		want           string
	}{
		"tare":           {"", none, none, ""},
		"mixed versions": {"iperf3", of("iperf3", "3.12"), of("iperf3", "3.16"), "3.16"},
		"mixed tools":    {"iperf3", of("iperf3", "3.12"), of("iperf2", "2.1.8"), "iperf2"},
		"at one end":     {"iperf3", of("iperf3", "3.12"), none, "the other did not"},
		"not at all":     {"iperf3", none, none, "the study requests iperf3"},
	} {
		p := &pair{clientSide: traffic.Params{Workload: study.Workload{Tool: tt.asked}}, client: tt.client, server: tt.server}
		checkError(t, name, p.checkTool(), tt.want)
	}
}

// The generator of a trial has the keys of its workload: flows as streams, no rate for an unlimited one or one by
// packets, and no tool for the built-in one.
func TestParams(t *testing.T) {
	w := study.Workload{Kind: "udp_stream", Tool: "iperf3", Flows: 3, Rate: 8, Burst: 11, Warmup: quantity.WaitOf(14), Duration: 15}
	want := traffic.Params{Workload: w, Warmup: 14, Duration: 15}
	want.Streams = 3
	must.Equal(t, want, params(plan.Trial{Workload: w}))
	w.PacketRate, w.Streams, w.Tool = 9, 4, study.BuiltIn
	p := params(plan.Trial{Workload: w})
	must.EqualFor(t, p, []any{quantity.Load(0), 9, 4, ""}, []any{p.Rate, p.PacketRate, p.Streams, p.Tool})
	w.Rate, w.PacketRate = quantity.Unlimited, 0
	if p := params(plan.Trial{Workload: w}); p.Rate != 0 || p.PacketRate != 0 {
		t.Errorf("unlimited is %+v", p)
	}
}

// What others sent to the ports of a trial or of the checks of its path is a note of the trial.
func TestForeignTrafficIsNoted(t *testing.T) {
	client, server := account(1000, 900, 950, 860, 1)
	p := &pair{client: client, server: server}
	tr := trialRun{tested: &modeUnderTest{path: &driver.Path{}}, pairs: []*pair{p}}
	must.EqualFor(t, "without foreign traffic", []result.Note(nil), tr.foreignTraffic())
	told := int64(1000)
	tr.tested.path.Foreign = func() int64 { defer func() { told = 0 }(); return told }
	p.client.Refused, p.server.Refused, p.client.Datagrams.Foreign, p.server.Datagrams.Foreign = 1, 20, new(int64(300)), new(int64(4000))
	_ = tr.foreignTraffic() // that of the path is told once
	notes := tr.foreignTraffic()
	if len(notes) != 1 || notes[0].Code != string(warning.ForeignTraffic) || !strings.HasPrefix(notes[0].Text, "connections or datagrams of others arrived at the trial's ports: 5321. ") {
		t.Errorf("noted is %v, want 5321", notes)
	}
}

// A proof that fails beside foreign traffic fails the trial, and does not make the mode void: others
// could do that otherwise.
func TestForeignTrafficIsNotVoid(t *testing.T) {
	wrong := errors.New("counter x moved by 2")
	tr := trialRun{tested: &modeUnderTest{path: &driver.Path{}}, pairs: []*pair{{}}}
	var void *voidError
	if err := tr.proofError(wrong); !errors.As(err, &void) {
		t.Errorf("without foreign traffic: %v", err)
	}
	tr.pairs[0].server.Refused = 7
	err := tr.proofError(wrong)
	must.True(t, !errors.As(err, &void) && errors.Is(err, wrong) && strings.Contains(err.Error(), "others arrived at the trial's ports: 7"), "with foreign traffic: %v", err)
	must.EqualFor(t, "a path that is proven", nil, tr.proofError(nil))
}
