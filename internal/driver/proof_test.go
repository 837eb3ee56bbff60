package driver

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// bulk is one second of a stream: 100 MB forward, acknowledgements back.
func bulk() Carried {
	return Carried{
		Forward: Flow{Payload: 100 << 20, Wire: 100<<20 + 50<<10, Segments: 75_000, Connections: 1},
		Reverse: Flow{Segments: 30_000, Connections: 1},
	}
}

// chatter is 50 000 exchanges of one byte.
func chatter() Carried {
	f := Flow{Payload: 50_000, Messages: 50_000, Wire: 50_000, Segments: 50_003, Connections: 1}
	return Carried{Forward: f, Reverse: f}
}

// shower is 50 000 datagrams of 1400 bytes, of which the receiver or the path dropped a
// tenth.
func shower() Carried {
	return CarriedBy(
		traffic.Report{End: result.End{Sent: 50_000 * 1400}, Connections: 3, Messages: 50_000, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Sent: 20_000}, {Sent: 30_000}}}},
		traffic.Report{End: result.End{Received: 45_000 * 1400}, Connections: 3, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Received: 18_000}, {Received: 27_000}}}},
	)
}

// bundles is the same in super-packets, whose number is unknown.
func bundles() Carried {
	return CarriedBy(
		traffic.Report{End: result.End{Sent: 50_000 * 1400}, Connections: 1, Datagrams: &traffic.Datagrams{Datagrams: result.Datagrams{Offload: true}, Flows: []traffic.FlowCount{{Sent: 50_000}}}},
		traffic.Report{End: result.End{Received: 50_000 * 1400}, Connections: 1, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Received: 50_000}}}},
	)
}

// cut is 10 000 datagrams of 8000 bytes, fragmented by IP.
func cut() Carried {
	return CarriedBy(
		traffic.Report{End: result.End{Sent: 10_000 * 8000}, Connections: 1, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Sent: 10_000}}}},
		traffic.Report{End: result.End{Received: 10_000 * 8000}, Connections: 1, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Received: 10_000}}}},
	)
}

// external is what an external tool reports for 100 MB.
func external() Carried {
	return CarriedBy(
		traffic.Report{End: result.End{Sent: 100 << 20}, Connections: 2, Tool: &traffic.ToolRun{Name: "iperf3"}},
		traffic.Report{End: result.End{Received: 100 << 20}, Connections: 2, Tool: &traffic.ToolRun{Name: "iperf3"}},
	)
}

// counted is the same where the namespaces' kernel counted what was sent.
func counted() Carried {
	return CarriedBy(
		traffic.Report{End: result.End{Sent: 100 << 20}, Connections: 2, TCP: traffic.TCP{Wire: 104 << 20, Segments: 75_000}, Tool: &traffic.ToolRun{Name: "iperf3"}},
		traffic.Report{End: result.End{Received: 100 << 20}, Connections: 2, TCP: traffic.TCP{Wire: 4 << 20}, Tool: &traffic.ToolRun{Name: "iperf3"}},
	)
}

