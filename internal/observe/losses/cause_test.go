package losses_test

import (
	"testing"

	"tare/internal/observe/losses"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// ends are the stacks of a path over host b: those of the endpoints, and that between them.
func ends(client, middle, server counters) []losses.Stack {
	return []losses.Stack{stack("a/client", client, &losses.SocketTotals{}), stack("b", middle, nil), stack("b/server", server, &losses.SocketTotals{})}
}

// in returns the stacks with a state of the one between the endpoints.
func in(s losses.State, all []losses.Stack) []losses.Stack {
	all[1].State = s
	return all
}

// tcp are the counters of a client that sent n segments and sent lost ones again.
func tcp(n, lost uint64) counters { return counters{"Tcp.OutSegs": n, "Tcp.RetransSegs": lost} }

// udp are the counters of an endpoint that sent and received datagrams.
func udp(sent, received uint64) counters {
	return counters{"Udp.OutDatagrams": sent, "Udp.InDatagrams": received}
}

// A failed trial names where its packets were dropped and by what; it says nothing where nothing was
// lost. Each case is a kind of failure, with the counters that Linux 6.18 moved for it in a lab, that of
// the full table in a guest.
func TestCause(t *testing.T) {
	full := losses.State{Tracked: 1024, Limit: 1024}
	for _, c := range []struct {
		name string
		f    losses.Failure
		want string
	}{
		{"nothing lost", losses.Failure{Stacks: ends(tcp(5000, 0), counters{"Ip.ForwDatagrams": 5000}, nil)}, ""},
		{"one retransmission in 5,000 is none", losses.Failure{Stacks: ends(tcp(5000, 1), nil, nil)}, ""},
		{"nothing was read", losses.Failure{}, ""},
		{"size, by a rule", losses.Failure{Stacks: ends(nil, counters{"rule/ip filter FORWARD 2.packets": 4227}, nil), Size: 1428,
			Counted: &result.Losses{Sent: 4227, Lost: 4227, Places: []result.LossPlace{{Place: result.PlaceNetfilter, Where: "b", Counter: "rule/ip filter FORWARD 2.packets", Count: 4227}}}},
			"4,227 of 4,227 datagrams of 1,428 bytes dropped on b by rule 2 of ip filter FORWARD"},
		{"filter", losses.Failure{Stacks: ends(tcp(1350, 27), counters{"rule/inet fld f 2.packets": 27}, nil)}, "27 of 1,377 packets dropped on b by rule 2 of inet fld f"},
		{"filter that counts a super-packet once", losses.Failure{Stacks: ends(tcp(1350, 200), counters{"rule/inet fld f 2.packets": 27}, nil)},
			"27 of 1,550 packets dropped on b by rule 2 of inet fld f; 173 of 1,550 more were lost: there too if those were super-packets, of which each counts as one, or where no counter is"},
		{"more than super-packets explain", losses.Failure{Stacks: ends(tcp(1350, 200), counters{"rule/inet fld f 2.packets": 4}, nil)},
			"4 of 1,550 packets dropped on b by rule 2 of inet fld f; 196 of 1,550 (12.6 %) lost where none of the counters of a/client, b, b/server shows it: on the link, or by a filter or bridge without a counter"},
		{"forwarding is off", losses.Failure{Stacks: in(losses.State{NoForwarding: true}, ends(tcp(1, 5), counters{"Ip.InReceives": 6, "Ip.InAddrErrors": 6}, nil))},
			"6 of 6 packets dropped on b by IP, which does not forward (Ip.InAddrErrors): turn on forwarding (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding)"},
		{"policy of FORWARD", losses.Failure{Stacks: in(losses.State{Policies: []string{"ip filter FORWARD"}}, ends(tcp(1, 5), counters{"Ip.InReceives": 6}, nil))},
			"5 of 6 packets dropped on b by the policy of the chain ip filter FORWARD"},
		{"a packet at the edge of IP's counters is no cause", losses.Failure{Stacks: ends(udp(1175, 0), counters{"Ip.InReceives": 1}, udp(0, 0))},
			"1,175 of 1,175 packets (100 %) lost where none of the counters of a/client, b, b/server shows it: on the link, or by a filter or bridge without a counter"},
		{"almost all", losses.Failure{Stacks: ends(udp(1000, 3), nil, udp(0, 0))},
			"997 of 1,000 packets (99.7 %) lost where none of the counters of a/client, b, b/server shows it: on the link, or by a filter or bridge without a counter"},
		{"multicast that nobody wants is no loss", losses.Failure{Stacks: ends(tcp(1, 5), counters{"Ip6.InReceives": 8, "Ip6.InMcastPkts": 8}, nil)},
			"5 of 6 packets (83.3 %) lost where none of the counters of a/client, b, b/server shows it: on the link, or by a filter or bridge without a counter"},
		{"policy of FORWARD on a bridge, where IP counts nothing", losses.Failure{Stacks: in(losses.State{Policies: []string{"ip filter FORWARD"}}, ends(tcp(1, 5), nil, nil))},
			"5 of 6 packets (83.3 %) lost where none of the counters of a/client, b, b/server shows it: on the link, or by a filter or bridge without a counter; packets are dropped by the policy of ip filter FORWARD of b"},
		{"ports of address translation", losses.Failure{Stacks: ends(udp(900, 400), counters{"conntrack.insert_failed": 500}, udp(0, 0))},
			"500 of 900 packets dropped on b by connection tracking, which could not insert their entry (conntrack.insert_failed): no port was left for address translation, or two packets of one flow came at once"},
		{"connection tracking is full", losses.Failure{Stacks: in(full, ends(udp(3900, 0), counters{"conntrack.drop": 2999}, udp(0, 901)))},
			"2,999 of 3,900 packets dropped on b by connection tracking, whose table is full (1,024 of 1,024 entries; raise net.netfilter.nf_conntrack_max)"},
		{"neighbour", losses.Failure{Stacks: in(losses.State{Unresolved: []string{"198.18.0.2 on eth0"}}, ends(counters{"Tcp.OutSegs": 1, "Tcp.RetransSegs": 3, "Icmp.InDestUnreachs": 4}, nil, nil))},
			"no neighbour answers for 198.18.0.2 on eth0 of b; a/client received 4 ICMP errors (destination unreachable, or packet too big)"},
		{"MTU", losses.Failure{Stacks: ends(tcp(20, 9), counters{"Ip.FragFails": 9}, nil)},
			"9 of 29 packets dropped on b by IP, because they exceed the MTU of the next link and must not be fragmented (Ip.FragFails)"},
		{"no route", losses.Failure{Stacks: ends(tcp(1, 5), counters{"Ip.OutNoRoutes": 6}, nil)}, "6 of 6 packets dropped on b by IP, because there is no route (Ip.OutNoRoutes)"},
		{"reverse path", losses.Failure{Stacks: ends(tcp(1, 5), counters{"TcpExt.IPReversePathFilter": 6}, nil)}, "6 of 6 packets dropped on b by the reverse path filter (net.ipv4.conf.*.rp_filter)"},
		{"queue", losses.Failure{Stacks: ends(tcp(990, 10), counters{"qdisc/eth0 tbf.drops": 10}, nil)}, "10 of 1,000 packets dropped on b by the queueing discipline tbf of eth0"},
		{"a link to another machine", losses.Failure{Stacks: []losses.Stack{shared(stack("near", tcp(950, 50), &losses.SocketTotals{})), shared(stack("far", tcp(100, 2), &losses.SocketTotals{}))}},
			"52 of 1,102 packets of all programs (4.7 %) lost where none of the counters of near, far shows it: on the link, or by a filter or bridge without a counter"},
	} {
		must.EqualFor(t, c.name, c.want, c.f.Cause())
	}
}

// A failure without a loss says what its ends sent: nothing, if their programs were somewhere else.
func TestCarried(t *testing.T) {
	f := losses.Failure{Stacks: ends(udp(0, 0), nil, tcp(1200, 0))}
	must.EqualFor(t, "a lab", "no counter shows a lost packet: a/client sent 0, b/server sent 1,200", f.Carried())
	f.Stacks = []losses.Stack{shared(stack("near", tcp(950, 0), &losses.SocketTotals{}))}
	must.EqualFor(t, "stacks of other programs, too", "", f.Carried())
}
