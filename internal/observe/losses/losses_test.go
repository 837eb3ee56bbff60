package losses_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/observe/losses"
	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// counters are the counter changes of a stack.
type counters map[string]uint64

// stack is a stack of the path.
func stack(name string, c counters, end *losses.SocketTotals) losses.Stack {
	return losses.Stack{Name: name, Boot: "1", Deltas: netstack.Deltas{Counters: c}, Kinds: map[string]string{"eth0": "veth", "br0": "bridge", "vxlan0": "vxlan"}, Sockets: end}
}

func sender(n int64) *losses.SocketTotals { return &losses.SocketTotals{Sent: n} }

// receiver got n datagrams, and its sockets dropped d.
func receiver(n, d int64) *losses.SocketTotals { return &losses.SocketTotals{Received: n, Drops: &d} }

func count(n int64) *int64 { return &n }

// shared marks a stack as shared.
func shared(s losses.Stack) losses.Stack {
	s.Shared = true
	return s
}

// Each case is one of the pitfalls in README.md, or a single place.
func TestAttribute(t *testing.T) {
	for name, c := range map[string]struct {
		sent, received int64
		stacks         []losses.Stack
		want           map[string]int64 // by place
		unexplained    int64
		missing        string
	}{
		"nothing lost, whatever moved": {100, 100, []losses.Stack{stack("a", counters{"Udp.NoPorts": 2, "dev/eth0.rx_dropped": 3}, sender(100)), stack("b", nil, receiver(100, 0))},
			nil, 0, ""},
		"receive buffer: the socket's own word, and the stack's is the same": {100, 60, []losses.Stack{stack("a", nil, sender(100)),
			stack("b", counters{"Udp.RcvbufErrors": 40, "Udp.InErrors": 40}, receiver(60, 40))}, map[string]int64{result.PlaceReceive: 40}, 0, ""},
		"InErrors includes RcvbufErrors, checksums and memory, and so do a socket's drops": {100, 50, []losses.Stack{stack("a", nil, sender(100)),
			stack("b", counters{"Udp.RcvbufErrors": 38, "Udp.InCsumErrors": 7, "Udp.MemErrors": 5, "Udp.InErrors": 50}, receiver(50, 50))},
			map[string]int64{result.PlaceReceive: 38, result.PlaceProtocol: 12}, 0, ""},
		"a tool's socket: its stack stands in": {100, 60, []losses.Stack{stack("a", nil, sender(100)),
			stack("b", counters{"Udp6.RcvbufErrors": 40, "Udp6.InErrors": 40}, &losses.SocketTotals{Received: 60})}, map[string]int64{result.PlaceReceive: 40}, 0, ""},
		"a queue's drop counts three times at the sender": {100, 70, []losses.Stack{
			stack("a", counters{"qdisc/eth0 tbf.drops": 30, "Udp.SndbufErrors": 30, "Ip.OutDiscards": 30}, sender(100)), stack("b", nil, receiver(70, 0))},
			map[string]int64{result.PlaceQdisc: 30}, 0, ""},
		"no queue saw it: the echo is all there is": {100, 70, []losses.Stack{
			stack("a", counters{"Udp.SndbufErrors": 25, "Ip.OutDiscards": 30}, sender(100)), stack("b", nil, receiver(70, 0))},
			map[string]int64{result.PlaceSendBuffer: 25, result.PlacePolicy: 5}, 0, ""},
		"a full backlog moves three counters, and the machine's is in every stack": {100, 80, []losses.Stack{
			stack("a", counters{"dev/eth0.tx_dropped": 20, "softnet.dropped": 20, "Udp.SndbufErrors": 20}, sender(100)),
			stack("b", counters{"dev/eth0.rx_dropped": 20, "softnet.dropped": 20}, receiver(80, 0))}, map[string]int64{result.PlaceBacklog: 20}, 0, ""},
		"others fill the machine's backlogs, and nothing of ours is missing there": {100, 60, []losses.Stack{
			stack("a", counters{"softnet.dropped": 5000}, sender(100)), stack("b", counters{"softnet.dropped": 5000, "Udp.RcvbufErrors": 40}, receiver(60, 40))},
			map[string]int64{result.PlaceReceive: 40}, 0, ""},
		"only the machine saw it: as much as is missing": {100, 60, []losses.Stack{
			stack("a", counters{"softnet.dropped": 5000}, sender(100)), stack("b", counters{"softnet.dropped": 5000, "Udp.RcvbufErrors": 30}, receiver(60, 30))},
			map[string]int64{result.PlaceReceive: 30, result.PlaceBacklog: 10}, 0, ""},
		"a card's own count, which its device does not have": {100, 80, []losses.Stack{stack("a", nil, sender(100)),
			shared(stack("b", counters{"nic/eth0.no_buffer.rx_out_of_buffer": 15, "nic/eth0.no_buffer.rx_discards_phy": 20, "dev/eth0.rx_dropped": 0, "softnet.dropped": 0}, receiver(80, 0)))},
			map[string]int64{result.PlaceDeviceRx: 20}, 0, ""},
		"a card's own count, part of which its device has": {100, 70, []losses.Stack{stack("a", nil, sender(100)),
			shared(stack("b", counters{"nic/eth0.no_buffer.rx_missed_errors": 25, "dev/eth0.rx_dropped": 20, "softnet.dropped": 0}, receiver(70, 0)))},
			map[string]int64{result.PlaceDeviceRx: 25}, 5, ""},
		"a card counts what others lost, too": {100, 95, []losses.Stack{shared(stack("a", counters{"nic/eth0.unsent.tx_discards": 900, "nic/eth0.throttled.pps_allowance_exceeded": 3}, sender(100))),
			shared(stack("b", counters{"nic/eth0.damaged.rx_crc_errors": 700}, receiver(95, 0)))}, map[string]int64{result.PlaceDeviceTx: 5}, 0, ""},
		"damaged packets, by the device's own count": {100, 96, []losses.Stack{stack("a", nil, sender(100)),
			shared(stack("b", counters{"nic/eth0.damaged.rx_crc_errors": 0, "dev/eth0.rx_frame": 4}, receiver(96, 0)))}, map[string]int64{result.PlaceDeviceRx: 4}, 0, ""},
		"pause frames are no loss": {100, 96, []losses.Stack{stack("a", counters{"nic/eth0.paused_rx.rx_pause": 4}, sender(100)), stack("b", nil, receiver(96, 0))}, nil, 4, ""},
		"a full ring: the backlogs did not move": {100, 80, []losses.Stack{
			stack("a", counters{"dev/eth0.tx_dropped": 20, "softnet.dropped": 0}, sender(100)), stack("b", counters{"softnet.dropped": 0}, receiver(80, 0))},
			map[string]int64{result.PlaceDeviceTx: 20}, 0, ""},
		"a tunnel's or a card's queue: the backlogs did not move": {100, 80, []losses.Stack{
			stack("a", counters{"softnet.dropped": 0}, sender(100)), stack("b", counters{"dev/vxlan0.rx_dropped": 20, "softnet.dropped": 0}, receiver(80, 0))},
			map[string]int64{result.PlaceDeviceRx: 20}, 0, ""},
		"backlogs that cannot be read: the receiving device is believed": {100, 80, []losses.Stack{
			stack("a", counters{"dev/eth0.tx_dropped": 20}, sender(100)), stack("b", counters{"dev/eth0.rx_dropped": 20}, receiver(80, 0))},
			map[string]int64{result.PlaceBacklog: 20}, 0, ""},
		"background that a tunnel had no way for": {100, 90, []losses.Stack{stack("a", counters{"dev/vxlan0.tx_dropped": 7}, sender(100)), stack("b", nil, receiver(90, 10))},
			map[string]int64{result.PlaceReceive: 10}, 0, ""},
		"a bridge": {100, 90, []losses.Stack{stack("a", counters{"dev/br0.tx_dropped": 10}, sender(100)), stack("b", nil, receiver(90, 0))},
			map[string]int64{result.PlaceBridge: 10}, 0, ""},
		"connection tracking counts an insertion that failed twice or once": {100, 80, []losses.Stack{stack("a", nil, sender(100)),
			stack("b", counters{"conntrack.drop": 12, "conntrack.insert_failed": 20}, nil), stack("b/server", nil, receiver(80, 0))},
			map[string]int64{result.PlaceNetfilter: 20}, 0, ""},
		"a rule that counts, and its packets vanish within IP as well": {100, 80, []losses.Stack{stack("a", nil, sender(100)),
			stack("b", counters{"rule/inet t c 1.packets": 20, "Ip.InReceives": 100, "Ip.InDelivers": 0, "Ip.ForwDatagrams": 80}, nil), stack("b/server", nil, receiver(80, 0))},
			map[string]int64{result.PlaceNetfilter: 20}, 0, ""},
		"a rule without a counter, before what is forwarded is counted": {100, 80, []losses.Stack{stack("a", nil, sender(100)),
			stack("b", counters{"Ip.InReceives": 100, "Ip.ForwDatagrams": 80}, nil), stack("b/server", nil, receiver(80, 0))}, map[string]int64{result.PlaceNetfilter: 20}, 0, ""},
		"a rule without a counter, behind it": {100, 80, []losses.Stack{stack("a", nil, sender(100)),
			stack("b", counters{"Ip.InReceives": 100, "Ip.ForwDatagrams": 100, "Ip.OutRequests": 0, "Ip.OutTransmits": 80, "Ip.OutDiscards": 0}, nil), stack("b/server", nil, receiver(80, 0))},
			map[string]int64{result.PlaceNetfilter: 20}, 0, ""},
		"a rule of the sender's own told the sender, who sent again": {100, 95, []losses.Stack{
			stack("a", counters{"rule/inet t c 1.packets": 3}, &losses.SocketTotals{Sent: 100, Denied: 3}), stack("b", nil, receiver(95, 5))}, map[string]int64{result.PlaceReceive: 5}, 0, ""},
		"no route": {100, 80, []losses.Stack{stack("a", nil, sender(100)), stack("b", counters{"IpExt.InNoRoutes": 20, "Ip.InReceives": 100, "Ip.InDelivers": 80}, receiver(80, 0))},
			map[string]int64{result.PlaceRouting: 20}, 0, ""},
		"docker-proxy: its socket on the host, the container's counters clean": {100, 70, []losses.Stack{
			stack("b", counters{"socket/udp:5201#7.drops": 30, "Udp.RcvbufErrors": 30, "Udp.InErrors": 30}, sender(100)), stack("b/server", nil, receiver(70, 0))},
			map[string]int64{result.PlaceProxy: 30}, 0, ""},
		"a proxy in a stack without an end, whose socket has gone": {100, 70, []losses.Stack{stack("a", nil, sender(100)),
			stack("b", counters{"Udp.RcvbufErrors": 30, "Udp.InErrors": 30}, nil), stack("b/server", nil, receiver(70, 0))}, map[string]int64{result.PlaceProxy: 30}, 0, ""},
		"the last words of udp_rr find no port, and are no loss": {100, 99, []losses.Stack{stack("a", nil, sender(100)), stack("b", counters{"Udp.NoPorts": 2}, receiver(99, 1))},
			map[string]int64{result.PlaceReceive: 1}, 0, ""},
		"no port": {100, 60, []losses.Stack{stack("a", nil, sender(100)), stack("b", counters{"Udp.NoPorts": 42}, receiver(60, 0))},
			map[string]int64{result.PlaceProtocol: 40}, 0, ""},
		"super-packets: a device counts one for twenty": {2000, 1000, []losses.Stack{
			stack("a", counters{"dev/eth0.tx_dropped": 50, "softnet.dropped": 0, "Udp.OutDatagrams": 100}, &losses.SocketTotals{Sent: 2000, SendsSuper: true}),
			stack("b", nil, receiver(1000, 0))}, map[string]int64{result.PlaceDeviceTx: 1000}, 0, "each packet carried 20 datagrams"},
		"super-packets: so does a socket with receive offload": {2000, 1000, []losses.Stack{
			stack("a", counters{"Udp.OutDatagrams": 100}, &losses.SocketTotals{Sent: 2000, SendsSuper: true}),
			stack("b", counters{"Udp.InDatagrams": 50, "Udp.RcvbufErrors": 50}, &losses.SocketTotals{Received: 1000, Drops: count(50), ReceivesSuper: true})},
			map[string]int64{result.PlaceReceive: 1000}, 0, "each packet carried 20 datagrams"},
		"nor a proxy's socket, which takes them one by one": {2000, 1300, []losses.Stack{
			stack("a", counters{"Udp.OutDatagrams": 100, "socket/udp:5201#7.drops": 700, "Udp.RcvbufErrors": 700}, &losses.SocketTotals{Sent: 2000, SendsSuper: true}),
			stack("a/server", nil, receiver(1300, 0))}, map[string]int64{result.PlaceProxy: 700}, 0, "each packet carried 20 datagrams"},
		"but not without: there the kernel cuts them first": {2000, 1264, []losses.Stack{
			stack("a", counters{"Udp.OutDatagrams": 100}, &losses.SocketTotals{Sent: 2000, SendsSuper: true}),
			stack("b", counters{"Udp.InDatagrams": 1264, "Udp.RcvbufErrors": 736}, receiver(1264, 736))}, map[string]int64{result.PlaceReceive: 736}, 0, "each packet carried 20 datagrams"},
		"fragments: a device's count is only a bound": {100, 90, []losses.Stack{
			stack("a", counters{"Ip.FragCreates": 300, "qdisc/eth0 tbf.drops": 25}, sender(100)), stack("b", nil, receiver(90, 0))},
			map[string]int64{result.PlaceQdisc: 10}, 0, "in fragments"},
		"more than was lost is not hidden": {100, 90, []losses.Stack{stack("a", counters{"qdisc/eth0 tbf.drops": 25}, sender(100)), stack("b", nil, receiver(90, 0))},
			map[string]int64{result.PlaceQdisc: 25}, -15, "more datagrams were attributed than lost"},
		"a host that others use: as much as is missing": {100, 90, []losses.Stack{shared(stack("a", counters{"qdisc/eth0 fq.drops": 2500}, sender(100))), stack("b", nil, receiver(90, 4))},
			map[string]int64{result.PlaceQdisc: 6, result.PlaceReceive: 4}, 0, ""},
		"what stopped too early": {100, 90, []losses.Stack{stack("a", nil, sender(100)), stack("b", nil, &losses.SocketTotals{Received: 90, Drops: count(0), Unread: 10})},
			map[string]int64{result.PlaceReceiver: 10}, 0, ""},
		"no counter saw it": {100, 90, []losses.Stack{stack("a", nil, sender(100)), stack("b", nil, receiver(90, 0))}, nil, 10, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := losses.Attribute(losses.Input{Sent: c.sent, Received: c.received, Stacks: c.stacks})
			places := map[string]int64{}
			for _, p := range got.Places {
				places[p.Place] += p.Count
				must.True(t, p.Counter != "" && p.Where != "" && p.Count > 0, "a place without its name, counter or count: %+v", p)
			}
			if c.want == nil {
				c.want = map[string]int64{}
			}
			diff := cmp.Diff(c.want, places)
			must.True(t, diff == "", "places (-want +got):\n%s%+v", diff, got)
			must.Equal(t, []int64{c.unexplained, c.sent - c.received}, []int64{got.Unexplained, got.Lost})
			text := strings.Join(got.Missing, "\n")
			must.True(t, (c.missing != "" || text == "") && strings.Contains(text, c.missing), "missing %q, want %q", text, c.missing)
		})
	}
}