// proves checks for an error with some words, or for none.
func proves(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// few is 50 exchanges of one byte each way: few came back, because most packets were lost.
func few() Carried {
	f := Flow{Payload: 50, Messages: 50, Wire: 70, Segments: 90, Connections: 1}
	return Carried{Forward: f, Reverse: f}
}

func TestVerify(t *testing.T) {
	rules := []Rule{{Counter: "out", Expect: Forward}, {Counter: "back", Expect: Reverse}, {Counter: "nat", Expect: Connections}, {Counter: "aside", Expect: NoTraffic}}
	tests := []struct {
		name    string
		carried Carried
		moved   Counters
		want    string // in the error; none when empty
	}{
		{"all on the path", bulk(), Counters{"out": 101 << 20, "back": 2 << 20, "nat": 1, "aside": 500}, ""},
		{"no headers counted", bulk(), Counters{"out": 100 << 20, "back": 30_000 * 52, "nat": 1, "aside": 0}, ""},
		{"nothing on the path", bulk(), Counters{"out": 900, "back": 900, "nat": 1, "aside": 0}, "counter out moved by 900"},
		{"one percent went elsewhere", bulk(), Counters{"out": 99 << 20, "back": 2 << 20, "nat": 1, "aside": 0}, "counter out"},
		{"crossed twice", bulk(), Counters{"out": 202 << 20, "back": 2 << 20, "nat": 1, "aside": 0}, "counter out"},
		{"rule not met", bulk(), Counters{"out": 101 << 20, "back": 2 << 20, "nat": 0, "aside": 0}, "that rule must have matched 1 connection"},
		{"a way round", bulk(), Counters{"out": 101 << 20, "back": 2 << 20, "nat": 1, "aside": 1 << 20}, "it is not on the path"},
		{"counter not read", bulk(), Counters{"out": 101 << 20, "back": 2 << 20, "nat": 1}, "aside was not read"},
		{"acknowledgements went elsewhere", bulk(), Counters{"out": 101 << 20, "back": 5_000, "nat": 1, "aside": 0}, "counter back"},
		{"exchanges", chatter(), Counters{"out": 50_000 * 67, "back": 50_000 * 67, "nat": 1, "aside": 0}, ""},
		{"only payload of exchanges", chatter(), Counters{"out": 50_000, "back": 50_000 * 67, "nat": 1, "aside": 0}, "counter out"},
		{"datagrams", shower(), Counters{"out": 50_000 * 1442, "back": 300, "nat": 3, "aside": 0}, ""},
		{"datagrams, dropped on the way", shower(), Counters{"out": 45_000 * 1428, "back": 0, "nat": 3, "aside": 0}, ""},
		{"fewer datagrams than arrived", shower(), Counters{"out": 44_900 * 1428, "back": 0, "nat": 3, "aside": 0}, "counter out"},
		{"datagrams crossed twice", shower(), Counters{"out": 100_000 * 1442, "back": 0, "nat": 3, "aside": 0}, "counter out"},
		{"datagrams acknowledged", shower(), Counters{"out": 50_000 * 1442, "back": 50_000 * 28, "nat": 3, "aside": 0}, "no traffic is expected there"},
		{"a flow past the rule", shower(), Counters{"out": 50_000 * 1442, "back": 0, "nat": 2, "aside": 0}, "3 connections"},
		{"super-packets", bundles(), Counters{"out": 50_000*1400 + 1200*42, "back": 0, "nat": 1, "aside": 0}, ""},
		{"fragments", cut(), Counters{"out": 10_000 * (8000 + 6*34 + 8), "back": 0, "nat": 1, "aside": 0}, ""},
		{"fragments twice", cut(), Counters{"out": 20_000 * (8000 + 6*34 + 8), "back": 0, "nat": 1, "aside": 0}, "counter out"},
		{"an external tool", external(), Counters{"out": 108 << 20, "back": 2 << 20, "nat": 2, "aside": 0}, ""},
		{"an external tool elsewhere", external(), Counters{"out": 1 << 20, "back": 2 << 20, "nat": 2, "aside": 0}, "or more"},
		{"an external tool, a way round", external(), Counters{"out": 108 << 20, "back": 2 << 20, "nat": 2, "aside": 1 << 20}, "it is not on the path"},
		{"a counted tool", counted(), Counters{"out": 105 << 20, "back": 2 << 20, "nat": 2, "aside": 0}, ""},
		{"a counted tool twice", counted(), Counters{"out": 210 << 20, "back": 2 << 20, "nat": 2, "aside": 0}, "counter out"},
		{"a counted tool's answers twice", counted(), Counters{"out": 105 << 20, "back": 5 << 20, "nat": 2, "aside": 0}, "counter back"},
		{"too little to tell", Carried{Forward: Flow{Payload: 1000}}, Counters{"out": 1000, "back": 0, "nat": 1, "aside": 0}, "only 1000 bytes were carried: too little to tell the path from background packets (at least 1024 are required); use longer"},
		{"few exchanges, of many that were lost", few(), Counters{"out": 3500, "back": 3000, "nat": 1, "aside": 90}, ""},
		{"few exchanges, elsewhere", few(), Counters{"out": 1200, "back": 3000, "nat": 1, "aside": 90}, "counter out moved by 1200"},
		{"few exchanges, and as much beside them", few(), Counters{"out": 3500, "back": 3000, "nat": 1, "aside": 2500}, "too little to tell the path from background packets (counter aside moved by 2500)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := Counters{}, Counters{}
			for name, n := range tt.moved {
				before[name], after[name] = 1000, 1000+n
			}
			proves(t, Verify(rules, before, after, []Carried{tt.carried}), tt.want)
		})
	}
}

