package losses

import (
	"maps"
	"math"
	"slices"

	"tare/internal/result"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// filters books what firewall rules and connection tracking threw away. What a rule
// refuses to a sender of its own namespace is told to the sender, who sends it again.
func (b *attribution) filters() {
	for _, s := range b.in.Stacks {
		var denied uint64
		if s.Sockets != nil {
			denied = uint64(max(0, s.Sockets.Denied))
		}
		for _, name := range s.named("rule/", ".packets") {
			n := s.Deltas.Counters[name]
			told := min(n, denied)
			denied -= told
			b.attributePackets(result.PlaceNetfilter, s, name, n-told)
		}
		counter, n := s.conntrack()
		b.attributePackets(result.PlaceNetfilter, s, counter, n)
	}
}

// conntrack is what connection tracking dropped: its table was full, or the entry of a
// packet could not be inserted, which kernels count as one, the other or both.
func (s Stack) conntrack() (counter string, n uint64) {
	drop, failed := s.moved("conntrack.drop"), s.moved("conntrack.insert_failed")
	if failed > drop {
		return "conntrack.insert_failed", failed
	}
	return "conntrack.drop", drop
}

// routing books what IP threw away by its own counters. OutDiscards is left to the
// echoes: a queueing discipline's drops are among it.
func (b *attribution) routing() {
	for _, s := range b.in.Stacks {
		for _, name := range []string{
			"Ip.InHdrErrors", "Ip.InAddrErrors", "Ip.InDiscards", "Ip.InUnknownProtos", "IpExt.InNoRoutes", "IpExt.InTruncatedPkts",
			"Ip.OutNoRoutes", "Ip.FragFails", "TcpExt.IPReversePathFilter",
			"Ip6.InHdrErrors", "Ip6.InTooBigErrors", "Ip6.InNoRoutes", "Ip6.InAddrErrors", "Ip6.InUnknownProtos", "Ip6.InTruncatedPkts",
			"Ip6.InDiscards", "Ip6.OutNoRoutes", "Ip6.FragFails",
		} {
			b.attributePackets(result.PlaceRouting, s, name, s.moved(name))
		}
		// What could not be put together again is counted by datagram, but often long after.
		b.attributeRest(result.PlaceRouting, s, "Ip.ReasmFails", int64(s.moved("Ip.ReasmFails", "Ip6.ReasmFails")))
	}
}

// sockets books what died at UDP sockets: those of the trial by their own account, in
// datagrams, those of others by /proc/net/udp. What the stack counts beyond both was
// at sockets that are closed by now.
func (b *attribution) sockets() {
	for _, s := range b.in.Stacks {
		memory, sum := s.moved("Udp.MemErrors", "Udp6.MemErrors"), s.moved("Udp.InCsumErrors", "Udp6.InCsumErrors")
		full, all := s.moved("Udp.RcvbufErrors", "Udp6.RcvbufErrors"), s.moved("Udp.InErrors", "Udp6.InErrors")
		var others uint64
		for _, name := range s.named("socket/", ".drops") {
			others += s.Deltas.Counters[name]
			b.attributeDatagrams(result.PlaceProxy, s, name, s.Deltas.Counters[name])
		}
		if s.Sockets == nil {
			// Checksums and memory are among what those sockets dropped.
			b.attributeDatagrams(result.PlaceProxy, s, "Udp.InErrors", subtractFloor(all, others))
			continue
		}
		unit := s.Sockets.unit(s)
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
			// Others of this stack, such as a proxy, whose sockets are gone.
			b.attributeRest(result.PlaceProxy, s, "Udp.RcvbufErrors", datagrams(subtractFloor(full, drops+others)))
		}
		b.add(result.PlaceReceiver, s.Name, "came after the end", s.Sockets.Unread)
	}
}

// unit is how many datagrams a packet at the end's sockets stands for: with receive
// offload the kernel counts what it has put together.
func (e SocketTotals) unit(s Stack) float64 {
	if !e.ReceivesSuper {
		return 1
	}
	in := s.moved("Udp.InDatagrams", "Udp6.InDatagrams")
	if in == 0 || uint64(max(0, e.Received)) <= in {
		return 1
	}
	return float64(e.Received) / float64(in)
}

