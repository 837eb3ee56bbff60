package docker

import (
	"strings"

	"tare/internal/driver"
)

// The parts of this package's modes that can be left out.
const (
	partConntrack  = "conntrack"
	partMasquerade = "masquerade"
	partDNAT       = "dnat"
	partChains     = "engine_chains"
	partProxy      = "proxy"
	partResolver   = "resolver_rules"
	partSeccomp    = "seccomp"
	partCgroup     = "cgroup"
)

// partsOf lists the parts of a mode that can be left out, in the order in which they are built on
// the mode's baseline: with the last ones left out, any of the others can be added.
func partsOf(mode string) []driver.Part {
	stem, _, _ := strings.Cut(mode, ":")
	var ids []string
	switch stem {
	case "docker/host", "docker/to-host":
		ids = []string{partConntrack}
	case "docker/published", serviceHostPortMode:
		ids = []string{partConntrack, partDNAT, partChains}
	case "docker/bridge":
		ids = []string{partConntrack, partMasquerade, partDNAT, partChains}
	case "docker/userland-proxy":
		ids = []string{partConntrack, partDNAT, partProxy}
	case rootlessMode:
		ids = []string{partProxy}
	case "docker/overlay":
		ids = []string{partConntrack, partResolver}
	case "docker/nat", "docker/direct-routing", "docker/routed", "docker/nat-unprotected", "docker/isolated", "docker/macvlan", "docker/ipvlan", "docker/overlay-encrypted", "docker/network", "docker/driver":
		ids = []string{partResolver}
	}
	var parts []driver.Part
	if ids = append(ids, partSeccomp); !isRootless(mode) { // whose containers have no control groups
		ids = append(ids, partCgroup)
	}
	for _, id := range ids {
		parts = append(parts, driver.Part{ID: id, Title: partTitle(stem, id), Avoid: partAvoid(id)})
	}
	return parts
}

func partTitle(mode, id string) string {
	switch id {
	case partConntrack:
		if mode == "docker/overlay" {
			return "connection tracking of the tunnel's packets on the hosts"
		}
		return "connection tracking on the hosts with an engine"
	case partMasquerade:
		return "the masquerade rule of the client's bridge"
	case partDNAT:
		if mode == "docker/userland-proxy" {
			return "the DNAT rule for the loopback address, which docker-proxy replaces"
		}
		return "the DNAT rule of the published port"
	case partChains:
		return "the engine's chains in FORWARD"
	case partProxy:
		return "docker-proxy"
	case partResolver:
		return "the nat rules of the engine's DNS server in the containers, with the connection tracking that they need"
	case partSeccomp:
		return "the engine's seccomp profile"
	default:
		return "the containers' control groups, other than the one of CPU scheduling"
	}
}

// partAvoid is what gets the cost of a part back.
func partAvoid(id string) string {
	switch id {
	case partConntrack:
		return "exempt the ports of one service from connection tracking (notrack), where no rule needs it"
	case partMasquerade:
		return "route the containers' subnet on the other hosts instead of masquerading it"
	case partDNAT:
		return "route to the container's own address and dial it, instead of a published port"
	case partChains:
		return "use a network that the host does not filter, such as macvlan, or rules of your own (\"iptables\": false)"
	case partProxy:
		return "publish without a proxy (\"userland-proxy\": false)"
	case partResolver:
		return "use a network without the engine's DNS server, such as the default bridge"
	case partSeccomp:
		return "run the container without its profile (--security-opt seccomp=unconfined), which gives up the protection"
	case partCgroup:
		return "run the program outside of a container: each container has control groups"
	}
	return ""
}