// With several pairs, shared devices carry the sum, each pair's own devices its share, and
// those of an idle pair nothing.
func TestVerifyPairs(t *testing.T) {
	rules := []Rule{{Counter: "shared", Expect: Forward}, {Counter: "nat", Expect: Connections}, {Counter: "first", Expect: Forward, Pair: 1}, {Counter: "second", Expect: Forward, Pair: 2}, {Counter: "third", Expect: Forward, Pair: 3}}
	twice := []Carried{bulk(), bulk()}
	for _, tt := range []struct {
		name    string
		carried []Carried
		moved   Counters
		want    string
	}{
		{"both carried", twice, Counters{"shared": 202 << 20, "nat": 2, "first": 101 << 20, "second": 101 << 20, "third": 90}, ""},
		{"one alone", twice[:1], Counters{"shared": 101 << 20, "nat": 1, "first": 101 << 20, "second": 90, "third": 90}, ""},
		{"one carried for both", twice, Counters{"shared": 202 << 20, "nat": 2, "first": 202 << 20, "second": 0, "third": 0}, "counter first moved"},
		{"the second went elsewhere", twice, Counters{"shared": 202 << 20, "nat": 2, "first": 101 << 20, "second": 50 << 20, "third": 0}, "counter second moved"},
		{"half of the sum", twice, Counters{"shared": 101 << 20, "nat": 2, "first": 101 << 20, "second": 101 << 20, "third": 0}, "counter shared moved"},
		{"the rule met once", twice, Counters{"shared": 202 << 20, "nat": 1, "first": 101 << 20, "second": 101 << 20, "third": 0}, "2 connections"},
		{"an idle pair moved", twice, Counters{"shared": 202 << 20, "nat": 2, "first": 101 << 20, "second": 101 << 20, "third": 1 << 20}, "no traffic is expected there"},
		{"one carried next to nothing", []Carried{bulk(), {Forward: Flow{Payload: 100}}}, Counters{}, "by pair 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := Counters{}
			for name := range tt.moved {
				before[name] = 0
			}
			proves(t, Verify(rules, before, tt.moved, tt.carried), tt.want)
		})
	}
}

// Where one server takes the place of another, the devices of the first client carry what it exchanged with both, and those of the second
// server's own client nothing.
func TestVerifyInTurn(t *testing.T) {
	rules := []Rule{
		{Counter: "client", Expect: Forward, Pair: 1, OfClient: true}, {Counter: "idle", Expect: Forward, Pair: 2, OfClient: true}, {Counter: "idle too", Expect: Forward, Pair: 3, OfClient: true},
		{Counter: "first", Expect: Forward, Pair: 1}, {Counter: "second", Expect: Forward, Pair: 2}, {Counter: "shared", Expect: Forward},
	}
	second := bulk()
	second.InTurn = true
	good := func() Counters {
		return Counters{"client": 202 << 20, "idle": 90, "idle too": 90, "first": 101 << 20, "second": 101 << 20, "shared": 202 << 20}
	}
	for name, tt := range map[string]struct {
		wrong uint64
		want  string
	}{
		"":       {},
		"client": {101 << 20, "counter client moved"}, "idle": {101 << 20, "no traffic is expected there"}, "idle too": {1 << 20, "no traffic is expected there"},
		"first": {202 << 20, "counter first moved"}, "second": {0, "counter second moved"}, "shared": {101 << 20, "counter shared moved"},
	} {
		t.Run(name, func(t *testing.T) {
			moved, before := good(), Counters{}
			if name != "" {
				moved[name] = tt.wrong
			}
			for name := range moved {
				before[name] = 0
			}
			proves(t, Verify(rules, before, moved, []Carried{bulk(), second}), tt.want)
		})
	}
	// The devices of two clients that each have their server carry their own.
	proves(t, Verify(rules[:2], Counters{"client": 0, "idle": 0}, Counters{"client": 101 << 20, "idle": 101 << 20}, []Carried{bulk(), bulk()}), "")
	proves(t, Verify(rules[:1], Counters{"client": 0}, Counters{"client": 90}, nil), "")
}

