package study

import (
	"fmt"
	"net/netip"

	"tare/internal/study/suggest"
)

// engines checks the engines of a study.
func (v *validator) engines(s Study) {
	if s.Lab != (Lab{}) && s.Target().Given() {
		v.add("lab", "lab describes hosts that tare makes, and this study names engines that exist (%s); leave one of the two out", s.Target())
	}
	if len(s.Hosts) == 0 {
		return
	}
	if s.Engine != "" {
		v.add("engine", "engine beside hosts, which name the engines; leave one of them out")
	}
	if len(s.Hosts) != 2 {
		v.add("hosts", "%d hosts; want two, the client's first", len(s.Hosts))
	}
	for i, h := range s.Hosts {
		path := fmt.Sprintf("hosts[%d]", i)
		if !v.readable(path) {
			continue
		}
		v.all(h.Fields(), path+".")
		if v.lacks(path, "engine", h.Engine, "a host without its engine") {
			continue
		}
		if v.lacks(path, "address", h.Address, "a host without the address that it is reached at") {
			continue
		}
		if h.Engine == LabTarget {
			v.add(path+".engine", "engine is %q, which has hosts of its own; want docker:CONTEXT, or an address with unix://, tcp:// or ssh://", h.Engine)
		}
		if a, err := netip.ParseAddr(h.Address); hostAddress(&h.Address).Check("address") == "" && (err != nil || !a.IsValid() || a.IsUnspecified() || a.IsMulticast()) {
			v.add(path+".address", "address is %s; want an IPv4 or IPv6 address of that host", suggest.Quote(h.Address))
		}
	}
	if len(s.Hosts) != 2 {
		return
	}
	a, b := s.Hosts[0], s.Hosts[1]
	switch {
	case a.Name != "" && a.Name == b.Name:
		v.add("hosts[1].name", "both hosts have the name %q", b.Name)
	case a.Address != "" && a.Address == b.Address:
		v.add("hosts[1].address", "both hosts have the address %s", b.Address)
	}
}
