package netns

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// The parts of this package's modes.
const (
	partNamespace  = "namespace"
	partBridge     = "bridge"
	partConntrack  = "conntrack"
	partFilter     = "filter"
	partMasquerade = "masquerade"
	partDNAT       = "dnat"
	partTunnel     = "tunnel"
	partMTU        = "mtu"
	partPrograms   = "programs"
)

func namespacePart(whose string) driver.Part {
	return driver.Part{ID: partNamespace, Title: "a network namespace for " + whose + " with a veth to the host, which routes to it", Avoid: "use the network of the host (--network host)"}
}

func bridgePart() driver.Part {
	return driver.Part{ID: partBridge, Title: "a bridge on the host with the veth as its port", Avoid: "use a network without a bridge, such as macvlan or ipvlan"}
}

// engineParts are the parts of a network as Docker's bridge driver sets it up.
func engineParts(whose string) []driver.Part {
	return []driver.Part{
		namespacePart(whose), bridgePart(),
		{ID: partConntrack, Title: "connection tracking of the path's packets, started by a rule that counts new connections if no other rule needs it", Avoid: "exempt the ports of one service from connection tracking (notrack), where no rule needs it"},
		{ID: partFilter, Title: "the forward chain: accept replies, the sandboxes' ports and what leaves the bridge, drop the rest", Avoid: "accept the packets in the first rules of the chain, or use a network that the host does not filter, such as macvlan"},
		{ID: partMasquerade, Title: "masquerading of what leaves the bridge's subnet (off: a route back to the subnet)", Avoid: "route the containers' subnet on the other hosts instead of masquerading it"},
		{ID: partDNAT, Title: "the published port (off: a route to the sandbox's own address, which is dialled)", Avoid: "route to the container's own address and dial it, instead of a published port"},
	}
}

func vxlanParts() []driver.Part {
	return []driver.Part{
		namespacePart("each endpoint"), bridgePart(),
		{ID: partTunnel, Title: "the VXLAN tunnel (off: the hosts route)", Avoid: "route between the hosts instead of a tunnel"},
		{ID: partMTU, Title: "the MTU inside, smaller by the tunnel's headers (off: that of the host, and a larger one of the underlay)", Avoid: "raise the MTU of the underlay (jumbo frames), and that of the network with it"},
	}
}

func colocatedParts() []driver.Part {
	return []driver.Part{
		namespacePart("each endpoint"), bridgePart(),
		{ID: partMTU, Title: "the MTU of the lab (off: that of loopback less one byte, the maximum of a veth)", Avoid: "raise the MTU of the network (com.docker.network.driver.mtu)"},
	}
}

func programsPart() driver.Part {
	return driver.Part{ID: partPrograms, Title: "eBPF programs on each host that redirect packets between the sandboxes' devices and the underlay; without them the host's IP stack forwards", Avoid: "let the host's IP stack forward the packets"}
}

func netkitParts() []driver.Part {
	return []driver.Part{
		{ID: partNamespace, Title: "a network namespace for each endpoint, with a pair of netkit devices to the host, which routes to it", Avoid: "use the network of the host (--network host)"}, programsPart(),
	}
}

// partNeeds lists which part needs which other.
func partNeeds() []labdriver.PartNeed {
	return []labdriver.PartNeed{
		{Part: partBridge, Needs: partNamespace, Why: "the veth devices of sandboxes are the bridge's ports"},
		{Part: partFilter, Needs: partNamespace, Why: "the chain is for packets that a host forwards to or from a sandbox"},
		{Part: partMasquerade, Needs: partNamespace, Why: "the addresses of sandboxes are translated"},
		{Part: partDNAT, Needs: partNamespace, Why: "the port is translated to the address of a sandbox"},
		{Part: partPrograms, Needs: partNamespace, Why: "the programs redirect the packets of sandboxes"},
		{Part: partFilter, Needs: partConntrack, Why: "the chain accepts replies by the state of their connection"},
		{Part: partMasquerade, Needs: partConntrack, Why: "address translation is a property of a tracked connection"},
		{Part: partDNAT, Needs: partConntrack, Why: "address translation is a property of a tracked connection"},
	}
}