// Where several clients have one server, that of the first pair, its devices carry what all exchanged, and those of the other servers nothing.
func TestVerifyFanIn(t *testing.T) {
	rules := []Rule{
		{Counter: "client", Expect: Forward, Pair: 1, OfClient: true}, {Counter: "other", Expect: Forward, Pair: 2, OfClient: true}, {Counter: "idle", Expect: Forward, Pair: 3, OfClient: true},
		{Counter: "server", Expect: Forward, Pair: 1}, {Counter: "idle server", Expect: Forward, Pair: 2}, {Counter: "no server", Expect: Forward, Pair: 3}, {Counter: "shared", Expect: Forward},
		{Counter: "process", Expect: ProcessBusy, Pair: 1}, {Counter: "idle process", Expect: ProcessBusy, Pair: 2}, {Counter: "nat", Expect: Connections, Pair: 1},
	}
	whole := bulk().Plus(bulk())
	one := bulk()
	one.FanIn = &whole
	good := func() Counters {
		return Counters{"client": 101 << 20, "other": 101 << 20, "idle": 90, "server": 202 << 20, "idle server": 90, "no server": 90, "shared": 202 << 20,
			"process": 40_000_000, "idle process": 90_000, "nat": 2}
	}
	for name, tt := range map[string]struct {
		wrong uint64
		want  string
	}{
		"":       {},
		"client": {0, "counter client moved"}, "other": {202 << 20, "counter other moved"}, "idle": {101 << 20, "no traffic is expected there"},
		"server": {101 << 20, "counter server moved"}, "idle server": {101 << 20, "no traffic is expected there"}, "no server": {1 << 20, "no traffic is expected there"},
		"shared": {101 << 20, "counter shared moved"}, "process": {20_000, "must have used"}, "idle process": {20_000_000, "that process is not on the path"}, "nat": {1, "2 connections"},
	} {
		t.Run(name, func(t *testing.T) {
			moved, before := good(), Counters{}
			if name != "" {
				moved[name] = tt.wrong
			}
			for name := range moved {
				before[name] = 0
			}
			proves(t, Verify(rules, before, moved, []Carried{one, one}), tt.want)
		})
	}
	// Datagrams that are merged, and heads that are rewritten, are expected of the whole, too.
	p := Path{MergesDatagrams: true, Rules: rules[3:4]}
	few := Carried{Forward: Flow{Payload: 1 << 20, Messages: 1 << 20, Wire: 1 << 20, Datagrams: true}}
	few.FanIn = &Carried{Forward: few.Forward}
	proves(t, p.Prove(Counters{"server": 0}, Counters{"server": 1 << 20}, []Carried{few}), "")
	p.MergesDatagrams = false
	proves(t, p.Prove(Counters{"server": 0}, Counters{"server": 1 << 20}, []Carried{few}), "counter server moved")
}

