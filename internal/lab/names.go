package lab

import (
	"net/netip"
	"strconv"
)

// LeastMTU is the least that IPv6 works with (RFC 8200 section 5).
const LeastMTU = 1280

// Numbered is a name in its pair, which is counted from 1: client, client2, client3.
func Numbered(name string, pair int) string {
	if pair == 1 {
		return name
	}
	return name + strconv.Itoa(pair)
}

// Veth names the port of a bridge or switch by its number there, from 0.
func Veth(n int) string { return "veth" + strconv.Itoa(n) }

// Addrs takes the addresses out of prefixes.
func Addrs(prefixes []netip.Prefix) []netip.Addr {
	var out []netip.Addr
	for _, p := range prefixes {
		out = append(out, p.Addr())
	}
	return out
}
