package ovs_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/ovs"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

func TestConformance(t *testing.T) { drivertest.Conformance(t, ovs.Driver{}, 2) }

// stand builds a mode with one pair, or skips the test if the probe says why it cannot be
// built here.
func stand(t *testing.T, mode string, mtu int) *drivertest.Setup {
	t.Helper()
	drivertest.NeedLab(t)
	began := time.Now()
	drivertest.NeedMode(t, ovs.Driver{}, labdriver.Order{Order: driver.Order{Mode: mode}})
	probed := time.Since(began)
	began = time.Now()
	s := drivertest.Build(t, ovs.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: 1, MTU: mtu}))
	t.Logf("%s: probed and taken down in %v, provisioned up to both agents' handshake in %v", mode, probed, time.Since(began))
	return s
}

// The sandboxes' frames on the underlay without the tunnel make the path void.
func TestShortcutIsVoid(t *testing.T) {
	s := stand(t, "ovs/geneve-netdev", 0)
	must.Get2(s.Trial(t, drivertest.Params("tcp_stream"), false))(must.Named(t, "before the shortcut"))
	must.Do(t, inClear(s))
	s.WaitReachable(t)
	for _, kind := range []string{"tcp_stream", "udp_stream"} {
		s.Void(t, drivertest.Params(kind), ".sealed_bytes")
	}
}

// inClear adds the underlay to each switch as a port, in place of the tunnel.
func inClear(s *drivertest.Setup) error { return ovs.Untunnel(s.Path) }

// If a switch is killed, the path's error says so.
func TestSwitchKilled(t *testing.T) {
	s := stand(t, "ovs/vxlan-netdev", 1400)
	for _, pid := range s.Path.Processes() {
		must.Do(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	var err error
	for end := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_, err = s.Path.Snapshot(t.Context())
	}
	must.FailLine(t, "error", err, "has ended")
}

// The facts have the switch's version, the datapath, and the MTU, which is the requested
// one.
func TestFacts(t *testing.T) {
	s := stand(t, "ovs/geneve-netdev", 1400)
	facts := map[string]string{}
	for _, f := range s.Path.Facts {
		facts[f.Name] = f.Value
	}
	if facts["sandbox MTU"] != "1400" || !strings.Contains(facts["Open vSwitch"], "/ovs-vswitchd)") || !strings.HasPrefix(facts["datapath"], "netdev") {
		t.Errorf("facts %v", facts)
	}
	client, _ := s.Namespaces()
	if off, err := client.Tuning().Offloads("eth0"); err != nil || off["tx-checksum"] || off["tso"] {
		t.Errorf("offloads of the sandbox: %v, %v", off, err)
	}
}

// Access rules of a logical switch are in its flows, and the traffic passes them.
func TestAccessRules(t *testing.T) {
	drivertest.NeedLab(t)
	order := driver.Order{Mode: "ovn/logical", Pairs: 1, With: map[string]string{"acls": "200"}}
	drivertest.NeedMode(t, ovs.Driver{}, labdriver.Order{Order: driver.Order{Mode: order.Mode}})
	s := drivertest.Build(t, ovs.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), order))
	i := slices.IndexFunc(s.Path.Facts, func(f result.Fact) bool { return strings.HasPrefix(f.Name, "access rules") })
	if i < 0 || !strings.HasPrefix(s.Path.Facts[i].Value, "200 that match nothing, and one ") {
		t.Fatalf("facts %v", s.Path.Facts)
	}
	must.Get2(s.Trial(t, drivertest.Params("tcp_rr"), false))(must.Named(t, "past 200 rules"))
	must.Do(t, ovs.Deny(s.Path))
	listen, dial := must.Get2(s.Path.Pairs[0].Server.Reach(false))(t)
	if _, err := agent.CheckReachability(t.Context(), s.Ends[0].Client, s.Ends[0].Server, "tcp", listen, dial, time.Second); err == nil {
		t.Error("a rule that denies everything denies nothing")
	}
}

// An impossible mode is reported in one line.
func TestUnsupported(t *testing.T) {
	drivertest.CheckRefused(t, ovs.Driver{}, map[string]drivertest.Refused{
		"another program":              {Mode: "ovs/flat-netdev", Program: "ovs-vswitchd", Script: "echo something else", Want: `ovs-vswitchd: unexpected output "something else"; install Open vSwitch`, Unsupported: true},
		"no database":                  {Mode: "ovs/flat-netdev", Program: "ovsdb-tool", Script: "echo no space >&2; exit 1", Want: "create a database of vswitch.ovsschema: ovsdb-tool: no space"},
		"the database's daemon ends":   {Mode: "ovs/vxlan-netdev", Program: "ovsdb-server", Script: "echo no luck >&2; exit 7", Want: "ovsdb-server of host a has ended: ovsdb-server ended (exit status 7): no luck"},
		"the switch ends":              {Mode: "ovs/vxlan-netdev", Program: "ovs-vswitchd", Script: `[ "$1" = --version ] && { echo "ovs-vswitchd (Open vSwitch) 9"; exit; }; echo no luck >&2; exit 7`, Want: "ovs-vswitchd ended (exit status 7): no luck"},
		"an MTU without room":          {Mode: "ovs/geneve-netdev", MTU: 1451, Want: "use 1280 to 1450"},
		"an MTU of more than the wire": {Mode: "ovs/flat-netdev", MTU: 1501, Want: "use 1280 to 1500"},
		"an unknown mode":              {Mode: "ovs/none", Want: "has no mode"},
		"another program than OVN's":   {Mode: "ovn/logical", Program: "ovn-controller", Script: "echo something else", Want: `ovn-controller: unexpected output "something else"; install OVN`, Unsupported: true},
		"OVN's compiler ends":          {Mode: "ovn/logical", Program: "ovn-northd", Script: "echo no luck >&2; exit 7", Want: "ovn-northd ended (exit status 7): no luck"},
		"OVN's controller ends":        {Mode: "ovn/logical", Program: "ovn-controller", Script: `[ "$1" = --version ] && { echo "ovn-controller 9"; exit; }; echo no luck >&2; exit 7`, Want: "ovn-controller of host a has ended: ovn-controller ended (exit status 7): no luck"},
		"OVN's tool fails":             {Mode: "ovn/logical", Program: "ovn-nbctl", Script: "echo no luck >&2; exit 7", Want: "ovn-nbctl: no luck (exit status 7)"},
	})
}
