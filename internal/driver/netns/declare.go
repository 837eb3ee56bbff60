package netns

import (
	"net/netip"

	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
)

// The names of devices in a lab, as an engine would choose them.
const (
	eth    = "eth0"
	br     = "br0"
	lo     = "lo"
	tunnel = "vxlan0"
	table  = "tare"
)

// place is a namespace with its name in counters and topologies.
type place struct {
	pathspec.Place
	ns *linuxnet.NS
}

// sandboxAddrs is an endpoint, a sandbox unless it is a process of its host, with its
// addresses.
type sandboxAddrs struct {
	place
	own []netip.Addr
}

// mustCarry requires that the traffic of a pair, or of all pairs, crosses dev.
func (p *path) mustCarry(pair int, w place, dev string, forward pathspec.Direction) {
	p.MustCarry(pair, w.Place, pathspec.Device{Name: dev}, forward)
}

// mustBeIdle requires that no traffic crosses dev.
func (p *path) mustBeIdle(w place, dev string) { p.MustBeIdle(w.Place, pathspec.Device{Name: dev}) }

func processStep(at place) pathspec.Step { return pathspec.ProcessStep(at.Place) }
func natStep(at place, l string) pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(at.Place, "nat", l), at.At+"/"+table)
}
func ruleStep(at place, l string) pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(at.Place, "rule", l), at.At+"/"+table)
}
func deviceStep(at place, d string) pathspec.Step {
	return pathspec.DeviceStep(at.Place, pathspec.Device{Name: d})
}
func perPair(s pathspec.Step) pathspec.Step { return pathspec.PerPair(s) }

// endSteps are the steps from an endpoint in a sandbox to the other end of its device, which
// is a port of the place on.
func endSteps(end, on place, port string) []pathspec.Step {
	return []pathspec.Step{processStep(end), perPair(deviceStep(end, eth)), perPair(deviceStep(on, port))}
}
