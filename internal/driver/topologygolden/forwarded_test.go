package topologygolden

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/testkit/must"
)

// The modes whose packets a process forwards are those of tunnels, switches and networks in user space, of proxies and of virtual machines.
func TestForwardedModes(t *testing.T) {
	forwarding := []string{"docker-rootless", "docker-userland-proxy", "incus-ovn", "incus-proxy", "ipsec-userspace", "mesh-", "ovn-", "ovs-flat-netdev", "ovs-geneve-netdev", "ovs-vxlan-netdev",
		"podman-rootless", "proxy-", "rootless-", "vm-", "wireguard-userspace"}
	seen := map[string]bool{}
	for _, f := range must.Get(files.ReadDir("paths"))(t) {
		var p Path
		must.Do(t, json.Unmarshal(must.Get(files.ReadFile("paths/"+f.Name()))(t), &p))
		var rules []driver.Rule
		for _, r := range p.Rules {
			if r.Expect == driver.ProcessBusy.String() {
				rules = append(rules, driver.Rule{Expect: driver.ProcessBusy})
			}
		}
		at := slices.IndexFunc(forwarding, func(prefix string) bool { return strings.HasPrefix(f.Name(), prefix) })
		if at >= 0 {
			seen[forwarding[at]] = true
		}
		if got := driver.Forwarded(rules, p.Topology.Nodes); got != (at >= 0) {
			t.Errorf("%s: forwarded by a process: %t", f.Name(), got)
		}
	}
	must.Equal(t, len(forwarding), len(seen))
}
