package remote_test

import (
	"net/netip"
	"strings"
	"testing"

	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/testkit/must"
)

// Each case is a fault of a path between two endpoints, with the warnings of its mode and what could not be probed.
func TestProbeEndpoints(t *testing.T) {
	noReports := chain("output", "icmp type destination-unreachable drop", "icmpv6 type packet-too-big drop")
	const reported = "path_mtu_smaller path_mtu_smaller path_mtu_smaller path_mtu_smaller"
	for name, c := range map[string]struct {
		rules string // on both routers
		codes string
		text  string // of the first warning
		not   string // probed, of the first leg; "?" where time may run out
	}{
		"a smaller MTU is reported": {codes: reported, text: "the path from a/client to b/server over IPv4 passes packets of at most 1400 bytes, and the route (right) has an MTU of 1500"},
		"the reports are swallowed": {rules: noReports, codes: strings.Repeat("large_packets_lost ", 4), text: "although the route (right) has an MTU of 1500: datagrams and tunnels of that size lose everything, and TCP stops. Set the MTU of the network to 1400 (a key), or let the ICMP messages", not: "?"},
		"segments alone are lost": {rules: chain("forward", `iifname "left" meta l4proto tcp meta length > 1000 drop`), codes: "path_mtu_smaller large_packets_lost path_mtu_smaller large_packets_lost path_mtu_smaller path_mtu_smaller", not: "?",
			text: "the path from a/client to b/server"},
		"data is changed behind its checksum": {rules: chain("forward", "meta l4proto tcp meta length > 1000 @ih,512,8 set 0x55"), codes: strings.Repeat("path_mtu_smaller packets_damaged ", 4), text: "IPv4"},
		"UDP is dropped":                      {rules: chain("forward", "meta l4proto udp drop"), not: "large packets from a/client to b/server over IPv4 (UDP had no answer)"},
		"all is dropped":                      {rules: chain("forward", "ct state new drop"), not: "the path from a/client to b/server over IPv4 (TCP had no answer)"},
		"the way back is":                     {rules: chain("forward", `iifname "right" ct state new oifname "left" drop`), codes: "path_mtu_smaller path_mtu_smaller", text: "a/client to b/server", not: "the path from b/server to a/client over IPv4 (TCP had no answer)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouted(t)
			if c.rules != "" {
				rules(t, r.r1, c.rules)
				if name != "the way back is" {
					rules(t, r.r2, c.rules)
				}
			}
			spec := &pathspec.Path{Mode: "test/routed", PairCount: 1}
			var dial []netip.AddrPort
			for _, e := range r.ends {
				dial = append(dial, netip.AddrPortFrom(e.B, pathspec.ServerChoosesPort))
			}
			at := func(name, host string) pathspec.Endpoint {
				return pathspec.Endpoint{Place: pathspec.Place{At: name, Host: host}}
			}
			spec.AddPairPorts(at("a/client", "a"), at("b/server", "b"), dial, dial)
			facts, warnings := remote.EndpointProbe(spec, "a key")(t.Context(), r.a.Monitor, r.b.Monitor)
			var codes []string
			for _, w := range warnings {
				t.Logf("%s: %s: %s", w.Scope, w.Code, w.Text)
				codes = append(codes, w.Code)
				must.Equal(t, "test/routed", w.Scope)
			}
			t.Log(facts)
			must.Equal(t, strings.TrimSpace(c.codes), strings.Join(codes, " "))
			if c.text != "" {
				must.Contain(t, warnings[0].Text, c.text)
			}
			switch {
			case c.not == "?":
			case c.not == "" && len(facts) > 0, c.not != "" && len(facts) != 1:
				t.Errorf("not probed: %+v", facts)
			case c.not != "":
				must.Contain(t, facts[0].Value, c.not)
			}
		})
	}
}
