package lab

import (
	"net/netip"
	"strconv"
)

// MinMTU is the least that IPv6 works with (RFC 8200 section 5).
const MinMTU = 1280

// PairName is a name in its pair, which is counted from 1: client, client2, client3.
func PairName(name string, pair int) string {
	if pair == 1 {
		return name
	}
	return name + strconv.Itoa(pair)
}

// VethName names the port of a bridge or switch by its number there, from 0.
func VethName(n int) string { return "veth" + strconv.Itoa(n) }

// PrefixAddrs takes the addresses out of prefixes.
func PrefixAddrs(prefixes []netip.Prefix) []netip.Addr {
	var out []netip.Addr
	for _, p := range prefixes {
		out = append(out, p.Addr())
	}
	return out
}
