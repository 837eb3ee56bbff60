package losses

import (
	"slices"
	"strings"

	"tare/internal/result"
)

// qdiscs books what queueing disciplines dropped. A sender learns nothing of it, but
// its stack counts the same once more (Udp.SndbufErrors, Ip.OutDiscards).
func (b *attribution) qdiscs() {
	for _, s := range b.in.Stacks {
		for _, name := range s.named("qdisc/", ".drops") {
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

// queues books what was dropped on the way into a stack. Where a virtual device hands
// a packet to the backlog of a CPU that is full, one death moves three counters: sent
// and dropped at the sending device, received and dropped at the receiving one, and
// the CPU's own, which is of the whole machine. Where the sending device finds the
// other one's ring full, only its own moves; where a network card or a tunnel has no
// room, only that device's. So the backlog is what both the machine and a device saw.
func (b *attribution) queues() {
	var tx, rx, tunnels []drops
	for _, s := range b.in.Stacks {
		for _, name := range s.named("dev/", "_dropped") {
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
	// The same deaths, as the sending devices saw them; of those that no receiving
	// device has, there is no other witness.
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

// tunnel says whether a device sends by a table of remote ends. What it has none for
// it drops, and that is first of all what nobody asked for: neighbour discovery and
// multicast reports.
func (s Stack) tunnel(device string) bool {
	return slices.Contains([]string{"vxlan", "geneve", "gre", "gretap", "ip6gre", "ipip", "sit", "wireguard"}, s.Kinds[device])
}

// softnet is what the backlogs of the path's machines dropped, of anybody's. Where
// they cannot be read, the receiving devices are believed.
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

// toBacklog books n of what devices dropped to the backlog, and gives what is left of both.
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

// without takes n away.
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

// named lists the counters that moved and whose names begin and end so, in order.
func (s Stack) named(prefix, suffix string) (names []string) {
	for _, name := range sortedKeys(s.Deltas.Counters) {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) && s.Deltas.Counters[name] > 0 {
			names = append(names, name)
		}
	}
	return names
}
