package engines

import (
	"slices"

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

// list lists the parts of a mode in the order in which they are built on the mode's baseline: with the
// last ones left out, any of the others can be added. Those of every container follow them.
func list(ids ...string) (parts []driver.Part) {
	all := []driver.Part{
		{ID: partConntrack, Title: "connection tracking on the hosts with an engine",
			Avoid: "exempt the ports of one service from connection tracking (notrack), where no rule needs it"},
		{ID: partMasquerade, Title: "the masquerade rule of the client's bridge",
			Avoid: "route the containers' subnet on the other hosts instead of masquerading it"},
		{ID: partDNAT, Title: "the DNAT rule of the published port",
			Avoid: "route to the container's own address and dial it, instead of a published port"},
		{ID: partChains, Title: "the engine's chains in FORWARD",
			Avoid: "use a network that the host does not filter, such as macvlan, or rules of your own (\"iptables\": false)"},
		{ID: partProxy, Title: "docker-proxy",
			Avoid: "publish without a proxy (\"userland-proxy\": false)"},
		{ID: partResolver, Title: "the nat rules of the engine's DNS server in the containers, with the connection tracking that they need",
			Avoid: "use a network without the engine's DNS server, such as the default bridge"},
		{ID: partSeccomp, Title: "the engine's seccomp profile",
			Avoid: "run the container without its profile (--security-opt seccomp=unconfined), which gives up the protection"},
		{ID: partCgroup, Title: "the containers' control groups, other than the one of CPU scheduling",
			Avoid: "run the program outside of a container: each container has control groups"},
	}
	for _, id := range ids {
		parts = append(parts, all[slices.IndexFunc(all, func(p driver.Part) bool { return p.ID == id })])
	}
	return parts
}

// titled gives a part the title of what it does in a mode.
func titled(parts []driver.Part, id, title string) []driver.Part {
	parts[slices.IndexFunc(parts, func(p driver.Part) bool { return p.ID == id })].Title = title
	return parts
}

// requirement is a part that can only be left out together with others.
type requirement struct {
	part string
	with []string
	why  string
	once string // it applies only if this part is left out; empty for always
}

// tracked is why translation requires connection tracking.
const tracked = "address translation works on tracked connections only"

// translated requires that connections are tracked as long as rules translate them.
func translated(rules ...string) []requirement {
	return []requirement{{part: partConntrack, with: rules, why: tracked}}
}
