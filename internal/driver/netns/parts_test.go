//go:build linux

package netns_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// without specifies a variant of a mode that leaves parts out.
func without(t *testing.T, mode string, pairs int, parts []string) labdriver.Order {
	t.Helper()
	o := drivertest.Order(t, mode, pairs, nil)
	o.With = map[string]string{}
	for _, p := range parts {
		o.With[p] = driver.Off
	}
	return o
}

// variants lists the parts that the variants of a mode leave out: the last ones, so that the
// others are a step on the way from the baseline to the mode, or a single one.
func variants(m driver.Mode) (out [][]string) {
	for first := range m.Parts {
		var last []string
		for _, p := range m.Parts[first:] {
			last = append(last, p.ID)
		}
		out = append(out, last)
		if len(last) > 1 {
			out = append(out, last[:1])
		}
	}
	return out
}

// impossible maps variants that cannot be built to the reason.
func impossible() map[string]string {
	const programs = "the part programs needs the part namespace, which is off: "
	const bridge, chain = "the part bridge needs the part namespace, which is off: ", "the part filter needs the part conntrack, which is off: "
	return map[string]string{
		"netns/published namespace": bridge, "netns/bridge namespace": bridge, "netns/routed namespace": bridge,
		"netns/colocated namespace": bridge, "netns/vxlan namespace": bridge,
		"netns/ebpf namespace": programs, "netns/netkit namespace": programs,
		"netns/published conntrack": chain, "netns/bridge conntrack": chain,
	}
}

// same maps variants to the mode whose path they are; those without any part are their
// mode's baseline.
func same() map[string]string {
	return map[string]string{
		"netns/bridge conntrack filter masquerade dnat":        "netns/routed",
		"netns/bridge bridge conntrack filter masquerade dnat": "netns/ptp",
		"netns/routed bridge":                                  "netns/ptp",
		"netns/ebpf programs":                                  "netns/ptp",
		"netns/vxlan tunnel mtu":                               "netns/routed",
		"netns/vxlan bridge tunnel mtu":                        "netns/ptp",
	}
}

// Each step from the baseline to a mode, and the mode without any one part, is built and
// proven, or unsupported with the reason. Nothing is left of it.
func TestParts(t *testing.T) {
	drivertest.NeedLab(t)
	found := map[string]bool{}
	for _, m := range (netns.Driver{}).Modes() {
		for _, parts := range variants(m) {
			name := m.ID + " " + strings.Join(parts, " ")
			found[name] = true
			t.Run("without/"+name, func(t *testing.T) {
				t.Parallel()
				o := without(t, m.ID, 2, parts)
				t.Cleanup(func() {
					if left, err := linuxnet.Pinned(lab.Prefix + o.Run); err != nil || len(left) > 0 {
						t.Errorf("left: %v, %v", left, err)
					}
				})
				if why := impossible()[name]; why != "" {
					_, err := netns.Driver{}.Provision(t.Context(), o)
					if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, why) {
						t.Errorf("got %v, want %s", err, why)
					}
					return
				}
				s := drivertest.Build(t, netns.Driver{}, o)
				s.CheckTopology(t)
				path := same()[name]
				if len(parts) == len(m.Parts) {
					path = m.Baseline
				}
				if path != "" {
					top := must.Get(s.Path.Topology())(t)
					drivertest.CheckGoldenPath(t, path, top, s.Path.Findings(nil, nil, nil))
				}
				proveAll(t, s)
			})
		}
	}
	for name := range impossible() {
		must.True(t, found[name], "%s is not among the variants", name)
	}
	for name := range same() {
		must.True(t, found[name], "%s is not among the variants", name)
	}
}

// proveAll runs short trials, alternating the address family, and one over both pairs.
func proveAll(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	for i, kind := range []string{"tcp_stream", "tcp_rr", "udp_stream"} {
		p := drivertest.Params(kind)
		p.Warmup, p.Duration = 20*time.Millisecond, 60*time.Millisecond
		ipv6 := i%2 == 0 && s.Lab.IPv6
		if _, _, err := s.Trial(t, p, ipv6); err != nil {
			t.Errorf("%s, ipv6 %t: %v", kind, ipv6, err)
		}
	}
	must.EqualFor(t, "both pairs", nil, must.Err(s.TrialPairs(t, drivertest.Params("tcp_stream"), false, 2)))
}

// The part mtu of a tunnel is the MTU inside alone: without it the underlay's is larger, and
// without the tunnel the path has the MTU that the tunnel leaves.
func TestMTUPart(t *testing.T) {
	for _, tt := range []struct {
		mode, without, want string // want are the MTUs from the client's device to the underlay's
	}{
		{"netns/vxlan", "", "1450 1450 1450 1450 1500"},
		{"netns/vxlan", "mtu", "1500 1500 1500 1500 1550"},
		{"netns/vxlan", "tunnel", "1450 1450 1450 1500"},
		{"netns/vxlan", "tunnel mtu", "1500 1500 1500 1500"},
		{"netns/vxlan", "namespace bridge", "1450 1500"},
		{"netns/vxlan", "namespace bridge tunnel", "1450"},
		{"netns/colocated", "", "1500 1500 1500 1500 1500"},
		{"netns/colocated", "mtu", "65535 65535 65535 65535 65535"},
		{"netns/colocated", "namespace bridge", "1500"},
	} {
		t.Run(tt.mode+" without "+tt.without, func(t *testing.T) {
			p := must.Get(netns.Driver{}.Provision(t.Context(), without(t, tt.mode, 1, strings.Fields(tt.without))))(t)
			defer func() { must.Do(t, p.Close(t.Context())) }()
			top := must.Get(p.Topology())(t)
			var mtus []string
			for _, n := range top.Nodes {
				for _, f := range n.Facts {
					if f.Name == "mtu" && n.Host == "a" {
						mtus = append(mtus, f.Value)
					}
				}
			}
			must.Equal(t, tt.want, strings.Join(mtus, " "))
			must.True(t, p.Underlay == nil || tt.mode != "netns/vxlan" || fmt.Sprint(p.Underlay.MTU) == mtus[len(mtus)-1], "the underlay is said to have an MTU of %d", p.Underlay.MTU)
		})
	}
	o := without(t, "netns/vxlan", 1, []string{"mtu"})
	o.MTU = 1400
	must.FailFor(t, "an MTU without the part", must.Err((netns.Driver{}).Provision(t.Context(), o)), "an MTU of 1400 is requested")
}

// Where connection tracking is left out, a host that tracks connections nevertheless makes
// the path void.
func TestTrackedNevertheless(t *testing.T) {
	s := drivertest.Build(t, netns.Driver{}, without(t, "netns/published", 1, []string{"conntrack", "filter", "masquerade", "dnat"}))
	p := drivertest.Params("tcp_rr")
	if _, _, err := s.Trial(t, p, false); err != nil {
		t.Fatal(err)
	}
	must.Do(t, s.Lab.B.NS.Rules().Gateway(linuxnet.Gateway{Table: "other", Rules: linuxnet.RuleTrackArriving}))
	if _, _, err := s.Trial(t, p, false); err == nil || !strings.Contains(err.Error(), "and the part conntrack is off") {
		t.Errorf("got %v", err)
	}
}