// Missing information is reported once for each stack, and places are in path order.
func TestAttributeGapsAndOrder(t *testing.T) {
	gap := netstack.Gap{Source: "/proc/net/softnet_stat", Reason: "permission denied"}
	a, b := stack("a", counters{"qdisc/eth0 tbf.drops": 1}, sender(10)), stack("b", counters{"conntrack.drop": 1}, receiver(7, 1))
	a.Deltas.Gaps, b.Deltas.Gaps = []netstack.Gap{gap, gap}, []netstack.Gap{gap}
	got := losses.Attribute(losses.Input{Sent: 10, Received: 7, Stacks: []losses.Stack{b, a}})
	want := []string{"b: " + gap.String(), "a: " + gap.String()}
	must.True(t, slices.Equal(got.Missing, want), "missing %q, want %q", got.Missing, want)
	var order []string
	for _, p := range got.Places {
		order = append(order, p.Place)
	}
	if want := []string{result.PlaceQdisc, result.PlaceNetfilter, result.PlaceReceive}; !slices.Equal(order, want) {
		t.Errorf("places in the order %q, want %q", order, want)
	}
}

func TestPlus(t *testing.T) {
	one, two := int64(1), int64(2)
	var none *losses.SocketTotals
	sum := none.Add(losses.SocketTotals{Sent: 1, Drops: &one, Denied: 1}).Add(losses.SocketTotals{Received: 3, Drops: &two, Unread: 4, ReceivesSuper: true})
	must.True(t, sum.Sent == 1 && sum.Received == 3 && sum.Drops != nil && *sum.Drops == 3 && sum.Denied == 1 && sum.Unread == 4 && sum.ReceivesSuper && !sum.SendsSuper, "sum %+v", sum)
	if sum = sum.Add(losses.SocketTotals{}); sum.Drops != nil {
		t.Errorf("drops %d, but one end's are unknown", *sum.Drops)
	}
}
