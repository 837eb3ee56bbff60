package wireguard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/tunnel"
	"tare/internal/driver/wireguard"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/tunneltest"
)

func TestMain(m *testing.M) {
	tunneltest.StandIfDoomed(wireguard.Driver{})
	drivertest.Main(m)
}

func TestConformance(t *testing.T) {
	drivertest.Conformance(t, drivertest.Only(wireguard.Driver{}, "wireguard/userspace"), 2)
}

func TestEnginesConformance(t *testing.T) {
	drivertest.Conformance(t, drivertest.Only(wireguard.Driver{}, "wireguard/kernel"), 2)
}

// modes lists the modes with tests of their own; each test is skipped if the mode cannot be
// built.
func modes() []string {
	return []string{"wireguard/userspace", "wireguard/kernel"}
}

func TestEnginesShortcutsAreVoid(t *testing.T) {
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			tunneltest.Shortcuts(t, wireguard.Driver{}, mode, tunneltest.RouteInClear, "/wireguard.")
		})
	}
}

// Without its processes or its device, the tunnel lets nothing through, and nothing leaves.
func TestEnginesDown(t *testing.T) {
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			tunneltest.CheckTunnelDown(t, wireguard.Driver{}, mode, func(t *testing.T, p *tunnel.Path) {
				if len(p.PIDs()) > 0 {
					tunneltest.Kill(t, p)
					return
				}
				for _, s := range p.Sides() {
					must.Do(t, s.NS.Links().Remove("wg0"))
				}
			})
		})
	}
}

// The facts say which WireGuard it is; the MTU is the requested one; no key is readable by
// others.
func TestEnginesFactsAndSecrets(t *testing.T) {
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			s, p := tunneltest.Build(t, wireguard.Driver{}, mode, 1300)
			facts := map[string]string{}
			for _, f := range s.Path.Facts {
				facts[f.Name] = f.Value
			}
			if facts["inner MTU"] != "1300" || !strings.Contains(facts["cipher"], "ChaCha20") {
				t.Errorf("facts %v", facts)
			}
			version := map[string]string{"wireguard/userspace": "golang.zx2c4.com/wireguard ", "wireguard/kernel": "kernel"}[mode]
			must.Contain(t, facts["WireGuard"], version)
			client, _ := p.PairNamespaces(1)
			for _, d := range []struct {
				of interface {
					ReadSysctl(string) (string, error)
				}
				name string
			}{{client, "eth0"}, {p.Near.NS, "wg0"}, {p.Far.NS, "wg0"}} {
				if mtu, err := d.of.ReadSysctl("net/ipv6/conf/" + d.name + "/mtu"); err == nil && mtu != "1300" {
					t.Errorf("the MTU of %s is %s", d.name, mtu)
				}
			}
			tunneltest.CheckNoSecrets(t, p)
		})
	}
}

// An MTU that leaves no space for the tunnel's headers is rejected in one line.
func TestMTUWithoutRoom(t *testing.T) {
	drivertest.NeedLab(t)
	for _, mtu := range []int{1441, 1279} {
		_, err := wireguard.Driver{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "wireguard/userspace", Pairs: 1, MTU: mtu}))
		must.FailLine(t, fmt.Sprintf("MTU %d", mtu), err, "use 1280 to 1440")
	}
}

// What the process writes and reads contains no key in plain text except on the pipe.
func TestKeysAreNotPrinted(t *testing.T) {
	text, err := json.Marshal(map[string]any{"x": wireguard.Key{1, 2, 3}})
	if err != nil || !strings.Contains(string(text), "010203") {
		t.Errorf("the process is given %s, %v", text, err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := wireguard.Print(format); strings.Contains(got, "010203") || strings.Contains(got, "1 2 3") || strings.Contains(got, "0x1") {
			t.Errorf("%s prints %s", format, got)
		}
	}
}
