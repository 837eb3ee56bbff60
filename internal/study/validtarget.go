package study

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"tare/internal/study/suggest"
	"tare/internal/unit"
)

// hosts checks the engine or the hosts of a study.
func (v *validator) hosts(s Study) {
	if s.Lab != (Lab{}) && s.Target().Given() {
		v.add("lab", "lab describes hosts that tare creates, but this study names existing ones (%s); remove one of the two", s.Target())
	}
	if len(s.Hosts) == 0 {
		return
	}
	if s.Engine != "" {
		v.add("engine", "engine and hosts both name the hosts; remove one of them")
	}
	if len(s.Hosts) != 2 {
		v.add("hosts", "%s; want two, the client's first", unit.Count(len(s.Hosts), "host", "hosts"))
	}
	for i, h := range s.Hosts {
		path := fmt.Sprintf("hosts[%d]", i)
		if v.readable(path) {
			v.host(path, h)
		}
	}
	if len(s.Hosts) == 2 {
		v.bothHosts(s.Hosts[0], s.Hosts[1])
	}
}

// host checks one host by itself.
func (v *validator) host(path string, h Host) {
	v.all(h.Fields(), path+".")
	switch {
	case !v.readable(path+".engine") || !v.readable(path+".machine"):
		return
	case h.Engine != "" && h.Machine != "":
		v.add(path+".machine", "engine and machine both say what the host is; remove one of them")
	case h.Engine == "" && h.Machine == "":
		v.add(path, "host without engine or machine; want the key engine or machine with a text")
		return
	case h.Engine != "" && v.lacks(path, "address", h.Address, "host without address"):
		return
	}
	if h.Engine == LabTarget {
		v.add(path+".engine", "engine is %q, which creates its own hosts; want docker:CONTEXT, or an address with unix://, tcp:// or ssh://", h.Engine)
	}
	if port, ok := portOf(h.Machine); ok && port > maxPort {
		v.add(path+".machine", "machine is %s, whose port is more than %d", suggest.Quote(h.Machine), maxPort)
	}
	if h.Address == "" || !v.readable(path+".address") {
		return
	}
	if a, err := netip.ParseAddr(h.Address); hostAddress(&h.Address).Check("address") == "" && (err != nil || !a.IsValid() || a.IsUnspecified() || a.IsMulticast()) {
		v.add(path+".address", "address is %s; want an IPv4 or IPv6 address of that host", suggest.Quote(h.Address))
	}
}

const maxPort = 65535

// portOf returns the port of a machine's address, if it has one.
func portOf(machine string) (port int, ok bool) {
	if machineText(&machine).Check("machine") != "" {
		return 0, false
	}
	i := strings.LastIndexByte(machine, ':')
	port, err := strconv.Atoi(machine[i+1:])
	return port, err == nil
}

// bothHosts checks that two hosts are of one kind and differ.
func (v *validator) bothHosts(a, b Host) {
	switch {
	case a.Engine != "" && b.Engine == "" && b.Machine != "" || a.Machine != "" && b.Machine == "" && b.Engine != "":
		v.add("hosts[1]", "one host is an engine and the other a machine; want engine in both, or machine in both")
	case a.Name != "" && a.Name == b.Name:
		v.add("hosts[1].name", "both hosts have the name %q", b.Name)
	case a.Address != "" && a.Address == b.Address:
		v.add("hosts[1].address", "both hosts have the address %s", b.Address)
	case a.Machine != "" && a.Machine == b.Machine:
		v.add("hosts[1].machine", "both hosts are the machine %s; want two machines, or leave out hosts for a lab on this one", b.Machine)
	}
}
