package lab

import (
	"net/netip"
	"strconv"
)

// MinMTU is the minimum MTU of IPv6 (RFC 8200 section 5).
const MinMTU = 1280

// PairName returns the name of a role in a pair, counted from 1: client, client2, client3.
func PairName(name string, pair int) string {
	if pair == 1 {
		return name
	}
	return name + strconv.Itoa(pair)
}

// VethName returns the name of port n of a bridge or switch, counted from 0.
func VethName(n int) string { return "veth" + strconv.Itoa(n) }

// PrefixAddrs returns the addresses of prefixes.
func PrefixAddrs(prefixes []netip.Prefix) []netip.Addr {
	var out []netip.Addr
	for _, p := range prefixes {
		out = append(out, p.Addr())
	}
	return out
}
