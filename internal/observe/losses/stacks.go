package losses

import (
	"maps"
	"math"
	"slices"

	"tare/internal/result"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// filters attributes what firewall rules and connection tracking dropped. If a rule rejects
// a packet of a sender in its own namespace, the sender gets an error and sends again.
func (b *attribution) filters() {
	for _, s := range b.in.Stacks {
		var denied uint64
		if s.Sockets != nil {
			denied = uint64(max(0, s.Sockets.Denied))
		}
		for _, name := range s.countersNamed("rule/", ".packets") {
			n := s.Deltas.Counters[name]
			told := min(n, denied)
			denied -= told
			b.attributePackets(result.PlaceNetfilter, s, name, n-told)
		}
		counter, n := s.conntrack()
		b.attributePackets(result.PlaceNetfilter, s, counter, n)
	}
}

// conntrack returns what connection tracking dropped: its table was full, or an entry could
// not be inserted, which kernels count as one, the other or both.
func (s Stack) conntrack() (counter string, n uint64) {
	drop, failed := s.delta("conntrack.drop"), s.delta("conntrack.insert_failed")
	if failed > drop {
		return "conntrack.insert_failed", failed
	}
	return "conntrack.drop", drop
}

// routing attributes what IP dropped by its own counters. OutDiscards is left to
// secondaryCounters, because it includes the drops of queueing disciplines.
func (b *attribution) routing() {
	for _, s := range b.in.Stacks {
		for _, name := range []string{
			"Ip.InHdrErrors", "Ip.InAddrErrors", "Ip.InDiscards", "Ip.InUnknownProtos", "IpExt.InNoRoutes", "IpExt.InTruncatedPkts",
			"Ip.OutNoRoutes", "Ip.FragFails", "TcpExt.IPReversePathFilter",
			"Ip6.InHdrErrors", "Ip6.InTooBigErrors", "Ip6.InNoRoutes", "Ip6.InAddrErrors", "Ip6.InUnknownProtos", "Ip6.InTruncatedPkts",
			"Ip6.InDiscards", "Ip6.OutNoRoutes", "Ip6.FragFails",
		} {
			b.attributePackets(result.PlaceRouting, s, name, s.delta(name))
		}
		// Failed reassembly is counted by datagram, but often much later.
		b.attributeRest(result.PlaceRouting, s, "Ip.ReasmFails", int64(s.delta("Ip.ReasmFails", "Ip6.ReasmFails")))
	}
}

// sockets attributes what UDP sockets dropped: those of the trial by their own counts, in
// datagrams, other sockets by /proc/net/udp. What the stack counts beyond both was at
// sockets that are closed by now.
func (b *attribution) sockets() {
	for _, s := range b.in.Stacks {
		memory, sum := s.delta("Udp.MemErrors", "Udp6.MemErrors"), s.delta("Udp.InCsumErrors", "Udp6.InCsumErrors")
		full, all := s.delta("Udp.RcvbufErrors", "Udp6.RcvbufErrors"), s.delta("Udp.InErrors", "Udp6.InErrors")
		var others uint64
		for _, name := range s.countersNamed("socket/", ".drops") {
			others += s.Deltas.Counters[name]
			b.attributeDatagrams(result.PlaceProxy, s, name, s.Deltas.Counters[name])
		}
		if s.Sockets == nil {
			// The drops of those sockets include checksum and memory errors.
			b.attributeDatagrams(result.PlaceProxy, s, "Udp.InErrors", subtractFloor(all, others))
			continue
		}
		unit := s.Sockets.datagramsPerPacket(s)
		datagrams := func(n uint64) int64 { return int64(math.Round(float64(n) * unit)) }
		if s.Sockets.Drops == nil {
			b.add(result.PlaceReceive, s.Name, "Udp.RcvbufErrors", datagrams(subtractFloor(full, others)))
			b.add(result.PlaceProtocol, s.Name, "Udp.MemErrors", datagrams(memory))
			b.add(result.PlaceProtocol, s.Name, "Udp.InCsumErrors", datagrams(sum))
		} else {
			drops := uint64(max(0, *s.Sockets.Drops))
			bad := min(sum, drops)
			short := min(memory, drops-bad)
			b.add(result.PlaceProtocol, s.Name, "Udp.InCsumErrors", datagrams(bad))
			b.add(result.PlaceProtocol, s.Name, "Udp.MemErrors", datagrams(short))
			b.add(result.PlaceReceive, s.Name, "SO_MEMINFO drops", datagrams(drops-bad-short))
			// Other sockets of this stack, such as a proxy's, which are closed by now.
			b.attributeRest(result.PlaceProxy, s, "Udp.RcvbufErrors", datagrams(subtractFloor(full, drops+others)))
		}
		b.add(result.PlaceReceiver, s.Name, "came after the end", s.Sockets.Unread)
	}
}

// datagramsPerPacket returns how many datagrams a packet at the sockets stands for: with receive offload
// the kernel counts merged packets.
func (e SocketTotals) datagramsPerPacket(s Stack) float64 {
	if !e.ReceivesSuper {
		return 1
	}
	in := s.delta("Udp.InDatagrams", "Udp6.InDatagrams")
	if in == 0 || uint64(max(0, e.Received)) <= in {
		return 1
	}
	return float64(e.Received) / float64(in)
}

// secondaryCounters attributes the remainder by counters that may repeat others or include
// other traffic.
func (b *attribution) secondaryCounters() {
	for _, book := range b.deferred {
		book()
	}
	for _, s := range b.in.Stacks {
		b.attributeRest(result.PlaceNetfilter, s, vanished, b.datagrams(s.uncounted()))
	}
	for _, s := range b.in.Stacks {
		if s.Sockets != nil && s.Sockets.Sent > 0 {
			b.attributeRest(result.PlaceSendBuffer, s, "Udp.SndbufErrors", b.datagrams(s.delta("Udp.SndbufErrors", "Udp6.SndbufErrors")))
			b.attributeRest(result.PlacePolicy, s, "Ip.OutDiscards", b.datagrams(s.delta("Ip.OutDiscards", "Ip6.OutDiscards")))
			continue
		}
		b.attributeRest(result.PlaceRouting, s, "Ip.OutDiscards", b.datagrams(s.delta("Ip.OutDiscards", "Ip6.OutDiscards")))
	}
	for _, d := range b.tunnels {
		b.attributeRest(result.PlaceDeviceTx, d.s, d.counter, b.datagrams(d.n))
	}
	for _, s := range b.in.Stacks {
		if s.Sockets == nil {
			continue
		}
		// The last message of udp_rr may find the port closed; that is no loss.
		b.attributeRest(result.PlaceProtocol, s, "Udp.NoPorts", b.datagrams(s.delta("Udp.NoPorts", "Udp6.NoPorts")))
	}
	for _, s := range b.in.Stacks {
		// Backlog drops that no device counted.
		b.attributeRest(result.PlaceBacklog, s, "softnet.dropped", b.datagrams(subtractFloor(s.delta("softnet.dropped"), b.backlog())))
	}
}

func (b *attribution) datagrams(packets uint64) int64 {
	return int64(math.Round(float64(packets) * b.factor))
}

// backlog returns what has been attributed to the backlog.
func (b *attribution) backlog() (packets uint64) {
	for _, p := range b.out.Places {
		if p.Place == result.PlaceBacklog {
			packets += uint64(float64(p.Count) / b.factor)
		}
	}
	return packets
}

// vanished is the counter of packets that entered IP and neither left it nor were counted there.
const vanished = "vanished within IP"

// uncounted returns how many packets entered IP, or were to be forwarded, and neither left
// it nor were counted on the way: a filter dropped them, by a chain's policy or a rule
// without a counter. Kernels count forwarded packets before or after their filters; those
// that count before also count what was sent (OutTransmits, Linux 6.7). Multicast packets that nobody on the host wants,
// such as those by which IPv6 looks for routers, are not counted when they are dropped, and no filter drops them.
func (s Stack) uncounted() uint64 {
	in := subtractFloor(s.delta("Ip.InReceives"), s.delta("Ip.InDelivers", "Ip.ForwDatagrams", "Ip.InHdrErrors", "Ip.InAddrErrors", "Ip.InDiscards",
		"Ip.InUnknownProtos", "IpExt.InNoRoutes", "IpExt.InTruncatedPkts", "TcpExt.IPReversePathFilter", "IpExt.InMcastPkts"))
	in += subtractFloor(s.delta("Ip6.InReceives"), s.delta("Ip6.InDelivers", "Ip6.OutForwDatagrams", "Ip6.InHdrErrors", "Ip6.InTooBigErrors", "Ip6.InNoRoutes",
		"Ip6.InAddrErrors", "Ip6.InUnknownProtos", "Ip6.InTruncatedPkts", "Ip6.InDiscards", "Ip6.InMcastPkts"))
	in = subtractFloor(in, subtractFloor(s.delta("Ip.ReasmReqds", "Ip6.ReasmReqds"), s.delta("Ip.ReasmOKs", "Ip6.ReasmOKs")))
	for _, ip := range [][4]string{{"Ip.ForwDatagrams", "Ip.OutRequests", "Ip.OutTransmits", "Ip.OutDiscards"}, {"Ip6.OutForwDatagrams", "Ip6.OutRequests", "Ip6.OutTransmits", "Ip6.OutDiscards"}} {
		if _, counts := s.Deltas.Counters[ip[2]]; counts && s.delta(ip[0]) > 0 {
			in += min(s.delta(ip[0]), subtractFloor(s.delta(ip[0], ip[1]), s.delta(ip[2], ip[3])))
		}
	}
	_, known := s.conntrack()
	for _, name := range s.countersNamed("rule/", ".packets") {
		known += s.Deltas.Counters[name]
	}
	return subtractFloor(in, known)
}
