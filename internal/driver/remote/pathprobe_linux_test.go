package remote_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/driver/remote"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
)

// probe probes the path between two hosts in both families.
func probe(t *testing.T, a, b *remote.Host, ends ...remote.Ends) remote.PathReport {
	t.Helper()
	began := time.Now()
	r, err := remote.ProbePath(t.Context(), a, b, ends)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the probes took %s", time.Since(began))
	for _, h := range []string{a.At, b.At} {
		for _, f := range r.FactsOf(h) {
			t.Logf("%s: %s: %s", h, f.Name, f.Value)
		}
	}
	for _, w := range r.Warnings() {
		t.Logf("%s: %s", w.Code, w.Text)
	}
	return r
}

// codes lists the warnings of a report.
func codes(r remote.PathReport) string {
	var out []string
	for _, w := range r.Warnings() {
		out = append(out, w.Code)
	}
	return strings.Join(out, " ")
}

// A path without a fault passes packets of its MTU in both directions and families.
func TestProbePath(t *testing.T) {
	l := drivertest.Lab(t, nil)
	r := probe(t, read(t, l, l.A), read(t, l, l.B), remote.Ends{A: l.A.Addr[0], B: l.B.Addr[0]}, remote.Ends{A: l.A.Addr[1], B: l.B.Addr[1]})
	if len(r.Legs) != 4 || r.Err() != nil || codes(r) != "" {
		t.Errorf("%d legs, %v, %s", len(r.Legs), r.Err(), codes(r))
	}
	for _, leg := range r.Legs {
		if leg.Device != lab.Underlay || leg.Sizes == nil || leg.Sizes.Largest != leg.MTU || leg.Sizes.Refused == nil || !*leg.Sizes.Refused {
			t.Errorf("%s: device %s with MTU %d, %+v, %v", &leg, leg.Device, leg.MTU, leg.Sizes, leg.NoSizes)
		}
		if leg.Stream == nil || !leg.Stream.Complete || leg.Stream.Received == 0 || leg.Stream.MSS == 0 {
			t.Errorf("%s: %+v, %v", &leg, leg.Stream, leg.NoStream)
		}
	}
}

