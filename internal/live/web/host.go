package web

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// known reports whether a request may use that host name: an address, which DNS cannot
// redirect, localhost, or one of Hosts.
func (s Server) known(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || slices.Contains(s.Hosts, name)
}
