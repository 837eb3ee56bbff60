package losses

import (
	"slices"
	"strings"

	"tare/internal/result"
)

// qdiscs attributes what queueing disciplines dropped. The sender is not told, but its
// stack counts the same drop again (Udp.SndbufErrors, Ip.OutDiscards).
func (b *attribution) qdiscs() {
	for _, s := range b.in.Stacks {
		for _, name := range s.countersNamed("qdisc/", ".drops") {
			b.attributePackets(result.PlaceQdisc, s, name, s.Deltas.Counters[name])
		}
	}
}

// drops is what a device dropped.
type drops struct {
	s       Stack
	counter string
	n       uint64
}

// queues attributes what was dropped on the way into a stack. If a virtual device passes a
// packet to a CPU's full backlog, one drop increments three counters: tx_dropped of the
// sending device, rx_dropped of the receiving one, and the CPU's counter, which is for the
// whole machine. If the receiving device's ring is full, only the sending device's counter
// increments; if a network card or a tunnel has no space, only that device's counter does.
// So the backlog's drops are those that both the machine and a device counted.
func (b *attribution) queues() {
	var tx, rx, tunnels []drops
	for _, s := range b.in.Stacks {
		for _, name := range s.countersNamed("dev/", "_dropped") {
			device := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(name, ".tx_dropped"), ".rx_dropped"), "dev/")
			d := drops{s, name, s.Deltas.Counters[name]}
			switch {
			case s.Kinds[device] == "bridge":
				b.attributePackets(result.PlaceBridge, s, name, d.n)
			case strings.HasSuffix(name, ".tx_dropped") && s.tunnel(device):
				tunnels = append(tunnels, d)
			case strings.HasSuffix(name, ".tx_dropped"):
				tx = append(tx, d)
			default:
				rx = append(rx, d)
			}
		}
	}
	backlog := min(b.softnet(rx), max(total(tx), total(rx)))
	rx, left := b.toBacklog(rx, backlog)
	// The same drops, as counted by the sending devices; drops that no receiving device
	// counted appear only there.
	tx = without(tx, backlog-left)
	tx, _ = b.toBacklog(tx, left)
	for _, d := range tx {
		b.attributePackets(result.PlaceDeviceTx, d.s, d.counter, d.n)
	}
	for _, d := range rx {
		b.attributePackets(result.PlaceDeviceRx, d.s, d.counter, d.n)
	}
	b.tunnels = tunnels
}

// tunnel reports whether a device sends by a table of remote endpoints. It drops packets
// without an entry, mostly neighbour discovery and multicast reports.
func (s Stack) tunnel(device string) bool {
	return slices.Contains([]string{"vxlan", "geneve", "gre", "gretap", "ip6gre", "ipip", "sit", "wireguard"}, s.Kinds[device])
}

// softnet returns the drops of the backlogs of the path's machines, of any traffic. If they
// cannot be read, it returns those of the receiving devices.
func (b *attribution) softnet(rx []drops) (sum uint64) {
	seen := map[string]uint64{}
	for _, s := range b.in.Stacks {
		if n, known := s.Deltas.Counters["softnet.dropped"]; known {
			seen[s.Boot] = max(seen[s.Boot], n)
		}
	}
	if len(seen) == 0 {
		return total(rx)
	}
	for _, n := range seen {
		sum += n
	}
	return sum
}

// toBacklog attributes n of the devices' drops to the backlog, and returns what is left of
// both.
func (b *attribution) toBacklog(from []drops, n uint64) (rest []drops, left uint64) {
	for _, d := range from {
		part := min(d.n, n)
		b.attributePackets(result.PlaceBacklog, d.s, "softnet.dropped, "+d.counter, part)
		n -= part
		if d.n -= part; d.n > 0 {
			rest = append(rest, d)
		}
	}
	return rest, n
}

// without subtracts n.
func without(from []drops, n uint64) (rest []drops) {
	for _, d := range from {
		part := min(d.n, n)
		n -= part
		if d.n -= part; d.n > 0 {
			rest = append(rest, d)
		}
	}
	return rest
}

func total(all []drops) (sum uint64) {
	for _, d := range all {
		sum += d.n
	}
	return sum
}

// countersNamed lists the counters that changed and have this prefix and suffix, in order.
func (s Stack) countersNamed(prefix, suffix string) (names []string) {
	for _, name := range sortedKeys(s.Deltas.Counters) {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) && s.Deltas.Counters[name] > 0 {
			names = append(names, name)
		}
	}
	return names
}