// If a process forwards the traffic, its packets are unknown.
func TestVerifyRelayed(t *testing.T) {
	rules := []Rule{{Counter: "far", Expect: ForwardAtLeast}, {Counter: "back", Expect: ReverseAtLeast}, {Counter: "lo", Expect: BothAtLeast}, {Counter: "nat", Expect: NoMatch},
		{Counter: "proxy", Expect: ProcessBusy, Pair: 1}, {Counter: "second proxy", Expect: ProcessBusy, Pair: 2}, {Counter: "other", Expect: ProcessIdle}}
	good := Counters{"far": 150 << 20, "back": 10, "lo": 101 << 20, "nat": 0, "proxy": 40_000_000, "second proxy": 90_000, "other": 300_000}
	for _, tt := range []struct {
		name, counter string
		to            uint64
		want          string
	}{
		{"as it should be", "nat", 0, ""},
		{"passed by elsewhere", "far", 90 << 20, "counter far moved"},
		{"not by loopback", "lo", 0, "counter lo moved"},
		{"address translation after all", "nat", 1, "that rule must not match any connection"},
		{"no process on the path", "proxy", 20_000, "must have used"},
		{"the process of an idle pair", "second proxy", 20_000_000, "that process is not on the path"},
		{"another process", "other", 20_000_000, "that process is not on the path"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, after := Counters{}, Counters{}
			for name, n := range good {
				before[name], after[name] = 0, n
			}
			after[tt.counter] = tt.to
			proves(t, Verify(rules, before, after, []Carried{bulk()}), tt.want)
		})
	}
}

// A process that sleeps wakes up now and then, and may do so the longer, the longer the trial is.
func TestVerifyIdleForLong(t *testing.T) {
	rules := []Rule{{Counter: "other", Expect: ProcessIdle}, {Counter: "second proxy", Expect: ProcessBusy, Pair: 2}}
	for _, c := range []struct {
		seconds       float64
		other, second uint64
		want          string
	}{
		{0, 15_000_000, 15_000_000, ""}, {0, 15_000_001, 0, "counter other moved by 15000001"}, {0, 0, 15_000_001, "counter second proxy moved by 15000001"},
		{100, 115_000_000, 115_000_000, ""}, {100, 115_000_001, 0, "may use at most 115000000 ns of CPU time"}, {100, 0, 115_000_001, "may use at most 115000000 ns of CPU time"},
	} {
		carried := bulk()
		carried.Seconds = c.seconds
		proves(t, Verify(rules, Counters{"other": 0, "second proxy": 0}, Counters{"other": c.other, "second proxy": c.second}, []Carried{carried}), c.want)
	}
	client, server := traffic.Report{Window: traffic.Window{Seconds: 2}}, traffic.Report{Window: traffic.Window{Seconds: 3}}
	must.Equal(t, 6.0, CarriedBy(client, server).Plus(CarriedBy(server, client)).Seconds)
}

// A process that forwards connections counts payload without headers.
func TestVerifyPayload(t *testing.T) {
	rules := []Rule{{Counter: "out", Expect: ForwardPayload}, {Counter: "back", Expect: ReversePayload}}
	both := chatter()
	both.Forward.Payload, both.Forward.Wire = 100<<20, 100<<20+50_000
	for _, tt := range []struct {
		name      string
		carried   Carried
		out, back uint64
		want      string
	}{
		{"all of it", both, 100 << 20, 50_000, ""},
		{"with what is resent", both, 100<<20 + 50_000, 50_000, ""},
		{"a byte elsewhere", both, 100<<20 - 1, 50_000, "counter out moved by 104857599, but the traffic must have moved it by 104857600 to"},
		{"twice", both, 200 << 20, 50_000, "counter out"},
		{"answers elsewhere", both, 100 << 20, 0, "counter back"},
		{"no answer", bulk(), 100 << 20, 0, ""},
		{"answers of others", bulk(), 100 << 20, Slack + 1, "counter back moved by 16385, but no traffic is expected there"},
		{"of a tool", external(), 1 << 40, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proves(t, Verify(rules, Counters{"out": 0, "back": 0}, Counters{"out": tt.out, "back": tt.back}, []Carried{tt.carried}), tt.want)
		})
	}
}

