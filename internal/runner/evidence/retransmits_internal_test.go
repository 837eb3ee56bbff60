package evidence

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/observe/netstack"
	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// A retransmission is attributed once, to the most certain cause, and the rest is not
// invented.
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
		must.EqualFor(t, what, c.want, retransmitCauses(c.moved))
		var sum int64
		for _, n := range retransmitCauses(c.moved) {
			sum += n
		}
		must.True(t, c.want == nil || sum == int64(c.moved["Tcp.RetransSegs"]), "%s: %d are attributed", what, sum)
	}
}

// Only exchanges over TCP that lost packets have a note, with the place.
func TestNoteLost(t *testing.T) {
	moved := func(sent, again, inVain uint64) netstack.Deltas {
		return netstack.Deltas{Counters: map[string]uint64{"Tcp.OutSegs": sent, "Tcp.RetransSegs": again, "TcpExt.TCPDSACKRecv": inVain}}
	}
	drops := netstack.Deltas{Counters: map[string]uint64{"rule/ip fld f 2.packets": 26}}
	for name, c := range map[string]struct {
		kind   string
		client netstack.Deltas
		shared bool
		want   string
		load   string
	}{
		"loss":                 {"tcp_rr", moved(474, 26, 0), false, "5.2 % of the packets were lost and sent again: 26 of 500 packets dropped on b by rule 2 of ip fld f", ""},
		"connections":          {"tcp_crr", moved(474, 26, 0), false, "5.2 % of the packets were lost and sent again: 26 of 500 packets dropped on b by rule 2 of ip fld f", ""},
		"bulk transfer":        {"tcp_stream", moved(474, 26, 0), false, "", ""},
		"datagrams":            {"udp_rr", moved(474, 26, 0), false, "", ""},
		"late, and not lost":   {"tcp_rr", moved(474, 26, 22), false, "", ""},
		"few":                  {"tcp_rr", moved(20, 4, 0), false, "", ""},
		"a small share":        {"tcp_rr", moved(100_000, 26, 0), false, "", ""},
		"those of others, too": {"tcp_rr", moved(474, 26, 0), true, "", ""},
		"those of a load":      {"tcp_rr", moved(474, 26, 0), false, "", study.TCPLoad},
	} {
		path := &driver.Path{Pairs: []driver.Pair{{Client: driver.Endpoint{Stack: "a"}, Server: driver.Endpoint{Stack: "c"}}}}
		trial := trialOf(Config{}, mode{path: path}, plan.Trial{Workload: study.Workload{Kind: c.kind, WithLoad: c.load}})
		trial.stacks = []stackReading{{place: driver.NetworkStack{Name: "a", Shared: c.shared}, moved: c.client}, {place: driver.NetworkStack{Name: "b"}, moved: drops}}
		trial.NoteLost()
		said := ""
		for _, n := range trial.Record.Notes {
			said += n.Text
		}
		must.EqualFor(t, name, c.want, said)
	}
}