// secondaryCounters books what is left by counters that may tell what others have told already,
// or what was not of the trial.
func (b *attribution) secondaryCounters() {
	for _, book := range b.deferred {
		book()
	}
	for _, s := range b.in.Stacks {
		b.attributeRest(result.PlaceNetfilter, s, "vanished within IP", b.datagrams(s.vanished()))
	}
	for _, s := range b.in.Stacks {
		if s.Sockets != nil && s.Sockets.Sent > 0 {
			b.attributeRest(result.PlaceSendBuffer, s, "Udp.SndbufErrors", b.datagrams(s.moved("Udp.SndbufErrors", "Udp6.SndbufErrors")))
			b.attributeRest(result.PlacePolicy, s, "Ip.OutDiscards", b.datagrams(s.moved("Ip.OutDiscards", "Ip6.OutDiscards")))
			continue
		}
		b.attributeRest(result.PlaceRouting, s, "Ip.OutDiscards", b.datagrams(s.moved("Ip.OutDiscards", "Ip6.OutDiscards")))
	}
	for _, d := range b.tunnels {
		b.attributeRest(result.PlaceDeviceTx, d.s, d.counter, b.datagrams(d.n))
	}
	for _, s := range b.in.Stacks {
		if s.Sockets == nil {
			continue
		}
		// The last words of udp_rr may find the port closed, and are no loss.
		b.attributeRest(result.PlaceProtocol, s, "Udp.NoPorts", b.datagrams(s.moved("Udp.NoPorts", "Udp6.NoPorts")))
	}
	for _, s := range b.in.Stacks {
		// Of a backlog whose drops no device has noted.
		b.attributeRest(result.PlaceBacklog, s, "softnet.dropped", b.datagrams(subtractFloor(s.moved("softnet.dropped"), b.backlog())))
	}
}

func (b *attribution) datagrams(packets uint64) int64 {
	return int64(math.Round(float64(packets) * b.factor))
}

// backlog is what has been booked to it.
func (b *attribution) backlog() (packets uint64) {
	for _, p := range b.out.Places {
		if p.Place == result.PlaceBacklog {
			packets += uint64(float64(p.Count) / b.factor)
		}
	}
	return packets
}

// vanished is how many packets came into IP, or were to be forwarded, and neither left
// it nor were counted on the way: a filter has them, by a chain's policy or by a rule
// without a counter. Kernels count what is forwarded before its filters or behind them;
// those that do it before also count what was sent (OutTransmits, Linux 6.7).
func (s Stack) vanished() uint64 {
	in := subtractFloor(s.moved("Ip.InReceives"), s.moved("Ip.InDelivers", "Ip.ForwDatagrams", "Ip.InHdrErrors", "Ip.InAddrErrors", "Ip.InDiscards",
		"Ip.InUnknownProtos", "IpExt.InNoRoutes", "IpExt.InTruncatedPkts", "TcpExt.IPReversePathFilter"))
	in += subtractFloor(s.moved("Ip6.InReceives"), s.moved("Ip6.InDelivers", "Ip6.OutForwDatagrams", "Ip6.InHdrErrors", "Ip6.InTooBigErrors", "Ip6.InNoRoutes",
		"Ip6.InAddrErrors", "Ip6.InUnknownProtos", "Ip6.InTruncatedPkts", "Ip6.InDiscards"))
	in = subtractFloor(in, subtractFloor(s.moved("Ip.ReasmReqds", "Ip6.ReasmReqds"), s.moved("Ip.ReasmOKs", "Ip6.ReasmOKs")))
	for _, ip := range [][4]string{{"Ip.ForwDatagrams", "Ip.OutRequests", "Ip.OutTransmits", "Ip.OutDiscards"}, {"Ip6.OutForwDatagrams", "Ip6.OutRequests", "Ip6.OutTransmits", "Ip6.OutDiscards"}} {
		if _, counts := s.Deltas.Counters[ip[2]]; counts && s.moved(ip[0]) > 0 {
			in += min(s.moved(ip[0]), subtractFloor(s.moved(ip[0], ip[1]), s.moved(ip[2], ip[3])))
		}
	}
	_, known := s.conntrack()
	for _, name := range s.named("rule/", ".packets") {
		known += s.Deltas.Counters[name]
	}
	return subtractFloor(in, known)
}
