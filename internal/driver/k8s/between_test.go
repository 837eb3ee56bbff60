package k8s

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/agent/wire"
	"tare/internal/testkit/must"
)

// Devices as agents on nodes of these networks report them.
var (
	eth0       = wire.Link{Name: "eth0", MTU: 1500, Up: true}
	flannel    = wire.Link{Name: "flannel.1", Kind: "vxlan", MTU: 1450, Up: true}
	calico     = wire.Link{Name: "vxlan.calico", Kind: "vxlan", MTU: 1450, Up: true}
	calicoIPIP = wire.Link{Name: "tunl0", Kind: "ipip", MTU: 1480, Up: true}
	calicoWG   = wire.Link{Name: "wireguard.cali", Kind: "wireguard", MTU: 1440, Up: true}
	router     = wire.Link{Name: "tun-1a2b3c4d5e6", Kind: "ipip", MTU: 1480, Up: true}
	ciliumHost = wire.Link{Name: "cilium_host", Kind: "veth", MTU: 1500, Up: true}
	ciliumNet  = wire.Link{Name: "cilium_net", Kind: "veth", MTU: 1500, Up: true}
	cilium     = wire.Link{Name: "cilium_vxlan", Kind: "vxlan", MTU: 1500, Up: true}
	ciliumWG   = wire.Link{Name: "cilium_wg0", Kind: "wireguard", MTU: 1420, Up: true}
	ovn        = wire.Link{Name: "ovn-k8s-mp0", Kind: "openvswitch", MTU: 1400, Up: true}
	antrea     = wire.Link{Name: "antrea-gw0", Kind: "openvswitch", MTU: 1450, Up: true}
	geneve     = wire.Link{Name: "genev_sys_6081", Kind: "geneve", MTU: 65000, Up: true}
)

// What is between nodes is told by the devices that are there, and lower bounds are required only
// of those that packets certainly pass.
func TestBetween(t *testing.T) {
	for _, c := range []struct {
		name                  string
		first                 wire.Link
		back                  wire.Link // by which the other node sends; first if empty
		others                []wire.Link
		text, sends, receives string
	}{
		{name: "routes", first: eth0, text: "direct: device eth0, MTU 1500", sends: "eth0", receives: "eth0"},
		{name: "flannel", first: flannel, text: "overlay, VXLAN: device flannel.1, MTU 1450", sends: "flannel.1 eth0", receives: "flannel.1 eth0"},
		{name: "Calico VXLAN", first: calico, text: "overlay, VXLAN: device vxlan.calico, MTU 1450", sends: "vxlan.calico eth0", receives: "vxlan.calico eth0"},
		{name: "Calico IPIP", first: calicoIPIP, text: "overlay, IP in IP: device tunl0, MTU 1480", sends: "tunl0 eth0", receives: "tunl0 eth0"},
		{name: "Calico WireGuard", first: calicoWG, text: "encrypted by WireGuard: device wireguard.cali, MTU 1440", sends: "wireguard.cali eth0", receives: "wireguard.cali eth0"},
		{name: "kube-router", first: router, text: "overlay, IP in IP: device tun-1a2b3c4d5e6, MTU 1480", sends: "tun-1a2b3c4d5e6 eth0", receives: "tun-1a2b3c4d5e6 eth0"},
		{
			name: "kube-router, other end", first: router, back: wire.Link{Name: "tun-6f7e8d9c0b1", Kind: "ipip", MTU: 1480},
			text: "overlay, IP in IP: device tun-1a2b3c4d5e6, MTU 1480", sends: "tun-1a2b3c4d5e6 eth0", receives: "tun-1a2b3c4d5e6 eth0",
		},
		{
			name: "Cilium", first: ciliumHost, others: []wire.Link{ciliumHost, ciliumNet, cilium},
			text: "chosen by the network behind its own device: device cilium_host, MTU 1500; the node has cilium_vxlan (overlay, VXLAN)", sends: "eth0", receives: "eth0",
		},
		{
			name: "Cilium WireGuard", first: ciliumHost, others: []wire.Link{ciliumHost, ciliumNet, cilium, ciliumWG},
			text:  "chosen by the network behind its own device: device cilium_host, MTU 1500; the node has cilium_vxlan (overlay, VXLAN), cilium_wg0 (encrypted by WireGuard)",
			sends: "eth0", receives: "eth0",
		},
		{
			name: "OVN-Kubernetes", first: ovn, others: []wire.Link{ovn, geneve},
			text: "chosen by the network behind its own device: device ovn-k8s-mp0, MTU 1400; the node has genev_sys_6081 (overlay, Geneve)", sends: "eth0", receives: "eth0",
		},
		{name: "Antrea, no encapsulation", first: antrea, text: "chosen by the network behind its own device: device antrea-gw0, MTU 1450; the node has no tunnel", sends: "eth0", receives: "eth0"},
		{
			name: "Calico, pod to node", first: eth0, back: calico, others: []wire.Link{calico},
			text: "direct: device eth0, MTU 1500; back: overlay, VXLAN: device vxlan.calico, MTU 1450", sends: "eth0", receives: "vxlan.calico eth0",
		},
		{
			name: "Calico, node to pod", first: calico, back: eth0,
			text: "overlay, VXLAN: device vxlan.calico, MTU 1450; back: direct: device eth0, MTU 1500", sends: "vxlan.calico eth0", receives: "eth0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			near := leaving{first: c.first, toNode: eth0, links: append([]wire.Link{eth0}, c.others...)}
			far := leaving{first: c.first, toNode: eth0, links: near.links}
			if c.back.Name != "" {
				far.first = c.back
			}
			must.EqualFor(t, "text", c.text, betweenText(near, far))
			must.EqualFor(t, "sends", c.sends, deviceNames(near.sends()))
			must.EqualFor(t, "receives", c.receives, deviceNames(near.receives(far)))
		})
	}
}

func deviceNames(links []wire.Link) string {
	var out []string
	for l := range slices.Values(links) {
		out = append(out, l.Name)
	}
	return strings.Join(out, " ")
}