func TestCountersOfAReplacedDevice(t *testing.T) {
	for name, after := range map[string]Counters{"gone": {}, "backwards": {"x": 5}} {
		must.FailFor(t, name, must.Err((Counters{"x": 10}).Delta(after)), "replaced")
	}
}

// A counter that missed a tenth of the payload never passes, whatever the packet sizes.
func TestVerifyNeverPassesALeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.Uint64Range(minTraffic, 1<<40).Draw(t, "payload")
		c := Carried{Forward: Flow{Payload: payload, Wire: payload, Segments: payload / 1448, Connections: 1}}
		moved := rapid.Uint64Range(0, payload-payload/10).Draw(t, "moved")
		if err := Verify([]Rule{{Counter: "out", Expect: Forward}}, Counters{"out": 0}, Counters{"out": moved}, []Carried{c}); err == nil {
			t.Fatalf("%d of %d bytes passed as the whole", moved, payload)
		}
	})
}

// A setting that is in effect shows in packets: one for each message, and one for each part
// of the payload of at most a size. Streams are counted by size only, and datagrams by number.
func TestSettingRules(t *testing.T) {
	stream, requests := Flow{Payload: 1 << 20}, Flow{Payload: 100_000, Messages: 5000}
	datagrams := Flow{Payload: 1 << 20, Messages: 800, Datagrams: true}
	for _, tt := range []struct {
		rule Rule
		flow Flow
		want uint64
	}{
		{Rule{Expect: ForwardPackets, Size: 1000}, stream, 1048},
		{Rule{Expect: ForwardPackets, Size: 1000}, requests, 5000},
		{Rule{Expect: ForwardPackets, Size: 10}, requests, 10_000},
		{Rule{Expect: ForwardPackets, Size: 1000}, datagrams, 800},
		{Rule{Expect: ForwardStream, Size: 1000}, stream, 1048},
		{Rule{Expect: ForwardStream, Size: 1000}, requests, 100},
		{Rule{Expect: ForwardStream, Size: 1000}, datagrams, 0},
		{Rule{Expect: TCPAtLeast}, requests, minBytes(requests)},
		{Rule{Expect: TCPAtLeast}, datagrams, 0},
		{Rule{Expect: ReversePackets, Size: 1000}, stream, 0},
		{Rule{Expect: ReverseStream, Size: 1000}, stream, 0},
		{Rule{Expect: BothPackets, Size: 1000}, stream, 1048},
		{Rule{Expect: BothStream, Size: 1000}, stream, 1048},
	} {
		lo, hi := tt.rule.bounds([]Carried{{Forward: tt.flow}})
		must.True(t, lo == tt.want && hi == math.MaxUint64, "%s of %+v: %d to %d, want %d or more", tt.rule.Expect, tt.flow, lo, hi, tt.want)
		if lo, _ := tt.rule.bounds(nil); lo != 0 {
			t.Errorf("%s of an idle pair: %d", tt.rule.Expect, lo)
		}
	}
	carried := []Carried{{Forward: stream}}
	rules := []Rule{{Counter: "eth0.packets", Expect: ForwardStream, Size: 1000}, {Counter: "tso.changes", Expect: Unchanged}}
	before := Counters{"eth0.packets": 5, "tso.changes": 3}
	must.Do(t, Verify(rules, before, Counters{"eth0.packets": 5 + 1048, "tso.changes": 3}, carried))
	for _, after := range []Counters{{"eth0.packets": 5 + 1047, "tso.changes": 3}, {"eth0.packets": 5 + 1048, "tso.changes": 4}} {
		must.FailFor(t, after, Verify(rules, before, after, carried), "setting")
	}
}

// asked is 1000 requests of which the server answered so many, over 4 flows of a client with failures.
func asked(answered, failed uint64) Carried {
	return Carried{
		Forward: Flow{Payload: 2 << 20, Content: 1 << 20, Messages: 1000, Wire: 2 << 20, Segments: 2000, Connections: 4, Requests: 1000, Failed: failed, Flows: 4},
		Reverse: Flow{Payload: 2 << 20, Content: 1 << 20, Messages: 1000, Wire: 2 << 20, Segments: 2000, Connections: 4, Requests: answered},
	}
}

