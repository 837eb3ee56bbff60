package ovs_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/ovs"
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

// An impossible mode is reported in one line.
func TestUnsupported(t *testing.T) {
	drivertest.CheckRefused(t, ovs.Driver{}, map[string]drivertest.Refused{
		"another program":              {Mode: "ovs/flat-netdev", Program: "ovs-vswitchd", Script: "echo something else", Want: `ovs-vswitchd: unexpected output "something else"; install Open vSwitch`, Unsupported: true},
		"no database":                  {Mode: "ovs/flat-netdev", Program: "ovsdb-tool", Script: "echo no space >&2; exit 1", Want: "create the Open vSwitch database: ovsdb-tool: no space"},
		"the database's daemon ends":   {Mode: "ovs/vxlan-netdev", Program: "ovsdb-server", Script: "echo no luck >&2; exit 7", Want: "ovsdb-server of host a has ended: ovsdb-server ended (exit status 7): no luck"},
		"the switch ends":              {Mode: "ovs/vxlan-netdev", Program: "ovs-vswitchd", Script: `[ "$1" = --version ] && { echo "ovs-vswitchd (Open vSwitch) 9"; exit; }; echo no luck >&2; exit 7`, Want: "ovs-vswitchd ended (exit status 7): no luck"},
		"an MTU without room":          {Mode: "ovs/geneve-netdev", MTU: 1451, Want: "use 1280 to 1450"},
		"an MTU of more than the wire": {Mode: "ovs/flat-netdev", MTU: 1501, Want: "use 1280 to 1500"},
		"an unknown mode":              {Mode: "ovs/none", Want: "has no mode"},
	})
}