// A host that cannot listen says nothing about the path.
func TestProbePathCannotListen(t *testing.T) {
	l := drivertest.Lab(t, nil)
	a, b := read(t, l, l.A), read(t, l, l.B)
	r := probe(t, a, b, remote.Ends{A: l.A.Addr[0], B: l.B.Addr[0], Port: 5201})
	if codes(r) != "" || r.Err() != nil {
		t.Fatalf("%v, %s", r.Err(), codes(r))
	}
	err := l.A.NS.Do(func() error {
		taken, err := net.ListenPacket("udp", netip.AddrPortFrom(l.A.Addr[0], 5201).String())
		if err == nil {
			t.Cleanup(func() { taken.Close() })
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r = probe(t, a, b, remote.Ends{A: l.A.Addr[0], B: l.B.Addr[0], Port: 5201})
	if codes(r) != "not_observed" || r.Err() != nil || !strings.Contains(r.Warnings()[0].Text, "host a cannot listen") {
		t.Errorf("%v, %v", r.Err(), r.Warnings())
	}
}

// routed are two hosts with two routers between them: the link between the routers has a
// smaller MTU than those of the hosts, so neither host knows what passes.
type routed struct {
	a, b   *remote.Host
	r1, r2 *linuxnet.NS
	ends   []remote.Ends
}

const middleMTU = 1400

func newRouted(t *testing.T) routed {
	t.Helper()
	drivertest.NeedLab(t)
	var ns [4]*linuxnet.NS // a, r1, r2, b
	for i, name := range []string{"a", "r1", "r2", "b"} {
		n, err := linuxnet.NewNS("tare-test-" + name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
		ns[i] = n
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range ns {
		must(n.Sysctl("net/ipv6/conf/all/accept_dad", "0")) // duplicate address detection takes a second
		must(n.Sysctl("net/ipv6/conf/default/accept_dad", "0"))
	}
	for i, mtu := range []int{1500, middleMTU, 1500} {
		left, right := ns[i], ns[i+1]
		must(left.Links().Veth(linuxnet.Device{Name: "right", MTU: mtu}, right, linuxnet.Device{Name: "left", MTU: mtu}))
		for j, n := range []*linuxnet.NS{left, right} {
			dev := []string{"right", "left"}[j]
			must(n.Routes().Address(dev, netip.MustParsePrefix(fmt.Sprintf("198.18.%d.%d/24", i, 1+j))))
			must(n.Routes().Address(dev, netip.MustParsePrefix(fmt.Sprintf("2001:2:0:%d::%d/64", i, 1+j))))
			must(n.Links().Up(dev))
		}
	}
	for i, n := range ns[1:3] {
		must(n.Sysctl("net/ipv4/ip_forward", "1"))
		must(n.Sysctl("net/ipv6/conf/all/forwarding", "1"))
		beyond, via, dev := 2, 2, "right"
		if i == 1 {
			beyond, via, dev = 0, 1, "left"
		}
		must(n.Routes().Route(netip.MustParsePrefix(fmt.Sprintf("198.18.%d.0/24", beyond)), netip.MustParseAddr(fmt.Sprintf("198.18.1.%d", via)), dev))
		must(n.Routes().Route(netip.MustParsePrefix(fmt.Sprintf("2001:2:0:%d::/64", beyond)), netip.MustParseAddr(fmt.Sprintf("2001:2:0:1::%d", via)), dev))
	}
	for _, gateway := range []string{"198.18.0.2", "2001:2::2"} {
		must(ns[0].Routes().DefaultRoute(netip.MustParseAddr(gateway)))
	}
	for _, gateway := range []string{"198.18.2.1", "2001:2:0:2::1"} {
		must(ns[3].Routes().DefaultRoute(netip.MustParseAddr(gateway)))
	}
	r := routed{r1: ns[1], r2: ns[2], ends: []remote.Ends{
		{A: netip.MustParseAddr("198.18.0.1"), B: netip.MustParseAddr("198.18.2.2")},
		{A: netip.MustParseAddr("2001:2::1"), B: netip.MustParseAddr("2001:2:0:2::2")},
	}}
	for _, h := range []struct {
		to   **remote.Host
		ns   *linuxnet.NS
		name string
	}{{&r.a, ns[0], "a"}, {&r.b, ns[3], "b"}} {
		opened, err := remote.Open(t.Context(), transport.Local{Start: h.ns.Start}, "test", h.name, netip.Addr{})
		must(err)
		t.Cleanup(func() {
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		})
		*h.to = opened
	}
	return r
}

// rules adds packet filter rules to a namespace.
func rules(t *testing.T, ns *linuxnet.NS, text string) {
	t.Helper()
	nft := exec.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(text)
	var said bytes.Buffer
	nft.Stderr = &said
	if err := ns.Start(nft); err != nil {
		t.Fatal(err)
	}
	if err := nft.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
}

// chain returns a chain of rules at a hook.
func chain(hook string, rules ...string) string {
	return fmt.Sprintf("table inet %[1]s_test {\n chain c {\n type filter hook %[1]s priority 0\n %[2]s\n }\n}\n", hook, strings.Join(rules, "\n"))
}

// Each case is a fault of a path.
func TestProbePathFaults(t *testing.T) {
	noReports := chain("output", "icmp type destination-unreachable drop", "icmpv6 type packet-too-big drop")
	for name, c := range map[string]struct {
		rules   string // on the router of host a
		both    bool   // and on that of host b
		largest int    // from a to b
		codes   string
		err     string
	}{
		"a smaller MTU in the middle is reported": {"", false, middleMTU, strings.Repeat("path_mtu_smaller ", 4), ""},
		"the reports are swallowed": {noReports, true, middleMTU, strings.Repeat("large_packets_lost ", 4),
			"set the MTU of the device of host a (right) to 1400"},
		"they are, but TCP uses smaller segments": {noReports + chain("forward", "tcp flags syn tcp option maxseg size set 1300"), true, middleMTU,
			strings.Repeat("large_packets_lost ", 4), ""},
		"large packets are dropped": {chain("forward", "meta length > 1000 drop"), false, 1000, strings.Repeat("large_packets_lost ", 4), "connects and then stops after 0 bytes"},
		"host b reaches nothing": {chain("forward", `iifname "right" ct state new drop`), false, middleMTU,
			"path_mtu_smaller direction_blocked path_mtu_smaller direction_blocked", ""},
		"host a reaches nothing": {chain("forward", `iifname "left" ct state new drop`), false, 0,
			"direction_blocked path_mtu_smaller direction_blocked path_mtu_smaller", "cannot carry TCP from a to b over IPv4"},
		"data is changed behind its checksum": {chain("forward", "meta length > 1000 @ih,512,8 set 0x55"), false, middleMTU,
			strings.Repeat("packets_damaged path_mtu_smaller ", 4), "arrives changed, first at byte"},
		"UDP is dropped": {chain("forward", "meta l4proto udp drop"), false, 0, strings.Repeat("direction_blocked ", 4), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouted(t)
			if c.rules != "" {
				rules(t, r.r1, c.rules)
			}
			if c.both {
				rules(t, r.r2, c.rules)
			}
			got := probe(t, r.a, r.b, r.ends...)
			var impassable *remote.Impassable
			if err := got.Err(); c.err == "" && err != nil || c.err != "" && (!errors.As(err, &impassable) || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%v; want one line with %q", err, c.err)
			}
			if codes(got) != strings.TrimSpace(c.codes) {
				t.Errorf("warnings %s, want %s", codes(got), c.codes)
			}
			for i, leg := range got.Legs {
				if i%2 == 0 && (leg.Sizes == nil) != (c.largest == 0) || i%2 == 0 && c.largest > 0 && leg.Sizes.Largest != c.largest {
					t.Errorf("%s: %+v, want %d", &leg, leg.Sizes, c.largest)
				}
			}
		})
	}
}

// Packets that a path loses are counted before any trial, in the direction in which a host sends them, large ones
// apart from small ones.
func TestLossyPath(t *testing.T) {
	l := drivertest.Lab(t, nil)
	// Every twelfth datagram of the probes, but those that show which have arrived: 256 bytes and no answer.
	rules(t, l.B.NS, "table inet lossy {\nchain in { type filter hook input priority 0; policy accept; meta l4proto udp meta length 257 numgen inc mod 12 0 counter drop; "+
		"meta l4proto udp meta length > 1400 numgen inc mod 4 0 counter drop; }\n}\n")
	r := probe(t, read(t, l, l.A), read(t, l, l.B), remote.Ends{A: l.A.Addr[0], B: l.B.Addr[0]})
	if r.Err() != nil || codes(r) != "path_lossy" {
		t.Fatalf("%v, %s", r.Err(), codes(r))
	}
	w := r.Warnings()[0]
	if small := r.Legs[0].Sizes.Unanswered[0]; small < 200/12-1 || !strings.Contains(w.Text, fmt.Sprintf("%d of 200 small packets", small)) || w.Values == "" {
		t.Errorf("%+v: %+v", r.Legs[0].Sizes, w)
	}
	if large := r.Legs[0].Sizes.Unanswered[1]; large < 200/4-1 || large < 2*r.Legs[0].Sizes.Unanswered[0] {
		t.Errorf("%+v", r.Legs[0].Sizes)
	}
	if text := r.FactsOf("a")[0].Value; !strings.Contains(text, "small packets and") {
		t.Error(text)
	}
}