// A proxy that reads requests has handled each one that client and server know of, and no other; its connections
// show whether they are shared.
func TestVerifyRequests(t *testing.T) {
	rules := []Rule{{Counter: "requests", Expect: Requests}}
	own, shared := []Rule{{Counter: "opened", Expect: OwnConnections}}, []Rule{{Counter: "opened", Expect: SharedConnections}}
	for _, tt := range []struct {
		name    string
		rules   []Rule
		carried Carried
		moved   uint64
		want    string
	}{
		{"each", rules, asked(1000, 0), 1000, ""},
		{"one beside the proxy", rules, asked(1000, 0), 999, "client and server count 1000 requests"},
		{"one of another client", rules, asked(1000, 0), 1001, "client and server count 1000 requests"},
		{"one failed behind the proxy", rules, asked(1000, 1), 1001, ""},
		{"one failed before it", rules, asked(1000, 1), 1000, ""},
		{"answered, and the client did not wait", rules, asked(1001, 1), 1001, ""},
		{"two more than failed", rules, asked(1000, 1), 1002, "at most 1001 with those that failed"},
		{"from a cache", rules, asked(1, 0), 1000, "client and server do not agree: one of them counts 1000 requests, the other 1 with"},
		{"sent twice", rules, asked(1400, 0), 1000, "client and server do not agree: one of them counts 1400 requests, the other 1000 with"},
		{"a connection each", own, asked(1000, 0), 1000, ""},
		{"one was used twice", own, asked(1000, 0), 999, "each of the 1000 requests must have had a connection of its own"},
		{"none was opened", shared, asked(1000, 0), 0, ""},
		{"few", shared, asked(1000, 0), 568, ""},
		{"too many", shared, asked(1000, 0), 569, "requests share connections, of which there may be at most 568"},
	} {
		proves(t, Verify(tt.rules, Counters{tt.rules[0].Counter: 7}, Counters{tt.rules[0].Counter: 7 + tt.moved}, []Carried{tt.carried}), tt.want)
	}
}

// Where proxies rewrite heads, only what is left of the messages must have been on a device.
func TestRewrittenHeads(t *testing.T) {
	p := &Path{Mode: "m", RewritesHeads: true, Rules: []Rule{{Counter: "out", Expect: ForwardAtLeast}}}
	moved := func(n uint64) error {
		return p.Prove(Counters{"out": 0}, Counters{"out": n}, []Carried{asked(1000, 0)})
	}
	proves(t, moved(1<<20), "")
	proves(t, moved(1<<20-1), "counter out moved by 1048575")
	p.RewritesHeads = false
	proves(t, moved(1<<20), "counter out moved by 1048576")
}

// Requests that reach the server past the proxy, which says whose request it forwards, are found.
func TestForwardedRequests(t *testing.T) {
	p := &Path{Mode: "m", Forwarded: "forwarded", Rules: []Rule{{Counter: "forwarded", Expect: Requests}}}
	with := func(n uint64) Carried {
		c := asked(1000, 0)
		c.Reverse.Forwarded = n
		return c
	}
	for n, want := range map[uint64]string{1000: "", 999: "counter forwarded moved by 999, but client and server count 1000 requests", 0: "counter forwarded moved by 0"} {
		before, carried := Counters{"other": 3}, []Carried{with(n)}
		proves(t, p.Prove(before, Counters{"other": 3}, carried), want)
		must.Equal(t, Counters{"other": 3}, before)
		must.Equal(t, n, *p.Findings(before, Counters{"other": 3}, carried)[0].Moved)
	}
	proves(t, p.Prove(Counters{}, Counters{}, []Carried{with(1000), with(400)}), "counter forwarded moved by 1400")
}
