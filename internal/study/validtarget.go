package study

import (
	"fmt"
	"net/netip"

	"tare/internal/study/suggest"
)

// engines checks the engines of a study.
func (v *validator) engines(s Study) {
	if s.Lab != (Lab{}) && s.Target().Given() {
		v.add("lab", "lab describes hosts that tare creates, but this study names existing engines (%s); remove one of the two", s.Target())
	}
	if len(s.Hosts) == 0 {
		return
	}
	if s.Engine != "" {
		v.add("engine", "engine and hosts both name engines; remove one of them")
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
		if v.lacks(path, "engine", h.Engine, "host without engine") {
			continue
		}
		if v.lacks(path, "address", h.Address, "host without address") {
			continue
		}
		if h.Engine == LabTarget {
			v.add(path+".engine", "engine is %q, which creates its own hosts; want docker:CONTEXT, or an address with unix://, tcp:// or ssh://", h.Engine)
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
