package web

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// known is whether a request may come by that name: an address, which no name can be
// made to look like, localhost, or one of Hosts.
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
